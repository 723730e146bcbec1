//! What a forward and its backward do beside exact arithmetic: rounding after each layer, and dropout.

use super::half::to_half;

/// The default adds nothing.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numerics<'a> {
    /// Whether activations, and the gradients of the same activations, are rounded to half precision after each layer.
    pub half: bool,
    /// What dropout multiplies activations by: one list for each place of the network, in order of the forward, `positions * width`
    /// row-major. Empty without dropout.
    pub masks: &'a [Vec<f64>],
}

impl Numerics<'_> {
    /// What a layer gives, or what comes back to it: the gradient of a rounding is the rounding of the gradient, as casts have it.
    pub(super) fn layer(&self, values: &mut [f64]) {
        if self.half {
            for value in values {
                *value = to_half(*value);
            }
        }
    }

    /// A layer's output, rounded.
    pub(super) fn rounded(&self, mut values: Vec<f64>) -> Vec<f64> {
        self.layer(&mut values);
        values
    }

    /// Dropout at its `place`-th place; the product is an activation of its own.
    pub(super) fn dropout(&self, place: usize, values: &mut [f64]) {
        if let Some(mask) = self.masks.get(place) {
            values.iter_mut().zip(mask).for_each(|(value, kept)| *value *= kept);
            self.layer(values);
        }
    }

    /// From the gradient of dropout's output to that of its input.
    pub(super) fn dropout_backward(&self, place: usize, gradient: &mut [f64]) {
        if let Some(mask) = self.masks.get(place) {
            self.layer(gradient);
            gradient.iter_mut().zip(mask).for_each(|(d, kept)| *d *= kept);
        }
    }
}
