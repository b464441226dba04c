//! A network's parameters as tensors with gradients, and layers that are computed with them. The
//! environment composes the layers, see [`super::learn::Learn::forward`].

use burn::tensor::activation::relu;
use burn::tensor::{Device, Gradients, Tensor};
use sentinel_policy::nn::{Architecture, Shape, Weights};
use sentinel_tensor::{DeviceReadError, matrix, numbers};

use super::Error;

/// Parameters on a device, in the order of [`Architecture::shapes`].
#[derive(Clone, Debug)]
pub struct ParameterTensors<A> {
    config: A,
    device: Device,
    shapes: Vec<Shape>,
    /// The parameter tensors; `None` for an empty shape.
    pub(super) tensors: Vec<Option<Tensor<2>>>,
}

/// The outputs of the network for a batch.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// The logits of all columns, `[batch, columns]`.
    pub logits: Tensor<2>,
    /// The logits of the belief, `[batch * rows, classes]`, if the network has one.
    pub beliefs: Option<Tensor<2>>,
}

impl<A: Architecture> ParameterTensors<A> {
    /// Copies weights to a device as tensors with gradients.
    #[must_use]
    pub fn new(weights: &Weights<A>, device: &Device) -> Self {
        let place = |(shape, values): (Shape, &[f32])| {
            let whole = [shape.rows, shape.columns];
            let tensor = || {
                matrix(values.to_vec(), whole, device)
                    .autodiff()
                    .require_grad()
            };
            (!values.is_empty()).then(tensor)
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
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// Reads the parameters as plain numbers.
    ///
    /// # Errors
    /// Returns an error if the device cannot be read.
    pub fn weights(&self) -> Result<Weights<A>, Error> {
        let read = |tensor: &Option<Tensor<2>>| match tensor {
            Some(tensor) => numbers(tensor.clone()),
            None => Ok(Vec::new()),
        };
        let values: Result<_, DeviceReadError> = self.tensors.iter().map(read).collect();
        let lost = || Error::Device(DeviceReadError("a parameter changed its shape".to_owned()));
        Weights::from_tensors(self.config, values?).ok_or_else(lost)
    }

    /// Returns the gradient of each parameter.
    pub(super) fn gradients(&self, gradients: &Gradients) -> Vec<Option<Tensor<2>>> {
        let of = |tensor: &Option<Tensor<2>>| tensor.as_ref().and_then(|t| t.grad(gradients));
        self.tensors.iter().map(of).collect()
    }

    /// Computes `x W`, with parameter `weight` as `W`.
    #[must_use]
    pub fn product(&self, x: Tensor<2>, weight: usize) -> Tensor<2> {
        x.matmul(self.parameter(weight))
    }

    /// Computes `x W + b`, with parameters `weight` and `bias`.
    #[must_use]
    pub fn linear(&self, x: Tensor<2>, weight: usize, bias: usize) -> Tensor<2> {
        self.product(x, weight) + self.parameter(bias)
    }

    /// Computes `relu(rows W + shared)`, `[batch, rows, hidden]`, from `rows`,
    /// `[batch * rows, inputs]`, and `shared`, `[batch, hidden]`.
    #[must_use]
    pub fn set_layer(&self, rows: Tensor<2>, weight: usize, shared: Tensor<2>) -> Tensor<3> {
        let [batch, hidden] = shared.dims();
        let [all, _] = rows.dims();
        let own = self.product(rows, weight);
        let own = own.reshape([batch, all / batch, hidden]);
        relu(own + shared.reshape([batch, 1, hidden]))
    }

    /// Returns a parameter by its index into the shapes; zeros for an empty shape.
    #[must_use]
    pub fn parameter(&self, index: usize) -> Tensor<2> {
        match &self.tensors[index] {
            Some(tensor) => tensor.clone(),
            None => {
                let shape = self.shapes[index];
                Tensor::zeros([shape.rows, shape.columns], &self.device)
            }
        }
    }
}
