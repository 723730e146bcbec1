//! Lines of a report: what a bound is, what was measured, and whether it is kept.

use std::fmt::Write as _;

use super::json::Json;

/// What a figure is held to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bound {
    /// No more than this.
    AtMost(f64),
    /// Less than this.
    Below(f64),
}

impl Bound {
    fn keeps(self, figure: f64) -> bool {
        match self {
            Self::AtMost(limit) => figure <= limit,
            Self::Below(limit) => figure < limit,
        }
    }

    fn words(self, unit: &str) -> String {
        match self {
            Self::AtMost(limit) => format!("<= {}{unit}", shown(limit)),
            Self::Below(limit) => format!("< {}{unit}", shown(limit)),
        }
    }
}

/// One line.
#[derive(Clone, Debug, PartialEq)]
pub struct Line {
    /// What is measured.
    pub name: String,
    /// What it is held to.
    pub bound: Bound,
    /// What a figure is of, with a space before it where it needs one.
    pub unit: &'static str,
    /// What was measured, or why nothing was.
    pub figure: Result<f64, String>,
    /// What the figure was made of.
    pub from: String,
}

/// Whether a bound is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It is.
    Pass,
    /// It is not.
    Short,
    /// Nothing was measured.
    NotRun,
}

impl Verdict {
    /// As it is written.
    pub fn word(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Short => "short",
            Self::NotRun => "not run",
        }
    }
}

impl Line {
    /// Whether its bound is kept. A figure that is no number keeps none.
    pub fn verdict(&self) -> Verdict {
        match self.figure {
            Ok(figure) if self.bound.keeps(figure) => Verdict::Pass,
            Ok(_) => Verdict::Short,
            Err(_) => Verdict::NotRun,
        }
    }

    fn measured(&self) -> String {
        self.figure
            .as_ref()
            .map_or_else(|_| "-".to_owned(), |&figure| format!("{}{}", shown(figure), self.unit))
    }

    fn remark(&self) -> &str {
        self.figure.as_ref().err().map_or(&self.from, |why| why)
    }
}

/// All lines as a table in Markdown.
pub fn table(lines: &[Line]) -> String {
    let mut text = "| what | bound | measured | | made of |\n|---|---|---|---|---|\n".to_owned();
    for line in lines {
        let (bound, verdict) = (line.bound.words(line.unit), line.verdict().word());
        // Writing to a String cannot fail.
        let _written = writeln!(
            text,
            "| {} | {bound} | {} | {verdict} | {} |",
            line.name,
            line.measured(),
            line.remark().replace(['\n', '|'], " ")
        );
    }
    let count = |verdict| lines.iter().filter(|line| line.verdict() == verdict).count();
    let [pass, short, not_run] = [Verdict::Pass, Verdict::Short, Verdict::NotRun].map(count);
    let _written = writeln!(text, "\n{pass} pass, {short} short, {not_run} not run");
    text
}

/// All lines as JSON.
pub fn json(lines: &[Line]) -> Json {
    let one = |line: &Line| {
        Json::object([
            ("name", line.name.as_str().into()),
            ("bound", line.bound.words(line.unit).as_str().into()),
            ("figure", line.figure.as_ref().ok().copied().into()),
            ("unit", line.unit.trim().into()),
            ("verdict", line.verdict().word().into()),
            ("remark", line.remark().into()),
        ])
    };
    Json::List(lines.iter().map(one).collect())
}

/// Four digits where there are fewer than four before the point; whole numbers as they are.
pub fn shown(number: f64) -> String {
    if number != 0.0 && number.abs() < 1e-3 {
        format!("{number:.1e}")
    } else if number.fract() == 0.0 || number.abs() >= 1000.0 {
        format!("{number:.0}")
    } else if number.abs() >= 100.0 {
        format!("{number:.1}")
    } else {
        let digits = format!("{number:.3}");
        digits.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{Bound, Line, Verdict, json, shown, table};

    fn line(bound: Bound, figure: Result<f64, String>) -> Line {
        Line {
            name: "a | b".to_owned(),
            bound,
            unit: " ms",
            figure,
            from: "3 runs".to_owned(),
        }
    }

    #[test]
    fn the_limit_itself_is_kept_by_at_most_and_not_by_below() {
        let verdict = |bound, figure| line(bound, Ok(figure)).verdict();
        assert_eq!(verdict(Bound::AtMost(1.4), 1.4), Verdict::Pass);
        assert_eq!(verdict(Bound::AtMost(1.4), 1.4 + f64::EPSILON), Verdict::Short);
        assert_eq!(verdict(Bound::Below(50.0), 50.0), Verdict::Short);
        assert_eq!(verdict(Bound::Below(50.0), 49.999), Verdict::Pass);
        assert_eq!(verdict(Bound::AtMost(1.0), f64::NAN), Verdict::Short);
        assert_eq!(
            line(Bound::AtMost(1.0), Err("no".to_owned())).verdict(),
            Verdict::NotRun
        );
    }

    #[test]
    fn a_report_says_what_was_not_run_and_why() {
        let lines = [
            line(Bound::AtMost(1.4), Ok(1.25)),
            line(Bound::Below(50.0), Ok(51.0)),
            line(Bound::AtMost(1.0), Err("no | Python".to_owned())),
        ];
        let text = table(&lines);
        assert!(text.contains("| <= 1.4 ms | 1.25 ms | pass | 3 runs |"), "{text}");
        assert!(text.contains("| < 50 ms | 51 ms | short | 3 runs |"), "{text}");
        assert!(text.contains("| <= 1 ms | - | not run | no   Python |"), "{text}");
        assert!(text.ends_with("1 pass, 1 short, 1 not run\n"), "{text}");
        let all = json(&lines);
        assert_eq!(all.list()[1].get("verdict").text(), Some("short"));
        assert_eq!(all.list()[2].get("figure").number(), None);
        assert_eq!(all.list()[2].get("remark").text(), Some("no | Python"));
    }

    #[test]
    fn figures_are_as_long_as_they_need_to_be() {
        for (number, text) in [
            (0.0, "0"),
            (1.4, "1.4"),
            (1.0, "1"),
            (0.123_45, "0.123"),
            (350_000.0, "350000"),
            (123.46, "123.5"),
            (1e-5, "1.0e-5"),
        ] {
            assert_eq!(shown(number), text);
        }
    }
}
