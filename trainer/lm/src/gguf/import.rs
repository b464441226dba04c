//! A model in a GGUF file, and writing it as a folder of Hugging Face.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use sentinel_base::{Error, files};
use serde_json::Value;

use super::header::{Header, StoredTensor};
use super::names::{ROPE_FACTORS, gguf_name};
use super::shape;
use super::source::unusable;
use super::tensor_type::TensorType;
use super::tokenizer::TokenizerFiles;
use crate::companion_files::GENERATION_CONFIG;
use crate::weights::{StoredDtype, TensorSpec, tensor_specs, write_tensors};
use crate::{LmError, ModelConfig, ModelType, Tokenizer};

/// Number of values of a tensor that are converted at a time.
const PIECE: usize = 1 << 20;

/// The origin of a model, as a GGUF file names it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GgufOrigin {
    /// Name of the model.
    pub name: Option<String>,
    /// The organization that made it.
    pub organization: Option<String>,
    /// The license, such as `apache-2.0`.
    pub license: Option<String>,
    /// The formats of its tensors, most numbers first, such as `Q4_1, Q8_0, F32`.
    pub quantization: String,
}

/// A model in a GGUF file, of which the tensors are not read yet.
#[derive(Debug)]
pub struct GgufModel {
    path: PathBuf,
    config: ModelConfig,
    origin: GgufOrigin,
    tokenizer: TokenizerFiles,
    specs: Vec<TensorSpec>,
    /// Tensors by their names in a checkpoint.
    tensors: BTreeMap<String, StoredTensor>,
}

impl GgufModel {
    /// Reads the header of a file, and checks all of it: only reading numbers is left.
    ///
    /// # Errors
    /// If the file cannot be read, is damaged, or holds what cannot be imported.
    pub fn open(path: &Path) -> Result<Self, LmError> {
        let mut header = Header::read(path)?;
        let config = shape::config(&header)?;
        let quantization = quantization(&header);
        header.tensors.remove(ROPE_FACTORS);
        let specs = tensor_specs(&config);
        let tensors = match_tensors(path, &specs, header.tensors)?;
        let metadata = &header.metadata;
        let text = |key: &str| Ok::<_, LmError>(metadata.text(key)?.map(str::to_owned));
        let origin = GgufOrigin {
            name: text("general.name")?,
            organization: text("general.organization")?,
            license: text("general.license")?,
            quantization,
        };
        let tokenizer = TokenizerFiles::new(metadata, &config)?;
        Ok(Self {
            path: path.to_owned(),
            config,
            origin,
            tokenizer,
            specs,
            tensors,
        })
    }

    /// Returns the configuration of the model.
    #[must_use]
    pub const fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Returns the origin of the model.
    #[must_use]
    pub const fn origin(&self) -> &GgufOrigin {
        &self.origin
    }

    /// Returns the number of scalars in the model.
    #[must_use]
    pub fn parameters(&self) -> usize {
        self.tensors.values().map(StoredTensor::len).sum()
    }

    /// Writes configuration, tokenizer and weights into an empty folder, and loads the tokenizer again.
    ///
    /// # Errors
    /// If a number is not finite, or a file cannot be read or written.
    pub fn write(&self, folder: &Path, dtype: StoredDtype) -> Result<Tokenizer, LmError> {
        let mut config = self.config.to_json();
        if let Value::Object(keys) = &mut config {
            keys.extend(self.tokenizer.model_keys.clone());
            for key in ["dtype", "torch_dtype"] {
                keys.insert(key.to_owned(), dtype.name().into());
            }
        }
        let write =
            |name: &str, text: &str| files::write_atomic(&folder.join(name), text.as_bytes());
        write("config.json", &format!("{config:#}\n"))?;
        if ModelConfig::load(folder)?.to_json() != self.config.to_json() {
            let reason = "its configuration is read differently than it is written";
            return Err(unusable(&self.path, reason.to_owned()));
        }
        write(
            GENERATION_CONFIG,
            &format!("{:#}\n", self.tokenizer.generation),
        )?;
        write("tokenizer.json", &self.tokenizer.tokenizer)?;
        write(
            "tokenizer_config.json",
            &format!("{:#}\n", self.tokenizer.config),
        )?;
        if let Some(template) = &self.tokenizer.template {
            write("chat_template.jinja", template)?;
        }
        let tokenizer = Tokenizer::load(folder)?;
        tokenizer.check_fits(&self.config)?;
        let weights = folder.join("model.safetensors");
        write_tensors(&weights, &self.specs, dtype, |spec, write| {
            self.convert(spec, dtype, write)
        })?;
        Ok(tokenizer)
    }

    /// Passes the numbers of a tensor in pieces of whole rows.
    fn convert(
        &self,
        spec: &TensorSpec,
        dtype: StoredDtype,
        write: &mut dyn FnMut(&[f32]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let Some(tensor) = self.tensors.get(&spec.name) else {
            return Ok(());
        };
        let bytes = tensor.read_bytes(&self.path).map_err(Error::other)?;
        let columns = tensor.shape.last().copied().unwrap_or(1);
        let (numbers, width) = tensor.kind.block();
        let row_bytes = columns / numbers * width;
        let rows = tensor.len() / columns.max(1);
        let half = self.permuted_half(&spec.name);
        let mut piece = Vec::new();
        for row in 0..rows {
            let from = half.map_or(row, |half| source_row(row, half));
            let start = from * row_bytes;
            let row_data = bytes.get(start..start + row_bytes).unwrap_or_default();
            tensor.kind.dequantize(row_data, &mut piece);
            if piece.len() < PIECE && row + 1 < rows {
                continue;
            }
            if !piece.iter().all(|number| dtype.is_finite(*number)) {
                let reason = format!(
                    "{} holds a number that is not finite in {}",
                    spec.name,
                    dtype.name()
                );
                return Err(Error::other(unusable(&self.path, reason)));
            }
            write(&piece)?;
            piece.clear();
        }
        Ok(())
    }

    /// Returns half the width of a head if the rows of a tensor are in the order of Llama's own files, in which
    /// the two numbers that are rotated together are neighbors.
    fn permuted_half(&self, name: &str) -> Option<usize> {
        let is_rotated = name.contains(".q_proj.") || name.contains(".k_proj.");
        let half = self.config.head_dim() / 2;
        (is_rotated && self.config.model_type == ModelType::Llama).then_some(half)
    }
}

/// Returns the row in the file of a row in the checkpoint, in which the first halves of all pairs of a head come
/// before the second ones.
const fn source_row(row: usize, half: usize) -> usize {
    let (head, within) = (row / (2 * half), row % (2 * half));
    head * 2 * half + within % half * 2 + within / half
}

/// Returns the names of the formats in a file, most numbers first.
fn quantization(header: &Header) -> String {
    let mut counts: BTreeMap<TensorType, usize> = BTreeMap::new();
    for tensor in header.tensors.values() {
        let count = counts.entry(tensor.kind).or_default();
        *count = count.saturating_add(tensor.len());
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let names = counts.into_iter().map(|(kind, _)| kind.name());
    names.collect::<Vec<_>>().join(", ")
}

/// Returns the tensors under their names in a checkpoint: exactly those of the model, in its shapes.
fn match_tensors(
    path: &Path,
    specs: &[TensorSpec],
    mut found: BTreeMap<String, StoredTensor>,
) -> Result<BTreeMap<String, StoredTensor>, LmError> {
    let (mut tensors, mut absent) = (BTreeMap::new(), BTreeSet::new());
    for spec in specs {
        let name = gguf_name(&spec.name).unwrap_or_else(|| spec.name.clone());
        let Some(tensor) = found.remove(&name) else {
            absent.insert(name);
            continue;
        };
        if tensor.shape != spec.shape {
            return Err(LmError::Shape {
                path: path.to_owned(),
                name,
                found: tensor.shape,
                expected: spec.shape.clone(),
                asked_by: "the metadata",
            });
        }
        tensors.insert(spec.name.clone(), tensor);
    }
    let wrong = |problem, names: Vec<String>| {
        Err(LmError::Tensors {
            path: path.to_owned(),
            problem,
            names,
            remedy: "only models of the families llama, qwen2 and qwen3 can be imported",
        })
    };
    if !absent.is_empty() {
        return wrong("tensors are missing", absent.into_iter().collect());
    }
    if !found.is_empty() {
        return wrong(
            "tensors do not belong to the model",
            found.into_keys().collect(),
        );
    }
    Ok(tensors)
}
