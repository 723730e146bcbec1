//! AdamW in WGSL; see [`crate::engine::adamw`].

use burn::backend::{TensorMetadata, tensor::FloatTensor};
use burn_cubecl::{CubeBackend, kernel::into_contiguous};

use super::launch::{Wgsl, empty, launch, wgsl};
use crate::engine::{
    adamw::{AdamW, Step},
    microbatch::to_f32,
};

const MOMENT: Wgsl = wgsl!("adamw_moment");
const STEP: Wgsl = wgsl!("adamw_step");

/// As the shaders read it among their sizes.
fn bits(x: f64) -> usize {
    usize::try_from(to_f32(x).to_bits()).unwrap_or_default()
}

impl AdamW for CubeBackend {
    fn adamw_moment(
        moment: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        beta: f64,
        squared: bool,
    ) -> FloatTensor<Self> {
        let [moment, gradient] = [moment, gradient].map(into_contiguous);
        let count = moment.shape().num_elements();
        let out = empty(&moment, moment.shape());
        let sizes = [count, usize::from(squared), bits(beta), bits(1.0 - beta)];
        launch(MOMENT, count, &[&moment, &gradient, &out], &sizes);
        out
    }

    fn adamw_step(
        parameters: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        by: Step,
    ) -> FloatTensor<Self> {
        let [parameters, first, second] = [parameters, first, second].map(into_contiguous);
        let count = parameters.shape().num_elements();
        let out = empty(&parameters, parameters.shape());
        let sizes = [
            count,
            bits(by.keep),
            bits(by.size),
            bits(by.correction),
            bits(by.epsilon),
        ];
        launch(STEP, count, &[&parameters, &first, &second, &out], &sizes);
        out
    }
}
