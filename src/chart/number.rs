//! Numbers beside an axis and in a read-out, the same in every language.

/// Parts thousands from five digits on; a narrow space that does not break.
const THIN: char = '\u{202f}';

/// A value with four significant digits, without idle zeros.
pub fn value(x: f64) -> String {
    significant(x, 4)
}

/// A tick that stands `step` from its neighbours: as many decimals as tell them apart.
pub fn tick(x: f64, step: f64) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() || !step.is_finite() || step <= 0.0 || !(1e-5..1e15).contains(&x.abs().max(step)) {
        return value(x);
    }
    let decimals = (-(step * 1.000_001).log10().floor()).clamp(0.0, 12.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped above")]
    grouped(&format!("{x:.*}", decimals as usize))
}

fn significant(x: f64, digits: u32) -> String {
    if x == 0.0 {
        return "0".to_owned();
    }
    if !x.is_finite() {
        return if x.is_nan() {
            "–".to_owned()
        } else {
            format!("{x}").replace("inf", "∞").replace('-', "−")
        };
    }
    let magnitude = x.abs().log10().floor();
    if !(-4.0..9.0).contains(&magnitude) {
        return format!("{x:.2e}").replace('-', "−");
    }
    let decimals = (f64::from(digits) - 1.0 - magnitude).max(0.0);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "at most 4 + digits, at least 0"
    )]
    let text = format!("{x:.*}", decimals as usize);
    let text = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    grouped(text)
}

fn grouped(text: &str) -> String {
    let (sign, digits) = text.strip_prefix('-').map_or(("", text), |rest| ("−", rest));
    let (whole, fraction) = digits
        .split_once('.')
        .map_or((digits, None), |(whole, rest)| (whole, Some(rest)));
    let mut out = String::from(sign);
    for (at, digit) in whole.chars().enumerate() {
        if whole.len() > 4 && at > 0 && (whole.len() - at).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(digit);
    }
    if let Some(fraction) = fraction {
        out.push('.');
        out.push_str(fraction);
    }
    out
}
