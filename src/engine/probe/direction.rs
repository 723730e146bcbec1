//! Which conventions point the same way: one gradient serves all that are multiples of it.

/// Rows of coefficients, each a multiple of one of a few directions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Directions {
    /// One row of coefficients each, of which no two are multiples of each other.
    pub(super) directions: Vec<Vec<f64>>,
    /// For each row asked for, its direction and what that is multiplied by.
    pub(super) rows: Vec<(usize, f64)>,
}

/// As far as two quotients of the same counts differ by rounding, and no further.
const SAME: f64 = 1e-12;

impl Directions {
    /// `tokens` are those of each coefficient's gradient: a direction is scaled so that all of them together count once, as they do in a
    /// mean, and so lies near the right gradient where it can.
    pub(super) fn of(rows: &[Vec<f64>], tokens: &[f64]) -> Self {
        let mut directions: Vec<Vec<f64>> = Vec::new();
        let rows = rows.iter().map(|row| {
            let scale: f64 = row
                .iter()
                .zip(tokens)
                .map(|(coefficient, n)| (coefficient * n).abs())
                .sum();
            let unit: Vec<f64> = if scale > 0.0 {
                row.iter().map(|coefficient| coefficient / scale).collect()
            } else {
                row.clone()
            };
            let known = directions.iter().position(|direction| same(direction, &unit));
            let at = known.unwrap_or_else(|| {
                directions.push(unit);
                directions.len() - 1
            });
            (at, if scale > 0.0 { scale } else { 1.0 })
        });
        let rows = rows.collect();
        Self { directions, rows }
    }
}

fn same(a: &[f64], b: &[f64]) -> bool {
    a.iter()
        .zip(b)
        .all(|(a, b)| (a - b).abs() <= SAME * a.abs().max(b.abs()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn multiples_are_one_direction_and_give_their_rows_back() {
        let asked = [
            vec![0.1, 0.1, 0.1],
            vec![3.0, 3.0, 3.0],
            vec![0.5, 0.1, 0.25],
            vec![0.0, 0.0, 0.0],
            vec![0.1 / 7.0, 0.1 / 7.0, 0.1 / 7.0],
            vec![0.1, 0.1, 0.1 + 1e-9],
        ];
        let Directions { directions, rows } = Directions::of(&asked, &[2.0, 3.0, 5.0]);
        let places: Vec<usize> = rows.iter().map(|&(at, _)| at).collect();
        assert_eq!(places, [0, 0, 1, 2, 0, 3]);
        for ((at, scale), asked) in rows.into_iter().zip(&asked) {
            for (ours, asked) in directions[at].iter().zip(asked) {
                assert!((scale * ours - asked).abs() <= SAME * asked.abs());
            }
        }
        let counted: f64 = directions[1].iter().zip([2.0, 3.0, 5.0]).map(|(c, n)| c * n).sum();
        assert!((counted - 1.0).abs() < SAME);
    }

    #[test]
    fn what_is_no_number_is_a_direction_of_its_own() {
        let asked = [vec![f64::NAN, 1.0], vec![f64::NAN, 1.0], vec![f64::INFINITY, 1.0]];
        assert_eq!(Directions::of(&asked, &[1.0, 1.0]).directions.len(), 3);
    }
}
