//! A network's parameters as tensors with gradients, and layers that are computed with them. The
//! environment composes the layers, see [`super::learn::Learn::forward`].

use sentinel_policy::nn::{Architecture, Shape, Weights};
use sentinel_tensor::DeviceReadError;

use super::Error;
use super::tensor::Tensor;

/// The tensors that are used if no others are named: those of burn, where they are part of the
/// build.
#[cfg(feature = "burn")]
pub type DefaultTensor = burn::tensor::Tensor<2>;
/// The tensors that are used if no others are named.
#[cfg(not(feature = "burn"))]
pub type DefaultTensor = super::plain::Matrix;

/// Parameters on a device, in the order of [`Architecture::shapes`].
#[derive(Clone, Debug)]
pub struct ParameterTensors<A, T: Tensor = DefaultTensor> {
    config: A,
    device: T::Device,
    shapes: Vec<Shape>,
    /// The parameter tensors; `None` for an empty shape.
    pub(super) tensors: Vec<Option<T>>,
}

/// The outputs of the network for a batch.
#[derive(Clone, Debug)]
pub struct Outputs<T = DefaultTensor> {
    /// The logits of all columns, `[batch, columns]`.
    pub logits: T,
    /// The logits of the belief, `[batch * rows, classes]`, if the network has one.
    pub beliefs: Option<T>,
}

impl<A: Architecture, T: Tensor> ParameterTensors<A, T> {
    /// Copies weights to a device as tensors with gradients.
    #[must_use]
    pub fn new(weights: &Weights<A>, device: &T::Device) -> Self {
        let place = |(shape, values): (Shape, &[f32])| {
            let size = [shape.rows, shape.columns];
            (!values.is_empty()).then(|| T::parameter(values.to_vec(), size, device))
        };
        Self {
            config: *weights.config(),
            device: device.clone(),
            shapes: weights.config().shapes(),
            tensors: weights.iter().map(place).collect(),
        }
    }

    /// Returns the architecture of the network.
    #[must_use]
    pub const fn config(&self) -> &A {
        &self.config
    }

    /// Returns the device that holds the parameters.
    #[must_use]
    pub const fn device(&self) -> &T::Device {
        &self.device
    }

    /// Reads the parameters as plain numbers.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn weights(&self) -> Result<Weights<A>, Error> {
        let read = |tensor: &Option<T>| match tensor {
            Some(tensor) => tensor.values(),
            None => Ok(Vec::new()),
        };
        let values: Result<_, Error> = self.tensors.iter().map(read).collect();
        let lost = || Error::Device(DeviceReadError("a parameter changed its shape".to_owned()));
        Weights::from_tensors(self.config, values?).ok_or_else(lost)
    }

    /// Computes `x W`, with parameter `weight` as `W`.
    #[must_use]
    pub fn product(&self, x: T, weight: usize) -> T {
        x.product(self.parameter(weight))
    }

    /// Computes `x W + b`, with parameters `weight` and `bias`.
    #[must_use]
    pub fn linear(&self, x: T, weight: usize, bias: usize) -> T {
        self.product(x, weight).plus(self.parameter(bias))
    }

    /// Computes `relu(rows W + shared)`, `[batch * rows, hidden]`, from `rows`,
    /// `[batch * rows, inputs]`, and `shared`, `[batch, hidden]`.
    #[must_use]
    pub fn set_layer(&self, rows: T, weight: usize, shared: T) -> T {
        self.product(rows, weight).plus(shared).rectify()
    }

    /// Returns a parameter by its index into the shapes; zeros for an empty shape.
    #[must_use]
    pub fn parameter(&self, index: usize) -> T {
        match &self.tensors[index] {
            Some(tensor) => tensor.clone(),
            None => {
                let Shape { rows, columns, .. } = self.shapes[index];
                T::constant(vec![0.0; rows * columns], [rows, columns], &self.device)
            }
        }
    }
}
