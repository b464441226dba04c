//! Numbers to a device and back.

#[cfg(feature = "burn")]
use burn::tensor::{Device, Tensor, TensorData};

/// The error for a tensor that cannot be read from its device.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the device failed: {0}")]
pub struct DeviceReadError(pub String);

/// Copies numbers in row-major order to a device.
#[cfg(feature = "burn")]
#[must_use]
pub fn matrix(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Reads the numbers of a tensor in row-major order.
///
/// # Errors
/// Returns an error if the device cannot be read.
#[cfg(feature = "burn")]
pub fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, DeviceReadError> {
    let read = tensor.try_into_vec_as::<f32>();
    read.map_err(|error| DeviceReadError(format!("{error:?}")))
}
