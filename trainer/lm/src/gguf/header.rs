//! The beginning of a GGUF file: keys and the table of tensors. All places are checked against the length of the
//! file before weights are read.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read as _, Seek as _, SeekFrom};
use std::path::Path;

use super::metadata::Metadata;
use super::source::{Source, unusable};
use super::tensor_type::TensorType;
use crate::LmError;

/// Largest accepted number of tensors. The largest models of the families have less than 2 000.
const MAX_TENSORS: u64 = 1 << 16;
/// Longest accepted name of a tensor, in bytes.
const LONGEST_NAME: u64 = 256;
/// Distance of the places of tensors if the file names none.
const ALIGNMENT: u64 = 32;

/// A tensor in a file, which is not read yet.
#[derive(Clone, Debug)]
pub(super) struct StoredTensor {
    pub(super) kind: TensorType,
    /// Rows and columns, or the length of a vector.
    pub(super) shape: Vec<usize>,
    /// Position of the first byte in the file.
    pub(super) start: u64,
    /// Number of bytes in the file.
    pub(super) bytes: u64,
}

impl StoredTensor {
    /// Returns the number of numbers.
    pub(super) fn len(&self) -> usize {
        self.shape.iter().product()
    }

    /// Reads the bytes, which are within the file.
    pub(super) fn read_bytes(&self, path: &Path) -> Result<Vec<u8>, LmError> {
        let failed = |error| LmError::read(path, error);
        let mut file = File::open(path).map_err(failed)?;
        file.seek(SeekFrom::Start(self.start)).map_err(failed)?;
        let mut bytes = Vec::new();
        file.take(self.bytes)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        if bytes.len() as u64 == self.bytes {
            return Ok(bytes);
        }
        Err(unusable(
            path,
            "it became shorter while it was read".to_owned(),
        ))
    }

    /// Reads the numbers in row-major order.
    pub(super) fn read(&self, path: &Path) -> Result<Vec<f32>, LmError> {
        let mut numbers = Vec::with_capacity(self.len());
        self.kind.dequantize(&self.read_bytes(path)?, &mut numbers);
        Ok(numbers)
    }
}

/// Keys and tensors of a file.
#[derive(Debug)]
pub(super) struct Header {
    pub(super) metadata: Metadata,
    pub(super) tensors: BTreeMap<String, StoredTensor>,
}

impl Header {
    /// Reads the header of a file.
    ///
    /// # Errors
    /// If the file cannot be read, is no GGUF file of version 2 or 3, or a part of it does not fit its length.
    pub(super) fn read(path: &Path) -> Result<Self, LmError> {
        let mut source = Source::open(path)?;
        let magic: [u8; 4] = source.array()?;
        if magic != *b"GGUF" {
            return Err(source.wrong("does not begin with GGUF"));
        }
        let version = source.u32()?;
        match version {
            2 | 3 => {}
            _ if version.swap_bytes() < 256 && version > 255 => {
                return Err(source.wrong("is big-endian: only little-endian files can be read"));
            }
            _ => {
                let problem = format!("has version {version}: only 2 and 3 can be read");
                return Err(source.wrong(&problem));
            }
        }
        let (tensors, keys) = (source.u64()?, source.u64()?);
        if tensors > MAX_TENSORS {
            let problem = format!("announces {tensors} tensors, more than {MAX_TENSORS}");
            return Err(source.wrong(&problem));
        }
        let metadata = Metadata::read(&mut source, keys)?;
        let alignment = alignment(&metadata)?;
        let tensors = read_tensors(&mut source, tensors, alignment)?;
        Ok(Self { metadata, tensors })
    }
}

/// Returns the distance of which all places of tensors are multiples.
fn alignment(metadata: &Metadata) -> Result<u64, LmError> {
    const KEY: &str = "general.alignment";
    let alignment = metadata.integer(KEY)?.unwrap_or(ALIGNMENT);
    if alignment.is_power_of_two() && (8..=1 << 20).contains(&alignment) {
        return Ok(alignment);
    }
    let remedy = "only powers of 2 from 8 to 1048576 can be read";
    Err(metadata.invalid(KEY, &format!("is {alignment}"), remedy))
}

/// Reads the table of tensors, and checks their places.
fn read_tensors(
    source: &mut Source,
    count: u64,
    alignment: u64,
) -> Result<BTreeMap<String, StoredTensor>, LmError> {
    let mut tensors = BTreeMap::new();
    for at in 0..count {
        source.enter(format!("tensor {} of {count}", at + 1));
        let name = source.text(LONGEST_NAME)?;
        source.enter(format!("tensor {name:?}"));
        let tensor = read_tensor(source, alignment)?;
        if tensors.insert(name, tensor).is_some() {
            return Err(source.wrong("is there twice"));
        }
    }
    let data = source.position().next_multiple_of(alignment);
    let mut places = Vec::with_capacity(tensors.len());
    for (name, tensor) in &mut tensors {
        source.enter(format!("tensor {name:?}"));
        // Up to here the start counts from the first tensor.
        tensor.start = tensor.start.saturating_add(data);
        let end = tensor.start.saturating_add(tensor.bytes);
        if end > source.length() {
            let problem = format!(
                "ends at byte {end}, but the file has {} bytes: download it again",
                source.length()
            );
            return Err(source.wrong(&problem));
        }
        places.push((tensor.start, end, name.clone()));
    }
    places.sort_unstable();
    for ((_, end, first), (start, _, second)) in places.iter().zip(places.iter().skip(1)) {
        if start < end {
            source.enter(format!("tensor {second:?}"));
            return Err(source.wrong(&format!("overlaps with tensor {first:?}")));
        }
    }
    Ok(tensors)
}

/// Reads shape, format and place of a tensor.
fn read_tensor(source: &mut Source, alignment: u64) -> Result<StoredTensor, LmError> {
    let axes = source.u32()?;
    if !(1..=2).contains(&axes) {
        let problem = format!("has {axes} axes: only vectors and matrices can be imported");
        return Err(source.wrong(&problem));
    }
    let mut shape = Vec::new();
    for _ in 0..axes {
        shape.push(source.u64()?);
    }
    let id = source.u32()?;
    let start = source.u64()?;
    let Some(kind) = TensorType::from_id(id) else {
        let names = TensorType::ALL.map(TensorType::name).join(", ");
        let problem = format!("has the format number {id}: only {names} can be read");
        return Err(source.wrong(&problem));
    };
    let (numbers, bytes) = kind.block();
    let total = shape
        .iter()
        .try_fold(1_u64, |total, axis| total.checked_mul(*axis));
    let columns = shape.first().copied().unwrap_or_default();
    let total = total.filter(|total| *total > 0 && columns.is_multiple_of(numbers as u64));
    let size = total.and_then(|total| (total / numbers as u64).checked_mul(bytes as u64));
    let wrong = || {
        let name = kind.name();
        source.wrong(&format!(
            "has the shape {shape:?}, which {name} cannot have"
        ))
    };
    let size = size.ok_or_else(wrong)?;
    if !start.is_multiple_of(alignment) {
        let problem = format!("is at {start}, which is no multiple of {alignment}");
        return Err(source.wrong(&problem));
    }
    // The format has the axis of neighboring numbers first.
    let axes = shape.iter().rev().map(|axis| usize::try_from(*axis));
    let axes = axes.collect::<Result<Vec<_>, _>>();
    Ok(StoredTensor {
        kind,
        shape: axes.map_err(|_| wrong())?,
        start,
        bytes: size,
    })
}
