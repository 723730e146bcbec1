//! Layers of the transformer in plain f64, forward and backward.

/// A weight matrix [in][out], row-major.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) values: &'a [f64],
}

impl Matrix<'_> {
    /// `x @ self + bias` for every row of x.
    pub(super) fn apply(self, x: &[f64], bias: Option<&[f64]>) -> Vec<f64> {
        let mut out = Vec::with_capacity(x.len() / self.rows * self.columns);
        for x in x.chunks(self.rows) {
            let mut y = bias.map_or_else(|| vec![0.0; self.columns], <[f64]>::to_vec);
            for (x, weights) in x.iter().zip(self.values.chunks(self.columns)) {
                y.iter_mut().zip(weights).for_each(|(y, w)| *y += x * w);
            }
            out.extend(y);
        }
        out
    }

    /// Adds to the gradient of the weights and returns that of x.
    pub(super) fn backward(self, x: &[f64], d_out: &[f64], d_weights: &mut [f64]) -> Vec<f64> {
        let mut d_x = Vec::with_capacity(x.len());
        for (x, d) in x.chunks(self.rows).zip(d_out.chunks(self.columns)) {
            for ((x, weights), d_w) in x
                .iter()
                .zip(self.values.chunks(self.columns))
                .zip(d_weights.chunks_mut(self.columns))
            {
                d_w.iter_mut().zip(d).for_each(|(d_w, d)| *d_w += x * d);
                d_x.push(weights.iter().zip(d).map(|(w, d)| w * d).sum());
            }
        }
        d_x
    }

    /// Adds to the gradient of the bias.
    pub(super) fn bias_backward(self, d_out: &[f64], d_bias: &mut [f64]) {
        for d in d_out.chunks(self.columns) {
            d_bias.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
        }
    }
}

/// What LayerNorm's backward needs: the normalised values, and 1 / standard deviation of each row.
pub(super) struct Normed {
    values: Vec<f64>,
    inverse: Vec<f64>,
}

/// `(x - mean) / sqrt(variance + eps) * gain + bias` for every row, with the population variance.
pub(super) fn layer_norm(x: &[f64], gain: &[f64], bias: &[f64], eps: f64) -> (Vec<f64>, Normed) {
    let width = gain.len();
    let mut kept = Normed {
        values: Vec::with_capacity(x.len()),
        inverse: Vec::new(),
    };
    let mut out = Vec::with_capacity(x.len());
    for row in x.chunks(width) {
        let mean = row.iter().sum::<f64>() / width as f64;
        let variance = row.iter().map(|x| (x - mean) * (x - mean)).sum::<f64>() / width as f64;
        let inverse = 1.0 / (variance + eps).sqrt();
        kept.inverse.push(inverse);
        for ((x, gain), bias) in row.iter().zip(gain).zip(bias) {
            let value = (x - mean) * inverse;
            kept.values.push(value);
            out.push(value * gain + bias);
        }
    }
    (out, kept)
}

/// Adds to the gradients of gain and bias and returns that of x.
pub(super) fn layer_norm_backward(
    kept: &Normed,
    gain: &[f64],
    d_out: &[f64],
    d_gain: &mut [f64],
    d_bias: &mut [f64],
) -> Vec<f64> {
    let width = gain.len();
    let mut d_x = Vec::with_capacity(d_out.len());
    for ((d, values), inverse) in d_out.chunks(width).zip(kept.values.chunks(width)).zip(&kept.inverse) {
        let scaled: Vec<f64> = d.iter().zip(gain).map(|(d, gain)| d * gain).collect();
        let mean = scaled.iter().sum::<f64>() / width as f64;
        let along = scaled.iter().zip(values).map(|(d, v)| d * v).sum::<f64>() / width as f64;
        for i in 0..width {
            d_gain[i] += d[i] * values[i];
            d_bias[i] += d[i];
            d_x.push(inverse * (scaled[i] - mean - values[i] * along));
        }
    }
    d_x
}

/// The exact GELU: `x / 2 * (1 + erf(x / sqrt 2))`.
pub(super) fn gelu(x: f64) -> f64 {
    0.5 * x * (1.0 + libm::erf(x / std::f64::consts::SQRT_2))
}

/// Its derivative: `(1 + erf(x / sqrt 2)) / 2 + x * exp(-x^2 / 2) / sqrt(2 pi)`.
pub(super) fn gelu_slope(x: f64) -> f64 {
    let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
    0.5 * (1.0 + libm::erf(x / std::f64::consts::SQRT_2)) + x * density
}
