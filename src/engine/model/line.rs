//! The smallest network there is: logits = weight x the token's number. Published fixtures of other libraries are written for it.

use burn::tensor::Tensor;

use super::Leaves;
use crate::engine::microbatch::Inputs;

/// A Linear layer from one number to `outputs`, without bias. Its parameters are the `outputs` weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineShape {
    /// Possible labels.
    pub outputs: usize,
}

pub(super) fn logits(leaves: &mut Leaves, inputs: &Inputs) -> Tensor<2> {
    let [rows, width] = inputs.shape();
    inputs
        .tokens()
        .clone()
        .reshape([rows * width, 1])
        .float()
        .matmul(leaves.next().transpose())
}
