//! AdamW in three passes over flat vectors, where stock operations take a dozen: kernels of the device. Its twin is
//! [`crate::batch::oracle::Optimizer`], in plain f64.

use burn::{
    backend::{Backend, Dispatch, backend_extension, tensor::FloatTensor},
    tensor::Tensor,
};

#[cfg(feature = "cpu")]
use microbatch_kernels::optimizer;

#[cfg(feature = "cpu")]
use super::microbatch::to_f32;

/// `beta x moment + (1 - beta) x gradient`, or `x gradient^2`.
pub fn moment(moment: Tensor<1>, gradient: Tensor<1>, beta: f64, squared: bool) -> Tensor<1> {
    let [moment, gradient] = [moment, gradient].map(Tensor::into_dispatch);
    Tensor::from_dispatch(Dispatch::adamw_moment(moment, gradient, beta, squared))
}

/// The numbers of one step.
#[derive(Clone, Copy, Debug)]
pub struct Step {
    /// What parameters are multiplied by first.
    pub keep: f64,
    /// What the first moment is multiplied by.
    pub size: f64,
    /// What the root of the second moment is divided by.
    pub correction: f64,
    /// Added to the root.
    pub epsilon: f64,
}

/// The parameters after one step.
pub fn step(parameters: Tensor<1>, first: Tensor<1>, second: Tensor<1>, by: Step) -> Tensor<1> {
    let [parameters, first, second] = [parameters, first, second].map(Tensor::into_dispatch);
    Tensor::from_dispatch(Dispatch::adamw_step(parameters, first, second, by))
}

/// On any device that has it.
#[backend_extension(Flex: cfg(feature = "cpu"), Cube: cfg(feature = "gpu"))]
pub trait AdamW: Backend {
    /// See [`moment`].
    fn adamw_moment(
        moment: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        beta: f64,
        squared: bool,
    ) -> FloatTensor<Self>;

    /// See [`step`].
    fn adamw_step(
        parameters: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        by: Step,
    ) -> FloatTensor<Self>;
}

#[cfg(feature = "cpu")]
impl AdamW for burn::backend::Flex {
    fn adamw_moment(
        moment: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        beta: f64,
        squared: bool,
    ) -> FloatTensor<Self> {
        let [mut moment, gradient] = [moment, gradient].map(|tensor| tensor.to_contiguous());
        let [beta, fresh] = [beta, 1.0 - beta].map(to_f32);
        let gradient = gradient.as_slice().unwrap_or_default();
        optimizer::moment(moment.storage_mut(), gradient, beta, fresh, squared);
        moment
    }

    fn adamw_step(
        parameters: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        by: Step,
    ) -> FloatTensor<Self> {
        let [mut parameters, first, second] = [parameters, first, second].map(|tensor| tensor.to_contiguous());
        let [first, second] = [&first, &second].map(|tensor| tensor.as_slice().unwrap_or_default());
        let by = optimizer::Step {
            keep: to_f32(by.keep),
            size: to_f32(by.size),
            correction: to_f32(by.correction),
            epsilon: to_f32(by.epsilon),
        };
        optimizer::step(parameters.storage_mut(), first, second, by);
        parameters
    }
}
