//! One node of the autodiff graph for a hand-written forward and backward.

use std::{fmt, sync::Arc};

use burn::backend::{
    Backend,
    autodiff::{
        Autodiff,
        checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
        grads::Gradients,
        ops::{Backward, Ops, OpsKind},
    },
    tensor::FloatTensor,
};

type Rule<B, const N: usize> = dyn Fn([FloatTensor<B>; N], FloatTensor<B>) -> [FloatTensor<B>; N] + Send + Sync;

/// Holds the backward until it is due.
struct Node<B: Backend, const N: usize>(Arc<Rule<B, N>>);

impl<B: Backend, const N: usize> fmt::Debug for Node<B, N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Node with {N} inputs")
    }
}

impl<B: Backend, const N: usize> Backward<B, N> for Node<B, N> {
    /// The inputs of the forward.
    type State = [FloatTensor<B>; N];

    fn backward(self, ops: Ops<Self::State, N>, gradients: &mut Gradients, _: &mut Checkpointer) {
        let d_output = gradients.consume::<B>(&ops.node);
        for (parent, gradient) in ops.parents.into_iter().zip((self.0)(ops.state, d_output)) {
            if let Some(parent) = parent {
                gradients.register::<B>(parent.id, gradient);
            }
        }
    }
}

/// Computes `forward`, and records that `backward` gives the gradients of the inputs from the inputs and the gradient of the output.
#[expect(
    clippy::redundant_closure_for_method_calls,
    reason = "burn keeps the path of the type to itself"
)]
pub(super) fn record<B: Backend, C: CheckpointStrategy, const N: usize>(
    inputs: [FloatTensor<Autodiff<B, C>>; N],
    forward: impl FnOnce([FloatTensor<B>; N]) -> FloatTensor<B>,
    backward: impl Fn([FloatTensor<B>; N], FloatTensor<B>) -> [FloatTensor<B>; N] + Send + Sync + 'static,
) -> FloatTensor<Autodiff<B, C>> {
    let nodes = inputs.each_ref().map(|input| input.node());
    let inputs = inputs.map(|input| input.into_primitive());
    match Node::<B, N>(Arc::new(backward))
        .prepare::<C>(nodes)
        .compute_bound()
        .stateful()
    {
        OpsKind::Tracked(prepared) => prepared.finish(inputs.clone(), forward(inputs)),
        OpsKind::UnTracked(prepared) => prepared.finish(forward(inputs)),
    }
}
