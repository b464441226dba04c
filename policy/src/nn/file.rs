//! The model file: weights as safetensors, with the configuration in its metadata.

use safetensors::tensor::{Dtype, TensorView};
use sentinel_env::json::{Fields, Json};
use serde::{Deserialize, Serialize};

use super::architecture::{Architecture, Shape};
use super::weights::Weights;

/// The key of the file's metadata that holds the [`ModelConfig`] as JSON.
const KEY: &str = "sentinel";

/// Most hidden units: a file that asks for more is refused.
const HIDDEN_MAX: usize = 1024;

/// The configuration that a model file holds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound = "A: Architecture")]
pub struct ModelConfig<A> {
    /// Name of the environment that it acts in.
    pub world: String,
    /// The rules that it was trained under, where they are not the reference's.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rules: String,
    /// Its name.
    pub name: String,
    /// The shape of the network.
    pub net: A,
}

impl<A: Architecture> ModelConfig<A> {
    /// The configuration of a model under the reference's rules.
    #[must_use]
    pub fn new(name: &str, net: A) -> Self {
        Self {
            world: A::WORLD.to_owned(),
            rules: String::new(),
            name: name.to_owned(),
            net,
        }
    }
}

/// Why bytes are not a model that this build can run.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// Not the format, or cut off.
    #[error("not a safetensors file, or cut off")]
    Format,
    /// It cannot be written.
    #[error("cannot be written as safetensors: {0}")]
    Unwritable(String),
    /// The metadata is missing or is not a configuration.
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
    /// Made for other features.
    #[error(
        "its features are version {found}, and this build computes version {wanted}: train it again"
    )]
    Features {
        /// The model's version.
        found: u32,
        /// This build's.
        wanted: u32,
    },
    /// A number of hidden units that is not supported.
    #[error("it has {0} hidden units: 1 to {HIDDEN_MAX} are possible")]
    Hidden(usize),
    /// A parameter is missing or has another form.
    #[error("parameter {name} should be f32 of shape {expected:?}, found {found}")]
    Tensor {
        /// Its name.
        name: &'static str,
        /// Rows and columns.
        expected: [usize; 2],
        /// What was found.
        found: String,
    },
    /// More tensors than the network has.
    #[error("it holds {0} tensors more than a policy has")]
    Surplus(usize),
    /// A parameter is infinite or not a number.
    #[error("parameter {0} holds a number that is not finite")]
    NotFinite(&'static str),
}

/// The weights of a policy with their configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<A> {
    /// Its configuration.
    pub config: ModelConfig<A>,
    /// Its parameters.
    pub weights: Weights<A>,
}

impl<A: Architecture> Model<A> {
    /// Reads a model file.
    ///
    /// # Errors
    /// If the bytes are not a model that this build can run.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let file = File::read(bytes).ok_or(ModelError::Format)?;
        let text = file.header.get("__metadata__").and_then(|all| all.get(KEY));
        let text = text.and_then(Json::as_str);
        let text = text.ok_or_else(|| ModelError::Metadata("there is none".to_owned()))?;
        let metadata = |error: serde_json::Error| ModelError::Metadata(error.to_string());
        // The world first: the network of another one has other fields.
        let all: Json = serde_json::from_str(text).map_err(metadata)?;
        check_world::<A>(all.get("world").and_then(Json::as_str).unwrap_or_default())?;
        let config: ModelConfig<A> = serde_json::from_str(text).map_err(metadata)?;
        config.check()?;
        let shapes = config.net.shapes();
        // One entry is the metadata.
        let tensors = file.header.iter().len() - 1;
        if tensors > shapes.len() {
            return Err(ModelError::Surplus(tensors - shapes.len()));
        }
        let tensors: Result<_, _> = shapes.iter().map(|shape| read(&file, shape)).collect();
        let weights = Weights::from_tensors(config.net, tensors?);
        let weights = weights.ok_or(ModelError::Format)?;
        Ok(Self { config, weights })
    }

    /// Returns the bytes of the model file: the same for the same model.
    ///
    /// # Errors
    /// If the configuration cannot be written as JSON.
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

/// Checks that a model belongs to the network's environment.
fn check_world<A: Architecture>(found: &str) -> Result<(), ModelError> {
    if found == A::WORLD {
        return Ok(());
    }
    Err(ModelError::World {
        found: found.to_owned(),
        wanted: A::WORLD,
    })
}

impl<A: Architecture> ModelConfig<A> {
    /// Checks that this build can run such a model.
    ///
    /// # Errors
    /// If the environment, the feature version or the size does not fit.
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
    header: Fields,
    data: &'a [u8],
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, data) = rest.split_at_checked(length)?;
        // As a text: the page has the code to read JSON from texts, and only from texts.
        let header = serde_json::from_str(str::from_utf8(header).ok()?).ok()?;
        let Json::Object(header) = header else {
            return None;
        };
        let file = Self { header, data };
        // All of the data must be there: a file that was cut off is not read in part.
        let ends = (file.header.iter()).filter_map(|(_, entry)| Some(offsets(entry)?.1));
        (ends.max() == Some(data.len())).then_some(file)
    }

    /// Returns the type, the shape and the bytes of a tensor.
    fn tensor(&self, name: &str) -> Option<(&str, Vec<u64>, &'a [u8])> {
        let entry = self.header.get(name)?;
        let (start, end) = offsets(entry)?;
        let shape: Option<Vec<u64>> = (entry.get("shape")?.as_list()?.iter())
            .map(Json::as_u64)
            .collect();
        Some((
            entry.get("dtype")?.as_str()?,
            shape?,
            self.data.get(start..end)?,
        ))
    }
}

/// Returns where a tensor's data begins and ends.
fn offsets(entry: &Json) -> Option<(usize, usize)> {
    let at = |index: usize| {
        let number = entry.get("data_offsets")?.as_list()?.get(index)?.as_u64()?;
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
