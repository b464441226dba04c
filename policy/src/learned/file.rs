//! Weights as a safetensors file that says what it is.

use safetensors::tensor::{Dtype, SafeTensors, TensorView};

use super::config::{FEATURE_VERSION, HIDDEN_MAX, ModelConfig};
use super::layout::{Shape, at, shapes};
use super::weights::Weights;
use crate::replay::World;

/// The key of the file's metadata that holds the [`ModelConfig`] as JSON.
const KEY: &str = "sentinel";

/// Why bytes are no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not the format, or cut off.
    #[error("not a safetensors file, or cut off: {0}")]
    Format(String),
    /// Another program's tensors.
    #[error("its metadata has no valid `{KEY}` entry ({0}): it was not written by sentinel train")]
    Metadata(String),
    /// Made for another world.
    #[error("it was trained for world {0}, and this is trust: train one with `sentinel train`")]
    World(String),
    /// Its inputs mean something else.
    #[error(
        "its features are version {0}, and this build computes version {FEATURE_VERSION}: train it again"
    )]
    Features(u32),
    /// A network that nobody would train here.
    #[error("it has {0} hidden units: 1 to {HIDDEN_MAX} are possible")]
    Hidden(usize),
    /// A parameter is missing or has another form.
    #[error("parameter {name} should be f32 of shape {expected:?}, found {found}")]
    Tensor {
        /// Its name.
        name: &'static str,
        /// Rows and columns.
        expected: [usize; 2],
        /// What is there.
        found: String,
    },
    /// A parameter that no network has.
    #[error("it holds {0} tensors more than a policy has")]
    Surplus(usize),
    /// A number that cannot be computed with.
    #[error("parameter {0} holds a number that is not finite")]
    NotFinite(&'static str),
}

/// A policy's weights with what they are for.
#[derive(Clone, Debug, PartialEq)]
pub struct Model {
    /// What it is.
    pub config: ModelConfig,
    /// Its numbers.
    pub weights: Weights,
}

impl Model {
    /// Reads the file's bytes.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let format = |error: safetensors::SafeTensorError| ModelError::Format(error.to_string());
        let (_, header) = SafeTensors::read_metadata(bytes).map_err(format)?;
        let said = header.metadata().as_ref().and_then(|all| all.get(KEY));
        let said = said.ok_or_else(|| ModelError::Metadata("there is none".to_owned()))?;
        let config: ModelConfig =
            serde_json::from_str(said).map_err(|e| ModelError::Metadata(e.to_string()))?;
        config.check()?;
        let file = SafeTensors::deserialize(bytes).map_err(format)?;
        let shapes = shapes(&config.net);
        if file.len() > at::COUNT {
            return Err(ModelError::Surplus(file.len() - at::COUNT));
        }
        let mut tensors: [Vec<f32>; at::COUNT] = Default::default();
        for (shape, values) in shapes.iter().zip(&mut tensors) {
            *values = read(&file, shape)?;
        }
        let weights = Weights::from_tensors(config.net, tensors);
        let weights = weights.ok_or_else(|| ModelError::Format("lengths differ".to_owned()))?;
        Ok(Self { config, weights })
    }

    /// The file's bytes: the same for the same model.
    ///
    /// # Errors
    /// None that a model can cause.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let format = |error: &dyn std::fmt::Display| ModelError::Format(error.to_string());
        let text = serde_json::to_string(&self.config).map_err(|e| format(&e))?;
        let mut views = Vec::with_capacity(at::COUNT);
        let bytes: Vec<(Shape, Vec<u8>)> = (self.weights.iter())
            .map(|(shape, values)| (shape, values.iter().flat_map(|v| v.to_le_bytes()).collect()))
            .collect();
        for (shape, bytes) in &bytes {
            let size = vec![shape.rows, shape.columns];
            let view = TensorView::new(Dtype::F32, size, bytes).map_err(|e| format(&e))?;
            views.push((shape.name, view));
        }
        let metadata = [(KEY.to_owned(), text)].into_iter().collect();
        safetensors::serialize(views, Some(metadata)).map_err(|e| format(&e))
    }
}

impl ModelConfig {
    /// Whether this build can run such a model.
    ///
    /// # Errors
    /// Names what does not fit.
    pub fn check(&self) -> Result<(), ModelError> {
        if World::parse(&self.world).is_none() {
            return Err(ModelError::World(self.world.clone()));
        }
        if self.net.feature_version != FEATURE_VERSION {
            return Err(ModelError::Features(self.net.feature_version));
        }
        if !(1..=HIDDEN_MAX).contains(&self.net.hidden) {
            return Err(ModelError::Hidden(self.net.hidden));
        }
        Ok(())
    }
}

fn read(file: &SafeTensors<'_>, shape: &Shape) -> Result<Vec<f32>, ModelError> {
    let expected = [shape.rows, shape.columns];
    let wrong = |found| ModelError::Tensor {
        name: shape.name,
        expected,
        found,
    };
    let view = file.tensor(shape.name);
    let view = view.map_err(|_| wrong("no such tensor".to_owned()))?;
    if view.dtype() != Dtype::F32 || view.shape() != expected {
        return Err(wrong(format!(
            "{:?} of shape {:?}",
            view.dtype(),
            view.shape()
        )));
    }
    let (numbers, _) = view.data().as_chunks::<4>();
    let values: Vec<f32> = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
    if values.iter().any(|value| !value.is_finite()) {
        return Err(ModelError::NotFinite(shape.name));
    }
    Ok(values)
}
