//! A named tensor of a model, and gradients in the order of the model's parameters.

use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};

use super::LmError;

/// A named tensor. Vectors are kept as one row, so that all parameters have one type.
#[derive(Clone, Debug)]
pub struct Parameter {
    name: String,
    shape: Vec<usize>,
    pub(crate) value: Tensor<2>,
}

impl Parameter {
    /// Brings numbers to a device. `shape` has one or two axes and as many places as there are
    /// numbers.
    pub(crate) fn new(name: String, shape: Vec<usize>, values: Vec<f32>, device: &Device) -> Self {
        let value = matrix(values, sides(&shape), device);
        Self { name, shape, value }
    }

    /// The name in a checkpoint.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The shape in a checkpoint: one axis or two.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Whether it is a norm or a bias, which weight decay leaves alone.
    #[must_use]
    pub fn is_vector(&self) -> bool {
        self.shape.len() == 1
    }

    /// Whether it is trained.
    #[must_use]
    pub fn is_trainable(&self) -> bool {
        self.value.is_require_grad()
    }

    /// Starts or stops training it.
    pub(crate) fn train(&mut self, on: bool) {
        let plain = self.value.clone().without_autodiff();
        self.value = if on {
            plain.autodiff().require_grad()
        } else {
            plain
        };
    }

    /// The tensor, with its gradient recorded or not.
    pub(crate) fn get(&self, track: bool) -> Tensor<2> {
        if track {
            self.value.clone()
        } else {
            self.value.clone().without_autodiff()
        }
    }

    /// Replaces the numbers; whether it is trained stays as it was.
    pub(crate) fn set(&mut self, value: Tensor<2>) {
        let trained = self.is_trainable();
        self.value = value;
        self.train(trained);
    }

    /// Its numbers, row by row.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn numbers(&self) -> Result<Vec<f32>, LmError> {
        numbers(self.get(false))
    }
}

/// One gradient per parameter of a model, in their order; absent where nothing is trained.
#[derive(Clone, Debug, Default)]
pub struct Grads {
    pub(crate) tensors: Vec<Option<Tensor<2>>>,
}

impl Grads {
    /// The gradients of these parameters after a backward pass.
    pub(crate) fn collect(parameters: &[&Parameter], gradients: &Gradients) -> Self {
        let of = |parameter: &&Parameter| parameter.value.grad(gradients);
        Self {
            tensors: parameters.iter().map(of).collect(),
        }
    }

    /// Adds another pass's gradients: of a later micro-batch, or of other layers.
    pub fn add(&mut self, other: Self) {
        if self.tensors.len() < other.tensors.len() {
            self.tensors.resize(other.tensors.len(), None);
        }
        for (sum, more) in self.tensors.iter_mut().zip(other.tensors) {
            *sum = match (sum.take(), more) {
                (Some(sum), Some(more)) => Some(sum + more),
                (sum, more) => sum.or(more),
            };
        }
    }

    /// The gradient of the parameter at a place in [`super::Qwen2::parameters`].
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Tensor<2>> {
        self.tensors.get(index)?.as_ref()
    }

    /// The norm of all gradients together.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn norm(&self) -> Result<f64, LmError> {
        let mut squares = 0.0;
        for gradient in self.tensors.iter().flatten() {
            let sum = numbers(gradient.clone().square().sum())?;
            squares += sum.iter().map(|square| f64::from(*square)).sum::<f64>();
        }
        Ok(squares.sqrt())
    }
}

/// The sides of a matrix, or of a vector as one row.
fn sides(shape: &[usize]) -> [usize; 2] {
    match shape {
        [rows, columns] => [*rows, *columns],
        other => [1, other.iter().product()],
    }
}

/// A matrix of numbers, row by row.
pub(crate) fn matrix(values: Vec<f32>, shape: [usize; 2], device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(values, shape), device)
}

/// Places in a tensor, for picking rows.
pub(crate) fn indices(places: impl IntoIterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    // No tensor in memory has more rows than an i64 counts.
    let places = places
        .into_iter()
        .map(|place| i64::try_from(place).unwrap_or(i64::MAX));
    let places: Vec<i64> = places.collect();
    let count = places.len();
    Tensor::from_data(TensorData::new(places, [count]), device)
}

/// A tensor's numbers, row by row.
pub(crate) fn numbers<const D: usize>(tensor: Tensor<D>) -> Result<Vec<f32>, LmError> {
    let read = tensor.try_into_vec_as::<f32>();
    read.map_err(|error| LmError::Device(format!("{error:?}")))
}
