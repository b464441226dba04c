//! The model file: weights in safetensors format, with the configuration in its metadata.

use safetensors::tensor::{Dtype, TensorView};
use sentinel_env::strict_json::{Json, JsonFields};
use serde::{Deserialize, Serialize};

use super::architecture::{Architecture, Shape};
use super::weights::Weights;
use crate::foreign_format::ForeignFormat;

/// The name of a compact policy's file in its folder.
pub const MODEL_FILE: &str = "model.safetensors";

/// Metadata key under which the file stores the [`ModelConfig`] as JSON.
const KEY: &str = "sentinel";

/// Largest number of hidden units that a model file may ask for.
const HIDDEN_MAX: usize = 1024;

/// The configuration that a model file stores.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound = "A: Architecture")]
pub struct ModelConfig<A> {
    /// Name of the environment that the model acts in.
    pub world: String,
    /// Name of the rules that the model was trained under; empty for the reference rules.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rules: String,
    /// Name of the model.
    pub name: String,
    /// Hyperparameters of the network.
    pub net: A,
}

impl<A: Architecture> ModelConfig<A> {
    /// Creates the configuration of a model trained under the reference rules.
    #[must_use]
    pub fn new(name: &str, net: A) -> Self {
        Self {
            world: A::WORLD.to_owned(),
            rules: String::new(),
            name: name.to_owned(),
            net,
        }
    }

    /// Returns the name of the rules that the model was trained under.
    #[must_use]
    pub fn rules_name(&self) -> &str {
        match self.rules.as_str() {
            "" => "reference",
            named => named,
        }
    }
}

/// An error for bytes that are not a model that this build can run, or for a model that cannot be
/// written.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    /// The file is truncated or is not a safetensors file.
    #[error("not a safetensors file, or cut off: save or download it again")]
    Format,
    /// The file stands in the place of the model: a git-lfs pointer, or a web page.
    #[error("it is {0}")]
    Placeholder(ForeignFormat),
    /// The model cannot be written as a safetensors file.
    #[error("cannot be written as safetensors: {0}")]
    Unwritable(String),
    /// The metadata is missing or is not a valid configuration.
    #[error(
        "the metadata has no valid `{KEY}` entry ({0}): `sentinel train` did not write the file"
    )]
    Metadata(String),
    /// The model was trained for another world.
    #[error(
        "it was trained for world {found}, and this is {wanted}: train one with `sentinel train`"
    )]
    World {
        /// World that the model was trained for.
        found: String,
        /// World that this network acts in.
        wanted: &'static str,
    },
    /// The model was trained on another version of the features.
    #[error(
        "the model uses feature version {found}, but this build computes {wanted}: train it again"
    )]
    Features {
        /// Feature version of the model.
        found: u32,
        /// Feature version that this build computes.
        wanted: u32,
    },
    /// The number of hidden units is not supported.
    #[error("the model has {0} hidden units: 1 to {HIDDEN_MAX} are supported")]
    Hidden(usize),
    /// A parameter is missing, or has another type or shape.
    #[error("parameter {name} should be f32 of shape {expected:?}, found {found}")]
    Tensor {
        /// Name of the parameter.
        name: &'static str,
        /// Expected rows and columns.
        expected: [usize; 2],
        /// Type and shape that were found.
        found: String,
    },
    /// The file has this many tensors more than the network.
    #[error("the file holds {0} more tensors than the network")]
    Surplus(usize),
    /// A parameter holds an infinite value or NaN.
    #[error("parameter {0} holds a value that is not finite")]
    NotFinite(&'static str),
}

/// The weights of a policy together with their configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct Model<A> {
    /// Configuration stored in the metadata.
    pub config: ModelConfig<A>,
    /// Parameter values of the network.
    pub weights: Weights<A>,
}

impl<A: Architecture> Model<A> {
    /// Reads a model from the bytes of a model file.
    ///
    /// # Errors
    /// If the bytes are not a model that this build can run.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ModelError> {
        let file = File::read(bytes).ok_or_else(|| {
            let placeholder = ForeignFormat::placeholder(bytes);
            placeholder.map_or(ModelError::Format, ModelError::Placeholder)
        })?;
        let text = file.header.get("__metadata__").and_then(|all| all.get(KEY));
        let text = text.and_then(Json::as_str);
        let text = text.ok_or_else(|| ModelError::Metadata("it is missing".to_owned()))?;
        let metadata = |error: serde_json::Error| ModelError::Metadata(error.to_string());
        // Check the world first, because the configuration of another world's network has other
        // fields.
        let all: Json = serde_json::from_str(text).map_err(metadata)?;
        check_world::<A>(all.get("world").and_then(Json::as_str).unwrap_or_default())?;
        let config: ModelConfig<A> = serde_json::from_str(text).map_err(metadata)?;
        config.check()?;
        let shapes = config.net.shapes();
        // One header entry is the metadata.
        let tensors = file.header.iter().len() - 1;
        if tensors > shapes.len() {
            return Err(ModelError::Surplus(tensors - shapes.len()));
        }
        let tensors: Result<_, _> = shapes.iter().map(|shape| read(&file, shape)).collect();
        let weights = Weights::from_tensors(config.net, tensors?);
        let weights = weights.ok_or(ModelError::Format)?;
        Ok(Self { config, weights })
    }

    /// Returns the bytes of the model file. The same model always gives the same bytes.
    ///
    /// # Errors
    /// If the configuration cannot be written as JSON, or the tensors as safetensors.
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

/// Checks that a model belongs to the environment of the network.
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
    /// Checks that this build can run a model of this configuration.
    ///
    /// # Errors
    /// If the environment, the feature version or the number of hidden units does not fit.
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

/// A parsed safetensors file: 8 bytes with the length of the header, the header as JSON, and the
/// data that the header's offsets refer to.
///
/// Parsed here rather than by the safetensors crate, which is used for writing only: its parser
/// would add 8 kB to the page's initial download.
struct File<'a> {
    header: JsonFields,
    data: &'a [u8],
}

impl<'a> File<'a> {
    fn read(bytes: &'a [u8]) -> Option<Self> {
        let (length, rest) = bytes.split_first_chunk::<8>()?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
        let (header, data) = rest.split_at_checked(length)?;
        // Parse from a string: the page already contains the JSON parser for strings, and only that
        // one.
        let header = serde_json::from_str(str::from_utf8(header).ok()?).ok()?;
        let Json::Object(header) = header else {
            return None;
        };
        let file = Self { header, data };
        // The data must end where the last tensor ends, so that a truncated file is refused.
        let ends = (file.header.iter()).filter_map(|(_, entry)| Some(offsets(entry)?.1));
        (ends.max() == Some(data.len())).then_some(file)
    }

    /// Returns the type, the shape and the bytes of a tensor.
    fn tensor(&self, name: &str) -> Option<(&str, Vec<u64>, &'a [u8])> {
        let entry = self.header.get(name)?;
        let (start, end) = offsets(entry)?;
        let shape: Option<Vec<u64>> = (entry.get("shape")?.as_array()?.iter())
            .map(Json::as_u64)
            .collect();
        Some((
            entry.get("dtype")?.as_str()?,
            shape?,
            self.data.get(start..end)?,
        ))
    }
}

/// Returns the byte range of a tensor in the data, as start and end.
fn offsets(entry: &Json) -> Option<(usize, usize)> {
    let at = |index: usize| {
        let number = entry
            .get("data_offsets")?
            .as_array()?
            .get(index)?
            .as_u64()?;
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
