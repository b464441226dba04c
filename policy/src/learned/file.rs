//! Weights as a safetensors file that says what it is.

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Map, Value};

use super::architecture::Architecture;
use super::config::{HIDDEN_MAX, ModelConfig, NetConfig};
use super::layout::Shape;
use super::weights::Weights;

/// The key of the file's metadata that holds the [`ModelConfig`] as JSON.
const KEY: &str = "sentinel";

/// Why bytes are no model.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not the format, or cut off.
    #[error("not a safetensors file, or cut off")]
    Format,
    /// It cannot be written.
    #[error("cannot be written as safetensors: {0}")]
    Unwritable(String),
    /// Another program's tensors.
    #[error("its metadata has no valid `{KEY}` entry ({0}): it was not written by sentinel train")]
    Metadata(String),
    /// Made for another world.
    #[error(
        "it was trained for world {found}, and this is {wanted}: train one with `sentinel train`"
    )]
    World {
        /// The model's world.
        found: String,
        /// The one that is played.
        wanted: &'static str,
    },
    /// Its inputs mean something else.
    #[error(
        "its features are version {found}, and this build computes version {wanted}: train it again"
    )]
    Features {
        /// The model's version.
        found: u32,
        /// This build's.
        wanted: u32,
    },
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
pub struct Model<A = NetConfig> {
    /// What it is.
    pub config: ModelConfig<A>,
    /// Its numbers.
    pub weights: Weights<A>,
}

impl<A: Architecture> Model<A> {
    /// Reads the file's bytes.
    ///
    /// # Errors
    /// Says what is wrong with them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let file = File::read(bytes).ok_or(ModelError::Format)?;
        let said = file.header.get("__metadata__").and_then(|all| all.get(KEY));
        let said = said.and_then(Value::as_str);
        let said = said.ok_or_else(|| ModelError::Metadata("there is none".to_owned()))?;
        let metadata = |error: serde_json::Error| ModelError::Metadata(error.to_string());
        // The world first: the network of another one has other fields.
        let all: Value = serde_json::from_str(said).map_err(metadata)?;
        check_world::<A>(all.get("world").and_then(Value::as_str).unwrap_or_default())?;
        let config: ModelConfig<A> = serde_json::from_str(said).map_err(metadata)?;
        config.check()?;
        let shapes = config.net.shapes();
        // One entry is the metadata.
        let tensors = file.header.len() - 1;
        if tensors > shapes.len() {
            return Err(ModelError::Surplus(tensors - shapes.len()));
        }
        let tensors: Result<_, _> = shapes.iter().map(|shape| read(&file, shape)).collect();
        let weights = Weights::from_tensors(config.net, tensors?);
        let weights = weights.ok_or(ModelError::Format)?;
        Ok(Self { config, weights })
    }

    /// The file's bytes: the same for the same model.
    ///
    /// # Errors
    /// None that a model can cause.
    pub fn to_bytes(&self) -> Result<Vec<u8>, ModelError> {
        let format = |error: &dyn std::fmt::Display| ModelError::Unwritable(error.to_string());
        let text = serde_json::to_string(&self.config).map_err(|e| format(&e))?;
        let mut views = Vec::new();
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

/// Whether a model of that world plays in the network's.
fn check_world<A: Architecture>(found: &str) -> Result<(), ModelError> {
    if found == A::WORLD.name() {
        return Ok(());
    }
    Err(ModelError::World {
        found: found.to_owned(),
        wanted: A::WORLD.name(),
    })
}

impl<A: Architecture> ModelConfig<A> {
    /// Whether this build can run such a model.
    ///
    /// # Errors
    /// Names what does not fit.
    pub fn check(&self) -> Result<(), ModelError> {
        check_world::<A>(&self.world)?;
        let (found, wanted) = (self.net.feature_version(), A::FEATURE_VERSION);
        if found != wanted {
            return Err(ModelError::Features { found, wanted });
        }
        if !(1..=HIDDEN_MAX).contains(&self.net.hidden()) {
            return Err(ModelError::Hidden(self.net.hidden()));
        }
        Ok(())
    }
}

/// A safetensors file that was opened: the length of the header as 8 bytes, the header as JSON, and
/// the data that its offsets point into.
///
/// Read here and not by the library, which writes: in the page it would be 8 kB of the first load.
struct File<'a> {
    header: Map<String, Value>,
    data: &'a [u8],
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, data) = rest.split_at_checked(length)?;
        let header: Map<String, Value> = serde_json::from_slice(header).ok()?;
        let file = Self { header, data };
        // All of the data must be there: a file that was cut off is not read in part.
        let ends = file
            .header
            .values()
            .filter_map(|entry| offsets(entry).map(|(_, end)| end));
        (ends.max() == Some(data.len())).then_some(file)
    }

    /// The type, the shape and the bytes of a tensor.
    fn tensor(&self, name: &str) -> Option<(&str, Vec<u64>, &'a [u8])> {
        let entry = self.header.get(name)?;
        let (start, end) = offsets(entry)?;
        let shape: Option<Vec<u64>> = (entry.get("shape")?.as_array()?.iter())
            .map(Value::as_u64)
            .collect();
        Some((
            entry.get("dtype")?.as_str()?,
            shape?,
            self.data.get(start..end)?,
        ))
    }
}

/// Where a tensor's data begins and ends.
fn offsets(entry: &Value) -> Option<(usize, usize)> {
    let at = |index: usize| {
        let number = entry.get("data_offsets")?.get(index)?.as_u64()?;
        usize::try_from(number).ok()
    };
    Some((at(0)?, at(1)?))
}

fn read(file: &File<'_>, shape: &Shape) -> Result<Vec<f32>, ModelError> {
    let expected = [shape.rows, shape.columns];
    let wrong = |found| ModelError::Tensor {
        name: shape.name,
        expected,
        found,
    };
    let found = file.tensor(shape.name);
    let (dtype, size, bytes) = found.ok_or_else(|| wrong("no such tensor".to_owned()))?;
    let fits = size.iter().eq(expected.map(|n| n as u64).iter());
    if dtype != "F32" || !fits || bytes.len() != 4 * shape.rows * shape.columns {
        return Err(wrong(format!("{dtype} of shape {size:?}")));
    }
    let (numbers, _) = bytes.as_chunks::<4>();
    let values: Vec<f32> = numbers.iter().map(|b| f32::from_le_bytes(*b)).collect();
    if values.iter().any(|value| !value.is_finite()) {
        return Err(ModelError::NotFinite(shape.name));
    }
    Ok(values)
}
