//! Reading safetensors, as one file or as shards with an index; f32, bf16 and f16 are converted to
//! f32.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use half::{bf16, f16};
use safetensors::{Dtype, SafeTensors, tensor::TensorView};
use serde_json::Value;

use crate::lm::LmError;
use crate::lm::config::Fields;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// A tensor read from a file.
#[derive(Clone, Debug)]
pub(crate) struct Loaded {
    pub(crate) path: PathBuf,
    pub(crate) shape: Vec<usize>,
    pub(crate) values: Vec<f32>,
}

/// Tensors of a checkpoint by name.
pub(crate) type Tensors = BTreeMap<String, Loaded>;

/// Reads all tensors of a checkpoint's folder.
pub(crate) fn read_checkpoint(folder: &Path) -> Result<Tensors, LmError> {
    let (single, index) = (folder.join(SINGLE), folder.join(INDEX));
    if single.is_file() {
        return read_file(&single);
    }
    if index.is_file() {
        return read_shards(folder, &index);
    }
    let older = folder.join("pytorch_model.bin").is_file();
    Err(LmError::Format {
        path: folder.to_owned(),
        kind: "a checkpoint",
        reason: if older {
            format!("it holds pytorch_model.bin but no {SINGLE}: save it as safetensors")
        } else {
            format!("it holds neither {SINGLE} nor {INDEX}")
        },
    })
}

/// Reads the shards that an index lists. Each must hold exactly the tensors that the index assigns
/// to it.
fn read_shards(folder: &Path, index: &Path) -> Result<Tensors, LmError> {
    let fields = Fields::load(index, "an index of shards")?;
    let wrong = |problem: &str| {
        let remedy = "download the checkpoint again";
        fields.invalid("weight_map", problem, remedy)
    };
    let map = fields
        .object("weight_map")?
        .ok_or_else(|| wrong("is missing"))?;
    let mut shards: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (name, file) in map.values() {
        let Value::String(file) = file else {
            return Err(wrong(&format!("gives {name} the file {file}")));
        };
        // A file name from the index must not point outside of the folder.
        if Path::new(file)
            .file_name()
            .is_none_or(|plain| plain != file.as_str())
        {
            return Err(wrong(&format!(
                "gives {name} the file {file:?}, which is not a plain name"
            )));
        }
        shards.entry(file).or_default().insert(name);
    }
    let mut all = Tensors::new();
    for (file, names) in shards {
        let path = folder.join(file);
        let shard = read_file(&path)?;
        let remedy = "download the checkpoint again";
        let absent = names.iter().filter(|name| !shard.contains_key(**name));
        let absent: Vec<String> = absent.map(|name| (*name).to_owned()).collect();
        let unlisted = shard.keys().filter(|name| !names.contains(name.as_str()));
        let unlisted: Vec<String> = unlisted.cloned().collect();
        let problem = "the index expects tensors that are not there";
        for (problem, names) in [
            (problem, absent),
            ("tensors are not in the index", unlisted),
        ] {
            if !names.is_empty() {
                return Err(LmError::Tensors {
                    path,
                    problem,
                    names,
                    remedy,
                });
            }
        }
        all.extend(shard);
    }
    Ok(all)
}

/// Reads all tensors of one file.
pub(crate) fn read_file(path: &Path) -> Result<Tensors, LmError> {
    let bytes = std::fs::read(path).map_err(|error| LmError::read(path, error))?;
    let format = |reason: String| LmError::Format {
        path: path.to_owned(),
        kind: "a whole safetensors file",
        reason,
    };
    let damaged = |error| format(format!("{error:?}; download or save it again"));
    let file = SafeTensors::deserialize(&bytes).map_err(damaged)?;
    let mut tensors = Tensors::new();
    for (name, view) in file.tensors() {
        let values = to_f32(&view).ok_or_else(|| {
            let dtype = view.dtype();
            format(format!(
                "tensor {name} is {dtype:?}; F32, BF16 and F16 are read"
            ))
        })?;
        if values.iter().any(|value| !value.is_finite()) {
            return Err(format(format!(
                "tensor {name} holds a number that is not finite"
            )));
        }
        let loaded = Loaded {
            path: path.to_owned(),
            shape: view.shape().to_vec(),
            values,
        };
        tensors.insert(name, loaded);
    }
    Ok(tensors)
}

/// Returns the string entries of a file's metadata.
pub(crate) fn read_metadata(path: &Path) -> Result<BTreeMap<String, String>, LmError> {
    let bytes = std::fs::read(path).map_err(|error| LmError::read(path, error))?;
    let header = SafeTensors::read_metadata(&bytes).map_err(|error| LmError::Format {
        path: path.to_owned(),
        kind: "a whole safetensors file",
        reason: format!("{error:?}"),
    })?;
    let texts = header.1.metadata().clone().unwrap_or_default();
    Ok(texts.into_iter().collect())
}

fn to_f32(view: &TensorView<'_>) -> Option<Vec<f32>> {
    let data = view.data();
    let pairs = || data.as_chunks::<2>().0.iter();
    Some(match view.dtype() {
        Dtype::F32 => {
            let words = data.as_chunks::<4>().0.iter();
            words.map(|word| f32::from_le_bytes(*word)).collect()
        }
        Dtype::BF16 => pairs()
            .map(|pair| bf16::from_le_bytes(*pair).to_f32())
            .collect(),
        Dtype::F16 => pairs()
            .map(|pair| f16::from_le_bytes(*pair).to_f32())
            .collect(),
        _ => return None,
    })
}
