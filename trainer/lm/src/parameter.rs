//! Named tensors of a model, and gradients in the order of the model's parameters.

use burn::tensor::{Device, Gradients, Int, Tensor, TensorData};
use sentinel_tensor::{matrix, numbers};

use super::LmError;
use super::model::cube;

/// A named tensor of a model. Vectors are stored as a single row, so that all parameters have the
/// same type.
#[derive(Clone, Debug)]
pub struct Parameter {
    name: String,
    shape: Vec<usize>,
    pub(crate) value: Tensor<2>,
}

impl Parameter {
    /// Creates a parameter on a device. `shape` has one or two axes and as many elements as
    /// `values`.
    pub(crate) fn new(name: String, shape: Vec<usize>, values: Vec<f32>, device: &Device) -> Self {
        let value = matrix(values, sides(&shape), device);
        Self { name, shape, value }
    }

    /// Returns the name in a checkpoint.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the shape in a checkpoint, with one or two axes.
    #[must_use]
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns `true` for a norm or a bias, to which weight decay is not applied.
    #[must_use]
    pub fn is_vector(&self) -> bool {
        self.shape.len() == 1
    }

    /// Returns `true` if the parameter is trained.
    #[must_use]
    pub fn is_trainable(&self) -> bool {
        self.value.is_require_grad()
    }

    /// Starts or stops training the parameter.
    pub(crate) fn set_trainable(&mut self, on: bool) {
        let plain = self.value.clone().without_autodiff();
        self.value = if on {
            plain.autodiff().require_grad()
        } else {
            plain
        };
    }

    /// Returns the tensor, with gradients recorded if `track`.
    pub fn get(&self, track: bool) -> Tensor<2> {
        if track {
            self.value.clone()
        } else {
            self.value.clone().without_autodiff()
        }
    }

    /// Replaces the values; the parameter stays trained or frozen as before.
    pub fn set(&mut self, value: Tensor<2>) {
        let trained = self.is_trainable();
        self.value = value;
        self.set_trainable(trained);
    }

    /// Returns a copy with another name.
    pub(crate) fn renamed(&self, name: &str) -> Self {
        Self {
            name: name.to_owned(),
            ..self.clone()
        }
    }

    /// Returns the values in row-major order.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn values(&self) -> Result<Vec<f32>, LmError> {
        Ok(numbers(self.get(false))?)
    }
}

/// The gradients of a model: one entry per parameter, in the same order, `None` for frozen
/// parameters.
#[derive(Clone, Debug, Default)]
pub struct Grads {
    pub(crate) tensors: Vec<Option<Tensor<2>>>,
}

impl Grads {
    /// Creates gradients of these values, one per parameter.
    #[must_use]
    pub const fn new(tensors: Vec<Option<Tensor<2>>>) -> Self {
        Self { tensors }
    }

    /// Collects the gradients of `parameters` after a backward pass.
    pub(crate) fn collect(parameters: &[&Parameter], gradients: &Gradients) -> Self {
        let of = |parameter: &&Parameter| parameter.value.grad(gradients);
        Self {
            tensors: parameters.iter().map(of).collect(),
        }
    }

    /// Adds the gradients of another pass, such as that of another micro-batch or of other layers.
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

    /// Returns the gradient of the parameter at `index` in [`super::CausalLm::parameters`].
    #[must_use]
    pub fn get(&self, index: usize) -> Option<&Tensor<2>> {
        self.tensors.get(index)?.as_ref()
    }

    /// Returns the global L2 norm of all gradients.
    ///
    /// # Errors
    /// If the device cannot be read.
    pub fn norm(&self) -> Result<f64, LmError> {
        let tensors = self.tensors.iter().flatten();
        if tensors.clone().next().is_none() {
            return Ok(0.0);
        }
        let squares = |gradient: &Tensor<2>| gradient.clone().square().sum();
        // One read for all, so that an accelerator is waited for once.
        let sums = cube::sums_of_squares(tensors.clone())
            .unwrap_or_else(|| Tensor::cat(tensors.map(squares).collect(), 0));
        let sums = numbers(sums)?;
        let squares: f64 = sums.iter().map(|square| f64::from(*square)).sum();
        Ok(squares.sqrt())
    }
}

/// Returns the two-dimensional shape of a parameter; a vector becomes one row.
fn sides(shape: &[usize]) -> [usize; 2] {
    match shape {
        [rows, columns] => [*rows, *columns],
        other => [1, other.iter().product()],
    }
}

/// Creates an index tensor for selecting rows.
pub(crate) fn indices(places: impl IntoIterator<Item = usize>, device: &Device) -> Tensor<1, Int> {
    // No tensor in memory has more rows than an i64 can count.
    let places = places
        .into_iter()
        .map(|place| i64::try_from(place).unwrap_or(i64::MAX));
    let places: Vec<i64> = places.collect();
    let count = places.len();
    Tensor::from_data(TensorData::new(places, [count]), device)
}
