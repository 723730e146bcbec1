//! Numbers of bytes, as people write and read them.

/// Binary units, largest first.
const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];

/// A number with a unit behind it, or none for bytes: `64MiB`, `1.5 GiB`, `1000`. `None` for anything else, and for 0.
pub(crate) fn parse(text: &str) -> Option<u64> {
    let text = text.trim();
    let unit = |&(name, _): &(&str, u64)| {
        let start = text.len().checked_sub(name.len())?;
        text.get(start..)
            .filter(|end| end.eq_ignore_ascii_case(name))
            .and_then(|_| text.get(..start))
    };
    let (number, size) = UNITS
        .iter()
        .find_map(|row| Some((unit(row)?, row.1)))
        .unwrap_or((text, 1));
    let number = number.trim();
    if !number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return None;
    }
    let bytes = number.parse::<f64>().ok()? * size as f64;
    // Beyond that not every byte is a number of its own; no machine has them.
    let whole = (1.0..9e15).contains(&bytes);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is within both"
    )]
    whole.then_some(bytes as u64)
}

/// In the largest unit that leaves a number above 1.
pub(crate) fn text(bytes: u64) -> String {
    let (name, size) = UNITS
        .iter()
        .copied()
        .find(|(_, size)| bytes >= *size)
        .unwrap_or(("B", 1));
    if size == 1 {
        format!("{bytes} {name}")
    } else {
        format!("{:.1} {name}", bytes as f64 / size as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_are_written() {
        for (given, bytes) in [
            ("1000", 1000),
            ("64MiB", 64 << 20),
            ("1.5 gib", 3 << 29),
            ("2KiB", 2048),
            ("7B", 7),
            (" 7 b ", 7),
        ] {
            assert_eq!(parse(given), Some(bytes), "{given}");
        }
        for bad in [
            "", "MiB", "-1", "0", "0.5B", "1e3", "inf", "NaN", "1.2.3", "64 MB x", "5ж",
        ] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        for bytes in [1, 1023, 1024, 64 << 20, 3 << 29] {
            assert_eq!(parse(&text(bytes)), Some(bytes), "{}", text(bytes));
        }
    }
}
