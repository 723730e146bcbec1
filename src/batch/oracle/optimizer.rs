//! SGD and AdamW as torch.optim defines them, over one flat parameter vector.

/// `torch.optim.SGD` without dampening or Nesterov.
#[derive(Clone, Debug, PartialEq)]
pub struct Sgd {
    /// 0 for plain SGD.
    pub momentum: f64,
    velocity: Option<Vec<f64>>,
}

impl Sgd {
    /// A fresh state.
    pub fn new(momentum: f64) -> Self {
        Self {
            momentum,
            velocity: None,
        }
    }
}

/// `torch.optim.AdamW`: decoupled decay on every parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct AdamW {
    /// Decay of the first moment.
    pub beta1: f64,
    /// Decay of the second moment.
    pub beta2: f64,
    /// Added to the root of the corrected second moment.
    pub eps: f64,
    /// Decoupled weight decay.
    pub weight_decay: f64,
    applied: i32,
    first: Vec<f64>,
    second: Vec<f64>,
}

impl AdamW {
    /// A fresh state.
    pub fn new(beta1: f64, beta2: f64, eps: f64, weight_decay: f64) -> Self {
        Self {
            beta1,
            beta2,
            eps,
            weight_decay,
            applied: 0,
            first: Vec::new(),
            second: Vec::new(),
        }
    }
}

/// One optimizer with its state.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "each holds the type of its name")]
pub enum Optimizer {
    Sgd(Sgd),
    AdamW(AdamW),
}

impl Optimizer {
    /// Applies one update in place.
    pub fn apply(&mut self, parameters: &mut [f64], gradient: &[f64], rate: f64) {
        match self {
            Self::Sgd(sgd) => sgd.apply(parameters, gradient, rate),
            Self::AdamW(adam) => adam.apply(parameters, gradient, rate),
        }
    }
}

impl Sgd {
    fn apply(&mut self, parameters: &mut [f64], gradient: &[f64], rate: f64) {
        let momentum = self.momentum;
        // torch starts the buffer as a copy of the first gradient, not as zeros.
        let velocity = match self.velocity.take() {
            None => gradient.to_vec(),
            Some(v) => v.iter().zip(gradient).map(|(v, g)| momentum * v + g).collect(),
        };
        for (p, v) in parameters.iter_mut().zip(&velocity) {
            *p -= rate * v;
        }
        self.velocity = Some(velocity);
    }
}

impl AdamW {
    fn apply(&mut self, parameters: &mut [f64], gradient: &[f64], rate: f64) {
        self.first.resize(parameters.len(), 0.0);
        self.second.resize(parameters.len(), 0.0);
        self.applied += 1;
        let (c1, c2) = (1.0 - self.beta1.powi(self.applied), 1.0 - self.beta2.powi(self.applied));
        let moments = self.first.iter_mut().zip(self.second.iter_mut());
        for ((p, g), (m, v)) in parameters.iter_mut().zip(gradient).zip(moments) {
            *m = self.beta1 * *m + (1.0 - self.beta1) * g;
            *v = self.beta2 * *v + (1.0 - self.beta2) * g * g;
            *p -= rate * self.weight_decay * *p;
            *p -= rate * (*m / c1) / ((*v / c2).sqrt() + self.eps);
        }
    }
}
