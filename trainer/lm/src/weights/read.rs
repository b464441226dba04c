//! Reading safetensors, as one file or as shards with an index; f32, bf16 and f16 are converted to
//! f32. One tensor is in memory at a time beside those that the model has taken.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use half::{bf16, f16};
use safetensors::Dtype;
use safetensors::tensor::{Metadata, TensorInfo};
use serde_json::Value;

use crate::LmError;
use crate::config::Fields;

const SINGLE: &str = "model.safetensors";
const INDEX: &str = "model.safetensors.index.json";

/// Largest accepted header, as in the safetensors library.
const MAX_HEADER: u64 = 100_000_000;

/// A tensor in a file, which is not read yet.
#[derive(Clone, Debug)]
pub(crate) struct StoredTensor {
    pub(crate) path: PathBuf,
    pub(crate) shape: Vec<usize>,
    name: String,
    file: Arc<File>,
    start: u64,
    bytes: usize,
    dtype: Dtype,
}

impl StoredTensor {
    /// Reads the numbers in row-major order.
    ///
    /// # Errors
    /// If the file cannot be read, or a number is not finite.
    pub(crate) fn read(&self) -> Result<Vec<f32>, LmError> {
        let mut bytes = vec![0; self.bytes];
        let mut file = &*self.file;
        file.seek(SeekFrom::Start(self.start))
            .and_then(|_| file.read_exact(&mut bytes))
            .map_err(|error| LmError::read(&self.path, error))?;
        let values = to_f32(&bytes, self.dtype);
        if values.iter().any(|value| !value.is_finite()) {
            let name = &self.name;
            let reason =
                format!("{name} holds a number that is not finite: take an earlier checkpoint");
            return Err(unusable(&self.path, reason));
        }
        Ok(values)
    }
}

/// Tensors of a checkpoint by name.
pub(crate) type Tensors = BTreeMap<String, StoredTensor>;

/// Finds all tensors of a checkpoint's folder.
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

/// Reads the shards that an index lists. Each must hold the tensors that the index assigns to it; what else
/// it holds is judged with all tensors.
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
        if !absent.is_empty() {
            return Err(LmError::Tensors {
                path,
                problem: "the index expects tensors that are not there",
                names: absent,
                remedy,
            });
        }
        for (name, tensor) in shard {
            // Of two copies, the one in the shard that the index names counts.
            if names.contains(name.as_str()) || !all.contains_key(&name) {
                all.insert(name, tensor);
            }
        }
    }
    Ok(all)
}

/// Finds all tensors of one file.
pub(crate) fn read_file(path: &Path) -> Result<Tensors, LmError> {
    let Header {
        file,
        metadata,
        data,
    } = Header::read(path)?;
    let file = Arc::new(file);
    let stored = |(name, info): (String, &TensorInfo)| {
        let TensorInfo {
            dtype,
            shape,
            data_offsets: (start, end),
        } = info.clone();
        if !matches!(dtype, Dtype::F32 | Dtype::BF16 | Dtype::F16) {
            let reason =
                format!("{name} is {dtype:?}: save the model as float32, bfloat16 or float16");
            return Err(unusable(path, reason));
        }
        let tensor = StoredTensor {
            path: path.to_owned(),
            shape,
            name: name.clone(),
            file: Arc::clone(&file),
            start: data + start as u64,
            bytes: end - start,
            dtype,
        };
        Ok((name, tensor))
    };
    metadata.tensors().into_iter().map(stored).collect()
}

/// Returns the string entries of a file's metadata.
pub(crate) fn read_metadata(path: &Path) -> Result<BTreeMap<String, String>, LmError> {
    let header = Header::read(path)?;
    let texts = header.metadata.metadata().clone().unwrap_or_default();
    Ok(texts.into_iter().collect())
}

/// The header of a file whose length fits it.
struct Header {
    file: File,
    metadata: Metadata,
    /// Position of the first tensor.
    data: u64,
}

impl Header {
    fn read(path: &Path) -> Result<Self, LmError> {
        let failed = |error| LmError::read(path, error);
        let mut file = File::open(path).map_err(failed)?;
        let length = file.metadata().map_err(failed)?.len();
        let mut start = Vec::new();
        (&file).take(64).read_to_end(&mut start).map_err(failed)?;
        file.rewind().map_err(failed)?;
        if let Some(reason) = sentinel_base::files::placeholder(&start) {
            return Err(damaged(path, reason));
        }
        let mut count = [0; 8];
        if length < 8 {
            let reason = format!("it has {length} bytes; download or save it again");
            return Err(damaged(path, reason));
        }
        file.read_exact(&mut count).map_err(failed)?;
        let count = u64::from_le_bytes(count);
        if count > MAX_HEADER.min(length - 8) {
            let reason = format!("its header should have {count} bytes; download or save it again");
            return Err(damaged(path, reason));
        }
        let mut header = vec![0; count as usize];
        file.read_exact(&mut header).map_err(failed)?;
        let metadata: Metadata = serde_json::from_slice(&header)
            .map_err(|error| damaged(path, format!("{error}; download or save it again")))?;
        let expected = 8 + count + metadata.data_len() as u64;
        if length != expected {
            let reason = format!(
                "it has {length} bytes, and its header describes {expected}; download or save it again"
            );
            return Err(damaged(path, reason));
        }
        Ok(Self {
            file,
            metadata,
            data: 8 + count,
        })
    }
}

/// Returns the error of a file that is whole, but of which a tensor cannot be used.
fn unusable(path: &Path, reason: String) -> LmError {
    LmError::Format {
        path: path.to_owned(),
        kind: "a file of weights that can be used",
        reason,
    }
}

fn damaged(path: &Path, reason: String) -> LmError {
    LmError::Format {
        path: path.to_owned(),
        kind: "a whole safetensors file",
        reason,
    }
}

/// Converts numbers of one of the accepted types.
fn to_f32(data: &[u8], dtype: Dtype) -> Vec<f32> {
    let pairs = || data.as_chunks::<2>().0.iter();
    match dtype {
        Dtype::BF16 => pairs()
            .map(|pair| bf16::from_le_bytes(*pair).to_f32())
            .collect(),
        Dtype::F16 => pairs()
            .map(|pair| f16::from_le_bytes(*pair).to_f32())
            .collect(),
        _ => {
            let words = data.as_chunks::<4>().0.iter();
            words.map(|word| f32::from_le_bytes(*word)).collect()
        }
    }
}
