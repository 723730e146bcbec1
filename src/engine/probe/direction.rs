//! Which conventions point the same way: one gradient serves all that are multiples of it.

/// Rows of coefficients, each a multiple of one of a few directions.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Directions {
    /// One row of coefficients each, of which no two are multiples of each other.
    pub(super) units: Vec<Vec<f64>>,
    /// For each direction, which part of the gradients it is made of.
    pub(super) parts: Vec<usize>,
    /// For each row asked for, its direction and what that is multiplied by.
    pub(super) rows: Vec<(usize, f64)>,
}

/// As far as two quotients of the same counts differ by rounding, and no further.
const SAME: f64 = 1e-12;

impl Directions {
    /// Rows come with the part of the gradients that they are made of, in the order of parts. `masses` are the weights of all tokens behind
    /// each gradient: a direction is scaled so that all of them together count once, as they do in a mean, and so lies near the right
    /// gradient where it can.
    pub(super) fn of(rows: &[(usize, Vec<f64>)], masses: &[f64]) -> Self {
        let mut units: Vec<Vec<f64>> = Vec::new();
        let mut parts = Vec::new();
        let mut placed = Vec::new();
        for (part, row) in rows {
            let counted = row.iter().zip(masses);
            let sum: f64 = counted.map(|(coefficient, mass)| (coefficient * mass).abs()).sum();
            // A row of zeros, or of what is no number, stays as it is.
            let scale = if sum > 0.0 { sum } else { 1.0 };
            let unit: Vec<f64> = row.iter().map(|coefficient| coefficient / scale).collect();
            let known = units.iter().position(|known| same(known, &unit));
            placed.push((known.unwrap_or(units.len()), scale));
            if known.is_none() {
                units.push(unit);
                parts.push(*part);
            }
        }
        Self {
            units,
            parts,
            rows: placed,
        }
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
        let with_parts: Vec<(usize, Vec<f64>)> =
            asked.iter().enumerate().map(|(i, row)| (i / 3, row.clone())).collect();
        let Directions {
            units: directions,
            parts,
            rows,
        } = Directions::of(&with_parts, &[2.0, 3.0, 5.0]);
        assert_eq!(parts, [0, 0, 1, 1]);
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
        let asked = [vec![f64::NAN, 1.0], vec![f64::NAN, 1.0], vec![f64::INFINITY, 1.0]].map(|row| (0, row));
        assert_eq!(Directions::of(&asked, &[1.0, 1.0]).units.len(), 3);
    }
}
