//! Numbers as people read them, the same in every language but for the names of units: a point for decimals, as in the fields and the
//! journal.

use super::text::{Locale, td_string};
use crate::batch::Unit;

/// Parts thousands from five digits on; a narrow space that does not break.
const THIN: char = '\u{202f}';

/// A count.
pub fn count(n: u64) -> String {
    group(&n.to_string())
}

/// A sum written into arithmetic: six significant digits, no idle zeros, so that 7168.0 reads 7168.
pub fn sum(x: f64) -> String {
    significant(x, 6)
}

/// A loss: four decimals, so that its width stays as it changes; fewer where they are exact, as in 3.5.
pub fn loss(x: f64) -> String {
    let hundredths = x * 100.0;
    if !x.is_finite() || x.abs() >= 1000.0 || (hundredths - hundredths.round()).abs() < 1e-3 {
        significant(x, 5)
    } else {
        format!("{x:.4}").replace('-', "−")
    }
}

/// A loss beside others, which is read digit by digit: always four decimals, as long as they tell anything.
pub fn loss_of_card(x: f64) -> String {
    let told = x == 0.0 || x.abs() >= 5e-5;
    if x.is_finite() && x.abs() < 1000.0 && told {
        format!("{x:.4}").replace('-', "−")
    } else {
        loss(x)
    }
}

/// A result: five significant digits.
pub fn value(x: f64) -> String {
    significant(x, 5)
}

/// A small relative error.
pub fn error(x: f64) -> String {
    if x == 0.0 { "0".to_owned() } else { format!("{x:.1e}") }
}

/// Bytes, in the largest binary unit that keeps at least 1.
pub fn bytes(locale: Locale, n: u64) -> String {
    let larger = [
        td_string!(locale, bytes.kib),
        td_string!(locale, bytes.mib),
        td_string!(locale, bytes.gib),
        td_string!(locale, bytes.tib),
    ];
    let mut amount = n as f64;
    let mut unit = td_string!(locale, bytes.b);
    for next in larger {
        if amount < 1024.0 {
            break;
        }
        amount /= 1024.0;
        unit = next;
    }
    format!("{} {unit}", significant(amount, 4))
}

/// A count in its unit: bytes as bytes, all others as whole numbers.
pub fn counted(locale: Locale, unit: Unit, n: u64) -> String {
    if unit == Unit::AllReducedBytes {
        bytes(locale, n)
    } else {
        count(n)
    }
}

/// Minutes and seconds, with hours where there are any.
pub fn clock(ms: f64) -> String {
    if !ms.is_finite() || ms < 0.0 {
        return "–".to_owned();
    }
    let seconds = (ms / 1000.0).round();
    let (hours, minutes, rest) = (
        (seconds / 3600.0).floor(),
        (seconds % 3600.0 / 60.0).floor(),
        seconds % 60.0,
    );
    if hours > 0.0 {
        format!("{hours:.0}:{minutes:02.0}:{rest:02.0}")
    } else {
        format!("{minutes:.0}:{rest:02.0}")
    }
}

/// The first half of a checksum: enough to see by eye whether two are the same.
pub fn checksum(bits: u64) -> String {
    format!("{:08x}", bits >> 32)
}

/// `x` with `digits` significant digits, without idle zeros; powers of ten only where plain digits would mislead.
fn significant(x: f64, digits: i32) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return if x.is_nan() {
            "–".to_owned()
        } else {
            format!("{x}").replace("inf", "∞")
        };
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..9.0).contains(&magnitude) {
        return format!("{x:.2e}");
    }
    // Between -4 and 8, so the conversion is exact.
    #[expect(clippy::cast_possible_truncation, reason = "checked above")]
    let places = usize::try_from(digits - 1 - magnitude as i32).unwrap_or(0);
    let text = format!("{x:.places$}");
    if text.contains('.') {
        let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
        let fraction = fraction.trim_end_matches('0');
        let point = if fraction.is_empty() { "" } else { "." };
        format!("{}{point}{fraction}", group(whole))
    } else {
        group(&text)
    }
}

fn group(digits: &str) -> String {
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits), |rest| ("−", rest));
    let mut out = String::from(sign);
    for (at, digit) in digits.chars().enumerate() {
        if digits.len() > 4 && at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_read_as_people_write_them() {
        let cases: &[(f64, &str)] = &[
            (7168.0, "7168"),
            (3.5, "3.5"),
            (3.499_999_99, "3.5"),
            (152.381_74, "152.382"),
            (12_345_678.0, "12\u{202f}345\u{202f}678"),
            (-0.25, "−0.25"),
            (0.0, "0"),
            (f64::NAN, "–"),
            (0.000_012_3, "1.23e-5"),
        ];
        for (x, text) in cases {
            assert_eq!(sum(*x), *text);
        }
        assert_eq!(
            [3.5, 3.499_996, 1.18, 0.815_876, 1_234_567.0].map(loss),
            ["3.5", "3.5", "1.18", "0.8159", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!(
            [3.5, 3.0, 0.815_876, -0.25, 1_234_567.0].map(loss_of_card),
            ["3.5000", "3.0000", "0.8159", "−0.2500", "1\u{202f}234\u{202f}567"]
        );
        assert_eq!(loss_of_card(f64::NAN), "–");
        assert_eq!(count(2048), "2048");
        assert_eq!(count(20_480), "20\u{202f}480");
        assert_eq!(bytes(Locale::en, 8 * 1024 * 1024), "8 MiB");
        assert_eq!([bytes(Locale::ru, 6144), bytes(Locale::ru, 5)], ["6 КиБ", "5 Б"]);
        assert_eq!(counted(Locale::en, Unit::AllReducedBytes, 2048), "2 KiB");
        assert_eq!(counted(Locale::en, Unit::AllReduces, 2048), "2048");
        assert_eq!(clock(61_400.0), "1:01");
        assert_eq!(clock(3_725_000.0), "1:02:05");
    }
}
