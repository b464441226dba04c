//! A policy's network as tensors: the same parameters as [`Weights`], with gradients. What is
//! computed with them is the world's, see [`super::learn`].

use burn::tensor::{Device, Gradients, Tensor, TensorData};
use sentinel_policy::learned::layout::Shape;
use sentinel_policy::learned::{Architecture, NetConfig, Weights};

use super::TrainError;

/// Parameters on a device, in the order of [`Architecture::shapes`].
#[derive(Clone, Debug)]
pub struct Net<A = NetConfig> {
    config: A,
    device: Device,
    shapes: Vec<Shape>,
    /// Absent where a shape has no number at all.
    pub(super) tensors: Vec<Option<Tensor<2>>>,
}

/// What the network says to a batch.
#[derive(Clone, Debug)]
pub struct Outputs {
    /// `[batch, columns]`: logits of the actions.
    pub actions: Tensor<2>,
    /// `[batch * slots, behaviours]`: logits of who is who.
    pub beliefs: Tensor<2>,
}

/// A tensor of numbers, row by row.
pub(super) fn tensor(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// A tensor's numbers, row by row.
pub(super) fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, TrainError> {
    let read = tensor.try_into_vec_as::<f32>();
    read.map_err(|error| TrainError::Device(format!("{error:?}")))
}

impl<A: Architecture> Net<A> {
    /// Brings weights to a device, with gradients when the device keeps them.
    #[must_use]
    pub fn new(weights: &Weights<A>, device: &Device) -> Self {
        let place = |(shape, values): (Shape, &[f32])| {
            let whole = [shape.rows, shape.columns];
            let tensor = || {
                tensor(values.to_vec(), whole, device)
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

    /// The shape of the network.
    #[must_use]
    pub const fn config(&self) -> &A {
        &self.config
    }

    /// Where the parameters are.
    #[must_use]
    pub const fn device(&self) -> &Device {
        &self.device
    }

    /// The parameters as plain numbers.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn weights(&self) -> Result<Weights<A>, TrainError> {
        let read = |tensor: &Option<Tensor<2>>| match tensor {
            Some(tensor) => numbers(tensor.clone()),
            None => Ok(Vec::new()),
        };
        let values: Result<_, _> = self.tensors.iter().map(read).collect();
        let lost = || TrainError::Device("a parameter changed its shape".to_owned());
        Weights::from_tensors(self.config, values?).ok_or_else(lost)
    }

    /// The gradient of each parameter.
    pub(super) fn gradients(&self, gradients: &Gradients) -> Vec<Option<Tensor<2>>> {
        let of = |tensor: &Option<Tensor<2>>| tensor.as_ref().and_then(|t| t.grad(gradients));
        self.tensors.iter().map(of).collect()
    }

    /// `x` times a parameter.
    pub(super) fn product(&self, x: Tensor<2>, index: usize) -> Tensor<2> {
        x.matmul(self.get(index))
    }

    /// A parameter.
    pub(super) fn get(&self, index: usize) -> Tensor<2> {
        match &self.tensors[index] {
            Some(tensor) => tensor.clone(),
            None => {
                let shape = self.shapes[index];
                Tensor::zeros([shape.rows, shape.columns], &self.device)
            }
        }
    }
}
