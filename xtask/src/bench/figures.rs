//! From samples to figures.

/// The middle of `samples`; of an even number, the mean of the two in the middle. `None` of none.
pub fn median(samples: &[f64]) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (upper, lower) = (
        sorted.get(sorted.len() / 2)?,
        sorted.get(sorted.len().saturating_sub(1) / 2)?,
    );
    Some(f64::midpoint(*lower, *upper))
}

/// The largest; `None` of none.
pub fn largest(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().reduce(f64::max)
}

/// The median of the ratios of what was measured side by side, pair by pair; `None` where one side has more.
pub fn paired_ratio(ours: &[f64], others: &[f64]) -> Option<f64> {
    if ours.len() != others.len() {
        return None;
    }
    let ratios: Vec<f64> = ours.iter().zip(others).map(|(ours, other)| ours / other).collect();
    median(&ratios)
}

/// How far points are from a straight line: the largest |y / (a + b x) - 1|, of the a and b that make the sum of the squares of
/// (a + b x - y) / y least. `None` of fewer than three points, which say nothing of a line.
pub fn off_a_line(x: &[f64], y: &[f64]) -> Option<f64> {
    if x.len() != y.len() || x.len() < 3 {
        return None;
    }
    // (a + b x) / y against 1 by least squares: u = 1 / y and v = x / y are what a and b multiply.
    let (mut uu, mut uv, mut vv, mut u1, mut v1) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (x, y) in x.iter().zip(y) {
        let (u, v) = (1.0 / y, x / y);
        uu += u * u;
        uv += u * v;
        vv += v * v;
        u1 += u;
        v1 += v;
    }
    let determinant = uu * vv - uv * uv;
    let (a, b) = ((u1 * vv - v1 * uv) / determinant, (v1 * uu - u1 * uv) / determinant);
    let off = x.iter().zip(y).map(|(x, y)| (y / (a + b * x) - 1.0).abs());
    off.reduce(f64::max).filter(|off| off.is_finite())
}

/// The slope of y over x by least squares, and its standard error. `None` of fewer than three points.
pub fn slope(x: &[f64], y: &[f64]) -> Option<(f64, f64)> {
    if x.len() != y.len() || x.len() < 3 {
        return None;
    }
    let n = x.len() as f64;
    let (mean_x, mean_y) = (x.iter().sum::<f64>() / n, y.iter().sum::<f64>() / n);
    let spread: f64 = x.iter().map(|x| (x - mean_x).powi(2)).sum();
    let slope = x.iter().zip(y).map(|(x, y)| (x - mean_x) * (y - mean_y)).sum::<f64>() / spread;
    let residual = |(x, y): (&f64, &f64)| (y - mean_y - slope * (x - mean_x)).powi(2);
    let variance = x.iter().zip(y).map(residual).sum::<f64>() / (n - 2.0);
    Some((slope, (variance / spread).sqrt())).filter(|(slope, _)| slope.is_finite())
}

/// By how much a slope is above 0 for certain: the slope less twice its standard error, at least 0. Numbers that only scatter give 0 nearly
/// always (a slope is two standard errors above its mean in one of forty series), numbers that grow steadily give their growth.
pub fn certain_growth(x: &[f64], y: &[f64]) -> Option<f64> {
    slope(x, y).map(|(slope, error)| (slope - 2.0 * error).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::{certain_growth, median, off_a_line, paired_ratio, slope};

    #[test]
    fn medians() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0]), Some(3.0));
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 3.0, 2.0]), Some(2.5));
        assert_eq!(paired_ratio(&[2.0, 6.0, 4.0], &[2.0, 2.0, 2.0]), Some(2.0));
        assert_eq!(paired_ratio(&[2.0], &[]), None);
    }

    #[test]
    fn a_line_is_known_by_its_points() {
        let x = [8.0, 16.0, 32.0, 64.0];
        let line = x.map(|x| 3.0 + 0.5 * x);
        assert!(off_a_line(&x, &line).unwrap() < 1e-12);
        let mut bent = line;
        bent[3] *= 1.2;
        assert!(off_a_line(&x, &bent).unwrap() > 0.02);
        let square = x.map(|x| x * x);
        assert!(off_a_line(&x, &square).unwrap() > 0.2);
        assert_eq!(off_a_line(&x[..2], &line[..2]), None);
        assert_eq!(off_a_line(&x, &[0.0; 4]), None);
    }

    #[test]
    fn growth_is_told_from_noise() {
        let x: Vec<f64> = (0..100).map(f64::from).collect();
        let flat = vec![7.0; 100];
        assert_eq!(slope(&x, &flat), Some((0.0, 0.0)));
        assert_eq!(certain_growth(&x, &flat), Some(0.0));
        let noisy: Vec<f64> = (0..100).map(|i| 1000.0 + f64::from(i * 37 % 11)).collect();
        assert_eq!(certain_growth(&x, &noisy), Some(0.0));
        let growing: Vec<f64> = noisy.iter().zip(&x).map(|(y, x)| y + x).collect();
        assert!((certain_growth(&x, &growing).unwrap() - 1.0).abs() < 0.05);
        let falling: Vec<f64> = x.iter().map(|x| -x).collect();
        assert_eq!(certain_growth(&x, &falling), Some(0.0));
    }
}
