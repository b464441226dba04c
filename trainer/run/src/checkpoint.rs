//! The file of a checkpoint; `tensors.rs` has its content.
//!
//! The file is replaced atomically: whenever the program is killed, the last one is valid. Each
//! kind of model defines its header; the header's key in the file's metadata names the kind.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::Path;

use safetensors::tensor::{Dtype, SafeTensors};
use sentinel_base::{Error, files};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::tensors::encode;

pub use super::tensors::{Tensor, Tensors};

/// Writes a checkpoint. `key` is the name of the header in the file's metadata.
///
/// # Errors
/// Returns an error if it cannot be written; the previous file then stays.
pub fn write(
    path: &Path,
    key: &str,
    header: &impl Serialize,
    tensors: &Tensors,
) -> Result<(), Error> {
    let bytes = encode(key, header, tensors).map_err(|reason| Error::invalid(path, reason))?;
    files::write_atomic(path, &bytes)
}

/// Reads the header and tensors of a checkpoint.
///
/// # Errors
/// Returns an error if there is none, or the file is truncated or something else.
pub fn read<H: DeserializeOwned>(path: &Path, key: &str) -> Result<(H, Tensors), Error> {
    let bytes = std::fs::read(path).map_err(|source| unreadable(path, source))?;
    parse(&bytes, path, key)
}

/// Parses the header and tensors of a checkpoint from the content of its file; `path` is only named in
/// errors.
///
/// # Errors
/// Returns an error if the content is truncated or something else.
pub fn parse<H: DeserializeOwned>(
    bytes: &[u8],
    path: &Path,
    key: &str,
) -> Result<(H, Tensors), Error> {
    let read = || -> Result<(H, Tensors), String> {
        let (_, metadata) = SafeTensors::read_metadata(bytes).map_err(|e| e.to_string())?;
        let header = parse_header(metadata.metadata().as_ref().and_then(|all| all.get(key)))?;
        let file = SafeTensors::deserialize(bytes).map_err(|e| e.to_string())?;
        let mut tensors = Tensors::default();
        for (name, view) in file.tensors() {
            if view.dtype() != Dtype::F32 {
                return Err(format!("{name} is {:?}", view.dtype()));
            }
            let words = view.data().as_chunks::<4>().0.iter();
            let values = words.map(|word| f32::from_le_bytes(*word)).collect();
            tensors.insert(name, view.shape().to_vec(), values);
        }
        Ok((header, tensors))
    };
    read().map_err(|reason| no_checkpoint(path, &reason))
}

/// Reads the header of a checkpoint without its tensors, which may be incomplete.
///
/// # Errors
/// Returns an error if there is no checkpoint, or its beginning is truncated or something else.
pub fn read_header<H: DeserializeOwned>(path: &Path, key: &str) -> Result<H, Error> {
    /// The beginning of a safetensors file, reduced to its metadata.
    #[derive(Deserialize)]
    struct Beginning {
        #[serde(rename = "__metadata__", default)]
        metadata: BTreeMap<String, String>,
    }
    let (_, bytes) = beginning(path).map_err(|source| unreadable(path, source))?;
    let found = serde_json::from_slice::<Beginning>(&bytes).map_err(|e| e.to_string());
    let header = found.and_then(|found| parse_header(found.metadata.get(key)));
    header.map_err(|reason| no_checkpoint(path, &reason))
}

/// Returns the length of the header, which is in the first eight bytes, and the header; what there is of
/// it if the file is shorter.
fn beginning(path: &Path) -> std::io::Result<(u64, Vec<u8>)> {
    let mut file = File::open(path)?;
    let (mut length, mut bytes) = (Vec::new(), Vec::new());
    file.by_ref().take(8).read_to_end(&mut length)?;
    let length = length.try_into().map_or(0, u64::from_le_bytes);
    file.take(length).read_to_end(&mut bytes)?;
    Ok((length, bytes))
}

fn parse_header<H: DeserializeOwned>(text: Option<&String>) -> Result<H, String> {
    let text = text.ok_or("it says nothing of a run")?;
    serde_json::from_str(text).map_err(|error| error.to_string())
}

fn unreadable(path: &Path, source: std::io::Error) -> Error {
    Error::Read {
        path: path.to_owned(),
        source,
    }
}

/// Returns the error of a file that cannot be resumed from.
pub fn no_checkpoint(path: &Path, reason: &str) -> Error {
    let reason =
        format!("no checkpoint, or cut off ({reason}): start again with --overwrite-output-dir");
    Error::invalid(path, reason)
}

/// Returns `true` if a safetensors file has the length that its header describes; `false` if it is missing, cut
/// off, or something else.
pub(super) fn is_whole(path: &Path) -> bool {
    let lengths = || -> Option<(u64, u64)> {
        let (count, header) = beginning(path).ok()?;
        let length = path.metadata().ok()?.len();
        let tensors: serde_json::Map<String, serde_json::Value> =
            serde_json::from_slice(&header).ok()?;
        let ends = tensors
            .values()
            .filter_map(|tensor| tensor["data_offsets"][1].as_u64());
        let data = ends.max().unwrap_or(0);
        Some((length, count.checked_add(8)?.checked_add(data)?))
    };
    lengths().is_some_and(|(length, expected)| length == expected)
}
