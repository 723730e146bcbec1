//! Data-parallel replicas of one lane, and the reduction of their gradients.

use burn::tensor::Tensor;

use super::optimizer::OptimizerState;
use crate::setup::Optimizer;

/// One replica: its own parameters, accumulated gradient and optimizer state. Cheap to clone: tensors are shared until written.
#[derive(Clone)]
struct Replica {
    parameters: Tensor<1>,
    gradient: Option<Tensor<1>>,
    optimizer: OptimizerState,
}

/// All replicas of a lane.
#[derive(Clone)]
pub struct Replicas {
    each: Vec<Replica>,
    /// While replicas hold the same parameters and state, and all get the same reduced gradient, they are one computation whose
    /// result all of them hold.
    in_step: bool,
}

impl Replicas {
    /// `count` replicas that start equal.
    pub fn new(count: u32, parameters: &Tensor<1>, rule: Optimizer) -> Self {
        let one = || Replica {
            parameters: parameters.clone(),
            gradient: None,
            optimizer: OptimizerState::new(rule),
        };
        Self {
            each: (0..count).map(|_| one()).collect(),
            in_step: true,
        }
    }

    /// From here on each replica computes its own update, as separate processes do.
    pub fn compute_apart(&mut self) {
        self.in_step = false;
    }

    /// Whether all replicas hold the same tensors.
    pub fn in_step(&self) -> bool {
        self.in_step
    }

    /// The parameters of one replica. A number beyond the last stands for the first.
    pub fn parameters(&self, replica: u32) -> &Tensor<1> {
        &self.each[self.index(replica)].parameters
    }

    /// The parameters of all replicas.
    pub fn all_parameters(&self) -> impl Iterator<Item = &Tensor<1>> {
        self.each.iter().map(|replica| &replica.parameters)
    }

    /// Adds `coefficient * gradient` to what a replica has accumulated.
    pub fn accumulate(&mut self, replica: u32, gradient: Tensor<1>, coefficient: f64) {
        let index = self.index(replica);
        let into = &mut self.each[index].gradient;
        let contribution = gradient * coefficient;
        *into = Some(match into.take() {
            Some(sum) => sum + contribution,
            None => contribution,
        });
    }

    /// The mean over all replicas of what each accumulated, as an all-reduce gives it to every one of them; then all are cleared.
    /// A replica without work counts as zero.
    pub fn reduce(&mut self) -> Tensor<1> {
        let count = self.each.len();
        let sums = self.each.iter_mut().filter_map(|replica| replica.gradient.take());
        match sums.reduce(|a, b| a + b) {
            Some(sum) if count > 1 => sum / count as f64,
            Some(sum) => sum,
            None => self.each[0].parameters.zeros_like(),
        }
    }

    /// One update of every replica.
    pub fn apply(&mut self, gradient: &Tensor<1>, rate: f64) {
        let update = |replica: &mut Replica| {
            let parameters = replica.parameters.clone();
            replica.parameters = replica.optimizer.apply(parameters, gradient.clone(), rate);
        };
        if self.in_step {
            update(&mut self.each[0]);
            let updated = self.each[0].clone();
            self.each.fill(updated);
        } else {
            self.each.iter_mut().for_each(update);
        }
    }

    fn index(&self, replica: u32) -> usize {
        usize::try_from(replica)
            .ok()
            .filter(|&index| index < self.each.len())
            .unwrap_or(0)
    }
}
