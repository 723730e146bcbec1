//! Values leave the device together: one asynchronous read for everything that a report needs.

use burn::tensor::{Tensor, Transaction};

use crate::protocol::Fault;

/// Tensors to be read in one go.
#[derive(Default)]
pub struct Readback {
    transaction: Transaction,
    count: usize,
}

/// Where a tensor's values will stand.
#[derive(Clone, Copy, Debug)]
pub struct Slot(usize);

/// What was read.
pub struct Values(Vec<Vec<f32>>);

impl Readback {
    /// Adds a tensor.
    pub fn add(&mut self, tensor: &Tensor<1>) -> Slot {
        let transaction = std::mem::take(&mut self.transaction);
        self.transaction = transaction.register(tensor.clone());
        self.count += 1;
        Slot(self.count - 1)
    }

    /// Waits for the device and reads all of them.
    pub async fn read(self) -> Result<Values, Fault> {
        if self.count == 0 {
            return Ok(Values(Vec::new()));
        }
        let lost = |reason: String| Fault::DeviceLost { reason };
        let data = self
            .transaction
            .execute_async()
            .await
            .map_err(|e| lost(format!("{e:?}")))?;
        let values = data
            .into_iter()
            .map(|data| data.try_to_vec::<f32>().map_err(|e| lost(format!("{e:?}"))));
        values.collect::<Result<_, _>>().map(Values)
    }
}

impl Values {
    /// The values of one tensor.
    pub fn of(&self, slot: Slot) -> &[f32] {
        self.0.get(slot.0).map_or(&[], Vec::as_slice)
    }

    /// The value of a tensor of one number; NaN if it has none.
    pub fn one(&self, slot: Slot) -> f64 {
        self.of(slot).first().map_or(f64::NAN, |&value| f64::from(value))
    }
}

/// One tensor by itself.
pub async fn read(tensor: &Tensor<1>) -> Result<Vec<f32>, Fault> {
    let mut readback = Readback::default();
    let slot = readback.add(tensor);
    Ok(readback.read().await?.of(slot).to_vec())
}
