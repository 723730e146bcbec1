//! AdamW over flat parameters, as torch.optim defines it.

use wide::f32x4;

use crate::four::{LANES, load, store};

/// `beta x moment + (1 - beta) x gradient`, or `x gradient^2`, in place.
pub fn moment(moment: &mut [f32], gradient: &[f32], beta: f32, fresh: f32, squared: bool) {
    for (moment, gradient) in moment.chunks_mut(LANES).zip(gradient.chunks(LANES)) {
        let gradient = load(gradient, 0);
        let value = if squared { gradient * gradient } else { gradient };
        let moved = load(moment, 0) * beta + value * fresh;
        store(moment, 0, moved);
    }
}

/// The numbers of one step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What parameters are multiplied by first.
    pub keep: f32,
    /// What the first moment is multiplied by.
    pub size: f32,
    /// What the root of the second moment is divided by.
    pub correction: f32,
    /// Added to the root.
    pub epsilon: f32,
}

/// `keep x parameters - size x first / (sqrt(second) / correction + epsilon)`, in place.
pub fn step(parameters: &mut [f32], first: &[f32], second: &[f32], by: Step) {
    let moments = first.chunks(LANES).zip(second.chunks(LANES));
    for (parameters, (first, second)) in parameters.chunks_mut(LANES).zip(moments) {
        let root = load(second, 0).sqrt() / f32x4::splat(by.correction) + f32x4::splat(by.epsilon);
        let moved = load(parameters, 0) * by.keep - load(first, 0) / root * by.size;
        store(parameters, 0, moved);
    }
}
