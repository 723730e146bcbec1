//! Giving back what abandoned graphs hold.

use burn::tensor::Tensor;

use crate::engine::Device;

/// Frees the graphs of losses that were dropped without a backward: those of a run that ended inside a group, or that kept its graphs.
/// burn 0.22.1 looks for them only at the end of a backward, of any graph; so this is the smallest one there is.
pub fn free_abandoned_graphs(device: &Device) {
    let device = device.clone().without_autodiff();
    let leaf = Tensor::<1>::zeros([1], &device).autodiff().require_grad();
    // Its gradient is of no use.
    drop((leaf.clone() + leaf).backward());
}
