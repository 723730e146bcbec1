//! A group's gradients on D replicas, as a training loop accumulates them: rightly, or with a fault.

use super::norm;
use crate::batch::{
    GroupFacts,
    clip::{ClipAt, coefficient},
    no_sync::SyncMode,
    zero_grad::ZeroGrad,
};

/// How a loop accumulates. The default is right.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Accumulation {
    /// Where `.grad` is cleared.
    pub zero_grad: ZeroGrad,
    /// Which backwards exchange.
    pub sync: SyncMode,
    /// When gradients are clipped, and to which norm; `None` for never.
    pub clip: Option<(ClipAt, f64)>,
}

/// `.grad` of every replica.
#[derive(Clone, Debug, PartialEq)]
pub struct Grads {
    /// By replica.
    pub replicas: Vec<Vec<f64>>,
    /// Exchanges so far.
    pub exchanges: u32,
    /// Every norm a clip has seen, in order.
    pub norms: Vec<f64>,
}

impl Grads {
    /// All zero.
    pub fn zeros(replicas: usize, parameters: usize) -> Self {
        Self {
            replicas: vec![vec![0.0; parameters]; replicas],
            exchanges: 0,
            norms: Vec::new(),
        }
    }

    /// Adds one group. `contributions[i]` is what the backward of `group.microbatches[i]` adds, loss factor included.
    pub fn accumulate(&mut self, how: Accumulation, group: &GroupFacts, contributions: &[Vec<f64>]) {
        let accumulation = group.microbatches.iter().map(|k| k.index + 1).max().unwrap_or(0);
        for index in 0..accumulation {
            let at_once = group
                .microbatches
                .iter()
                .zip(contributions)
                .filter(|(k, _)| k.index == index);
            for (k, contribution) in at_once {
                self.backward(how, k.replica as usize, contribution, accumulation);
            }
            if how.sync.reduces(index, accumulation) {
                self.reduce();
            }
        }
        if let Some((ClipAt::AfterAccumulation, max)) = how.clip {
            let clipped: Vec<f64> = self.replicas.iter_mut().map(|grad| clip(grad, max)).collect();
            // Replicas in step see one norm; it is reported once.
            self.norms.extend(clipped.first());
        }
    }

    /// What follows the optimizer.
    pub fn after_update(&mut self, how: Accumulation) {
        if how.zero_grad.after_update() {
            self.clear();
        }
    }

    fn backward(&mut self, how: Accumulation, replica: usize, contribution: &[f64], accumulation: u32) {
        let Some(grad) = self.replicas.get_mut(replica) else {
            return;
        };
        if how.zero_grad.before_backward() {
            grad.fill(0.0);
        }
        let mut contribution = contribution.to_vec();
        if let Some((at @ (ClipAt::EachContribution | ClipAt::EachMean), max)) = how.clip {
            self.norms.push(clip(&mut contribution, max));
            if at == ClipAt::EachMean {
                scale(&mut contribution, 1.0 / f64::from(accumulation));
            }
        }
        for (sum, g) in grad.iter_mut().zip(&contribution) {
            *sum += g;
        }
        if let Some((ClipAt::RunningGradient, max)) = how.clip {
            self.norms.push(clip(grad, max));
        }
        if how.zero_grad.after_backward() {
            grad.fill(0.0);
        }
    }

    fn reduce(&mut self) {
        self.exchanges += 1;
        let count = self.replicas.len() as f64;
        let Some((first, others)) = self.replicas.split_first_mut() else {
            return;
        };
        for other in &*others {
            for (sum, g) in first.iter_mut().zip(other) {
                *sum += g;
            }
        }
        scale(first, 1.0 / count);
        for other in others {
            other.clone_from(first);
        }
    }

    fn clear(&mut self) {
        for grad in &mut self.replicas {
            grad.fill(0.0);
        }
    }
}

fn scale(gradient: &mut [f64], factor: f64) {
    for g in gradient {
        *g *= factor;
    }
}

/// Clips in place; gives the norm before.
fn clip(gradient: &mut [f64], max_norm: f64) -> f64 {
    let before = norm(gradient);
    scale(gradient, coefficient(before, max_norm));
    before
}
