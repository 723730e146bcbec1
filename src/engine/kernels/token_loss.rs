//! The masked token cross-entropy in WGSL: per-token loss, its weighted sum and the count, and the backward.

use burn::{
    backend::{
        Autodiff, Backend, Dispatch, Shape, TensorMetadata,
        autodiff::{
            NodeId,
            checkpoint::{base::Checkpointer, strategy::CheckpointStrategy},
            grads::Gradients,
            ops::{Backward, Ops, OpsKind, unary},
        },
        backend_extension,
        tensor::{FloatTensor, IntTensor},
    },
    tensor::Tensor,
};
use burn_cubecl::{CubeBackend, kernel::into_contiguous};

use super::launch::{Wgsl, empty, launch, wgsl};
use crate::engine::microbatch::Targets;

/// `[sum of weight x loss, count of scored positions]` of `logits`, positions x vocabulary. Weights are above 0 exactly
/// where a position is scored. Differentiable in the logits; call `backward` on it as it is, since the count has no slope.
pub fn totals(logits: Tensor<2>, targets: &Targets, weights: Tensor<1>) -> Tensor<1> {
    let labels = targets.labels().clone().into_dispatch();
    Tensor::from_dispatch(Dispatch::loss_totals(
        logits.into_dispatch(),
        labels,
        weights.into_dispatch(),
    ))
}

/// The forward, on any device that has it.
#[backend_extension(Cube, Autodiff)]
pub trait LossTotals: Backend {
    /// `[sum of weight x loss, count of scored positions]`.
    fn loss_totals(logits: FloatTensor<Self>, labels: IntTensor<Self>, weights: FloatTensor<Self>)
    -> FloatTensor<Self>;
}

/// The backward, which only the autodiff wrapper calls.
pub trait LossGradient: Backend {
    /// The gradient of the logits, given that of the totals.
    fn loss_gradient(
        logits: FloatTensor<Self>,
        labels: IntTensor<Self>,
        weights: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
    ) -> FloatTensor<Self>;
}

const TOKEN_LOSS: Wgsl = wgsl!("token_loss");
const LOSS_PARTIALS: Wgsl = wgsl!("loss_partials");
const LOSS_TOTAL: Wgsl = wgsl!("loss_total");
const TOKEN_LOSS_BACKWARD: Wgsl = wgsl!("token_loss_backward");

impl LossTotals for CubeBackend {
    fn loss_totals(
        logits: FloatTensor<Self>,
        labels: IntTensor<Self>,
        weights: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [logits, labels, weights] = [logits, labels, weights].map(into_contiguous);
        let [positions, vocabulary] = logits.shape().dims();
        let losses = empty(&logits, Shape::new([positions]));
        launch(
            TOKEN_LOSS,
            positions,
            &[&logits, &labels, &weights, &losses],
            &[positions, vocabulary],
        );
        let partials = empty(&logits, Shape::new([64, 2]));
        launch(LOSS_PARTIALS, 64, &[&losses, &weights, &partials], &[positions]);
        let totals = empty(&logits, Shape::new([2]));
        launch(LOSS_TOTAL, 2, &[&partials, &totals], &[]);
        totals
    }
}

impl LossGradient for CubeBackend {
    fn loss_gradient(
        logits: FloatTensor<Self>,
        labels: IntTensor<Self>,
        weights: FloatTensor<Self>,
        upstream: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let [logits, labels, weights, upstream] = [logits, labels, weights, upstream].map(into_contiguous);
        let [positions, vocabulary] = logits.shape().dims();
        let d_logits = empty(&logits, logits.shape());
        let tensors = [&logits, &labels, &weights, &upstream, &d_logits];
        launch(TOKEN_LOSS_BACKWARD, positions, &tensors, &[positions, vocabulary]);
        d_logits
    }
}

#[derive(Debug)]
struct TotalsBackward;

impl<B: LossGradient> Backward<B, 1> for TotalsBackward {
    /// Logits, labels, weights.
    type State = (NodeId, IntTensor<B>, FloatTensor<B>);

    fn backward(self, ops: Ops<Self::State, 1>, gradients: &mut Gradients, checkpointer: &mut Checkpointer) {
        let (logits, labels, weights) = ops.state;
        let logits: FloatTensor<B> = checkpointer.retrieve_node_output(logits);
        unary::<B, _>(ops.parents, ops.node, gradients, |upstream| {
            B::loss_gradient(logits, labels, weights, upstream)
        });
    }
}

impl<B: LossTotals + LossGradient, C: CheckpointStrategy> LossTotals for Autodiff<B, C> {
    fn loss_totals(
        logits: FloatTensor<Self>,
        labels: IntTensor<Self>,
        weights: FloatTensor<Self>,
    ) -> FloatTensor<Self> {
        let weights = weights.into_primitive();
        match TotalsBackward.prepare::<C>([logits.node()]).compute_bound().stateful() {
            OpsKind::Tracked(mut prepared) => {
                let kept = prepared.checkpoint(&logits);
                let totals = B::loss_totals(logits.into_primitive(), labels.clone(), weights.clone());
                prepared.finish((kept, labels, weights), totals)
            }
            OpsKind::UnTracked(prepared) => prepared.finish(B::loss_totals(logits.into_primitive(), labels, weights)),
        }
    }
}
