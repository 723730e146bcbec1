//! Batch normalisation over rows, as torch.nn.BatchNorm1d: statistics of each microbatch, running ones beside them.

/// torch's default.
pub const BATCH_NORM_EPS: f64 = 1e-5;

/// How running statistics follow those of each batch.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Momentum {
    /// `running = (1 - momentum) * running + momentum * batch`.
    Fixed(f64),
    /// The mean over all batches so far: torch's `momentum=None`.
    Cumulative,
}

/// The layer's state. `weight` and `bias` have one entry a feature.
#[derive(Clone, Debug, PartialEq)]
pub struct BatchNorm {
    /// Multiplies the normalised values.
    pub weight: Vec<f64>,
    /// Added to them.
    pub bias: Vec<f64>,
    /// Added to the variance.
    pub eps: f64,
    /// How running statistics move.
    pub momentum: Momentum,
    /// Mean, for evaluation.
    pub running_mean: Vec<f64>,
    /// Unbiased variance, for evaluation.
    pub running_var: Vec<f64>,
    /// Batches seen in training.
    pub batches: u64,
}

/// What one training pass gives. Rows are examples or positions.
#[derive(Clone, Debug, PartialEq)]
pub struct Normalised {
    /// The outputs.
    pub output: Vec<Vec<f64>>,
    /// The normalised inputs, before weight and bias.
    normal: Vec<Vec<f64>>,
    /// 1 / sqrt(variance + eps), by feature.
    inverse_deviation: Vec<f64>,
}

/// Gradients of one training pass.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each is the gradient of what it is named for")]
pub struct BatchNormGradient {
    pub input: Vec<Vec<f64>>,
    pub weight: Vec<f64>,
    pub bias: Vec<f64>,
}

/// A batch of one row has no variance; torch refuses it, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("batch normalisation needs at least 2 rows to train, it got {rows}")]
pub struct TooFewRows {
    /// Rows there were.
    pub rows: usize,
}

impl BatchNorm {
    /// A fresh layer: weight 1, bias 0, running mean 0 and variance 1.
    pub fn new(features: usize, eps: f64, momentum: Momentum) -> Self {
        let (zeros, ones) = (vec![0.0; features], vec![1.0; features]);
        Self {
            weight: ones.clone(),
            bias: zeros.clone(),
            eps,
            momentum,
            running_mean: zeros,
            running_var: ones,
            batches: 0,
        }
    }

    /// Normalises with the batch's own statistics and moves the running ones.
    pub fn train(&mut self, rows: &[Vec<f64>]) -> Result<Normalised, TooFewRows> {
        if rows.len() < 2 {
            return Err(TooFewRows { rows: rows.len() });
        }
        self.batches += 1;
        let count = rows.len() as f64;
        let share = match self.momentum {
            Momentum::Fixed(momentum) => momentum,
            Momentum::Cumulative => 1.0 / self.batches as f64,
        };
        let mut normal = rows.to_vec();
        let mut inverse_deviation = Vec::with_capacity(self.weight.len());
        for f in 0..self.weight.len() {
            let mean = rows.iter().map(|row| row[f]).sum::<f64>() / count;
            let squares: f64 = rows.iter().map(|row| (row[f] - mean) * (row[f] - mean)).sum();
            let inverse = 1.0 / (squares / count + self.eps).sqrt();
            for row in &mut normal {
                row[f] = (row[f] - mean) * inverse;
            }
            inverse_deviation.push(inverse);
            self.running_mean[f] += share * (mean - self.running_mean[f]);
            self.running_var[f] += share * (squares / (count - 1.0) - self.running_var[f]);
        }
        let output = self.affine(&normal);
        Ok(Normalised {
            output,
            normal,
            inverse_deviation,
        })
    }

    /// Normalises with the running statistics.
    pub fn evaluate(&self, rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let normal = |row: &Vec<f64>| {
            let statistics = self.running_mean.iter().zip(&self.running_var);
            row.iter()
                .zip(statistics)
                .map(|(x, (mean, var))| (x - mean) / (var + self.eps).sqrt())
                .collect()
        };
        self.affine(&rows.iter().map(normal).collect::<Vec<Vec<f64>>>())
    }

    /// Gradients given those of the outputs.
    pub fn backward(&self, pass: &Normalised, d_output: &[Vec<f64>]) -> BatchNormGradient {
        let features = self.weight.len();
        let count = d_output.len() as f64;
        let mut gradient = BatchNormGradient {
            input: d_output.to_vec(),
            weight: vec![0.0; features],
            bias: vec![0.0; features],
        };
        for f in 0..features {
            let d_bias: f64 = d_output.iter().map(|row| row[f]).sum();
            let d_weight: f64 = d_output.iter().zip(&pass.normal).map(|(d, x)| d[f] * x[f]).sum();
            let factor = self.weight[f] * pass.inverse_deviation[f];
            for (row, normal) in gradient.input.iter_mut().zip(&pass.normal) {
                row[f] = factor * (row[f] - d_bias / count - normal[f] * d_weight / count);
            }
            gradient.weight[f] = d_weight;
            gradient.bias[f] = d_bias;
        }
        gradient
    }

    fn affine(&self, normal: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let row = |row: &Vec<f64>| {
            let affine = self.weight.iter().zip(&self.bias);
            row.iter()
                .zip(affine)
                .map(|(x, (weight, bias))| x * weight + bias)
                .collect()
        };
        normal.iter().map(row).collect()
    }
}
