//! Data-parallel replicas of one lane, and the exchange of their gradients.

use burn::tensor::Tensor;

use super::optimizer::OptimizerState;
use crate::setup::Optimizer;

/// One replica: its own parameters, `.grad` and optimizer state. Cheap to clone: tensors are shared until written.
#[derive(Clone)]
struct Replica {
    parameters: Tensor<1>,
    /// `None` after `zero_grad`, as torch sets it.
    gradient: Option<Tensor<1>>,
    /// What updates would have moved the parameters by that wait for their group to end.
    moves: Option<Tensor<1>>,
    optimizer: OptimizerState,
}

/// All replicas of a lane.
#[derive(Clone)]
pub struct Replicas {
    each: Vec<Replica>,
    /// While replicas hold the same parameters and state, and all get the same gradient, they are one computation whose result all
    /// of them hold.
    in_step: bool,
    /// Whether all hold the same `.grad`.
    agreed: bool,
}

impl Replicas {
    /// `count` replicas that start equal.
    pub fn new(count: u32, parameters: &Tensor<1>, rule: Optimizer) -> Self {
        let one = || Replica {
            parameters: parameters.clone(),
            gradient: None,
            moves: None,
            optimizer: OptimizerState::new(rule),
        };
        Self {
            each: (0..count).map(|_| one()).collect(),
            in_step: true,
            agreed: true,
        }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.each.len()
    }

    /// From here on each replica computes its own update, as separate processes do.
    pub fn compute_apart(&mut self) {
        self.in_step = false;
    }

    /// Whether all replicas hold the same parameters.
    pub fn in_step(&self) -> bool {
        self.in_step
    }

    /// Whether all replicas hold the same `.grad`.
    pub fn agreed(&self) -> bool {
        self.agreed
    }

    /// The parameters of one replica. A number beyond the last stands for the first.
    pub fn parameters(&self, replica: u32) -> &Tensor<1> {
        &self.each[self.index(replica)].parameters
    }

    /// The parameters of all replicas.
    pub fn all_parameters(&self) -> impl Iterator<Item = &Tensor<1>> {
        self.each.iter().map(|replica| &replica.parameters)
    }

    /// `.grad` of all replicas; zeros where nothing was accumulated.
    pub fn gradients(&self) -> impl Iterator<Item = Tensor<1>> {
        self.each.iter().map(|replica| {
            let zeros = || replica.parameters.zeros_like();
            replica.gradient.clone().unwrap_or_else(zeros)
        })
    }

    /// Adds to what a replica has accumulated.
    pub fn accumulate(&mut self, replica: u32, contribution: Tensor<1>) {
        let index = self.index(replica);
        let into = &mut self.each[index].gradient;
        *into = Some(match into.take() {
            Some(sum) => sum + contribution,
            None => contribution,
        });
        self.agreed = self.each.len() == 1;
    }

    /// Takes what a replica has accumulated, to add to it where it lies.
    pub fn take_gradient(&mut self, replica: u32) -> Option<Tensor<1>> {
        let index = self.index(replica);
        self.each[index].gradient.take()
    }

    /// Replaces every replica's `.grad` by the mean of all. One without work counts as zero.
    pub fn all_reduce(&mut self) {
        let count = self.each.len();
        let sums = self.each.iter_mut().filter_map(|replica| replica.gradient.take());
        let sum = sums.reduce(|a, b| a + b);
        let mean = if count > 1 {
            sum.map(|sum| sum / count as f64)
        } else {
            sum
        };
        for replica in &mut self.each {
            replica.gradient.clone_from(&mean);
        }
        self.agreed = true;
    }

    /// Changes every `.grad` that holds anything: once, where all hold the same. `change` is told whose it is.
    pub fn change_gradients(&mut self, mut change: impl FnMut(usize, Tensor<1>) -> Tensor<1>) {
        let alone = if self.agreed { 1 } else { self.each.len() };
        for (index, replica) in self.each.iter_mut().take(alone).enumerate() {
            replica.gradient = replica.gradient.take().map(|gradient| change(index, gradient));
        }
        if let (true, [first, others @ ..]) = (self.agreed, &mut self.each[..]) {
            for other in others {
                other.gradient.clone_from(&first.gradient);
            }
        }
    }

    /// Clears the `.grad` of one replica.
    pub fn clear(&mut self, replica: u32) {
        let index = self.index(replica);
        self.each[index].gradient = None;
        self.agreed = self.each.len() == 1;
    }

    /// Whether any replica has a `.grad` that is not `None`.
    pub fn hold_any(&self) -> bool {
        self.each.iter().any(|replica| replica.gradient.is_some())
    }

    /// What a backward leaves whose gradient is zero: a `.grad`, which an optimizer steps with.
    pub fn hold_zeros(&mut self, replica: u32) {
        let index = self.index(replica);
        if self.each[index].gradient.is_none() {
            let zeros = self.each[index].parameters.zeros_like();
            self.accumulate(replica, zeros);
        }
    }

    /// Clears every `.grad`.
    pub fn clear_all(&mut self) {
        for replica in &mut self.each {
            replica.gradient = None;
        }
        self.agreed = true;
    }

    /// One update of every replica with its own `.grad`. A replica without one is left alone, as torch leaves a parameter whose `.grad` is
    /// `None`.
    pub fn apply(&mut self, rate: f64) {
        self.update(|replica| {
            if let Some(gradient) = replica.gradient.clone() {
                let parameters = replica.parameters.clone();
                replica.parameters = replica.optimizer.apply(parameters, gradient, rate);
            }
        });
    }

    /// The same, but the parameters stand still until [`Self::make_moves`].
    pub fn apply_later(&mut self, rate: f64) {
        self.update(|replica| {
            if let Some(gradient) = replica.gradient.clone() {
                let parameters = replica.parameters.clone();
                let moved = replica.optimizer.apply(parameters.clone(), gradient, rate) - parameters;
                replica.moves = Some(match replica.moves.take() {
                    Some(moves) => moves + moved,
                    None => moved,
                });
            }
        });
    }

    /// Moves the parameters by all that waits.
    pub fn make_moves(&mut self) {
        self.update(|replica| {
            if let Some(moves) = replica.moves.take() {
                replica.parameters = replica.parameters.clone() + moves;
            }
        });
    }

    fn update(&mut self, update: impl Fn(&mut Replica)) {
        self.in_step &= self.agreed;
        if self.in_step {
            update(&mut self.each[0]);
            let updated = self.each[0].clone();
            self.each.fill(updated);
        } else {
            self.each.iter_mut().for_each(update);
        }
    }

    /// Takes an update back: parameters, moves and optimizers are those of `before`; every `.grad` stays as it is.
    pub fn take_back(&mut self, before: Self) {
        self.in_step = before.in_step;
        for (replica, before) in self.each.iter_mut().zip(before.each) {
            replica.parameters = before.parameters;
            replica.optimizer = before.optimizer;
            replica.moves = before.moves;
        }
    }

    fn index(&self, replica: u32) -> usize {
        usize::try_from(replica)
            .ok()
            .filter(|&index| index < self.each.len())
            .unwrap_or(0)
    }
}
