//! Writing safetensors files as transformers and PEFT do.

use std::collections::BTreeMap;
use std::path::Path;

use half::bf16;
use safetensors::{Dtype, tensor::TensorView};
use sentinel_base::{Error, files};
use serde_json::{Value, json};

use super::TensorSpec;
use crate::{LmError, Parameter};

/// Returns the content of a safetensors file with these parameters in f32 and `more` in its
/// metadata.
pub(crate) fn safetensors_bytes<'a>(
    path: &Path,
    parameters: impl IntoIterator<Item = &'a Parameter>,
    more: &[(&str, String)],
) -> Result<Vec<u8>, LmError> {
    let mut tensors = Vec::new();
    for parameter in parameters {
        let numbers = parameter.values()?;
        let bytes: Vec<u8> = numbers
            .iter()
            .flat_map(|number| number.to_le_bytes())
            .collect();
        tensors.push((parameter, bytes));
    }
    let format = |reason: String| LmError::Format {
        path: path.to_owned(),
        kind: "something that safetensors can hold",
        reason,
    };
    let views: Result<Vec<_>, _> = tensors
        .iter()
        .map(|(parameter, bytes)| {
            let view = TensorView::new(Dtype::F32, parameter.shape().to_vec(), bytes);
            view.map(|view| (parameter.name(), view))
        })
        .collect();
    let views = views.map_err(|error| format(format!("{error:?}")))?;
    // transformers rejects a file whose metadata has no `format`.
    let more = more
        .iter()
        .map(|(key, value)| ((*key).to_owned(), value.clone()));
    let metadata = [("format".to_owned(), "pt".to_owned())]
        .into_iter()
        .chain(more)
        .collect();
    let bytes = safetensors::serialize(views, Some(metadata));
    let bytes = bytes.map_err(|error| format(format!("{error:?}")))?;
    with_sorted_header(&bytes).ok_or_else(|| format("its header is not JSON".to_owned()))
}

/// Returns a safetensors file with the names of its header in order, so that the same model has the
/// same digest whenever it is written: the library writes the metadata in the order of a hash map.
fn with_sorted_header(file: &[u8]) -> Option<Vec<u8>> {
    const METADATA: &str = "__metadata__";
    let (length, rest) = file.split_first_chunk::<8>()?;
    let length = usize::try_from(u64::from_le_bytes(*length)).ok()?;
    let (header, data) = (rest.get(..length)?, rest.get(length..)?);
    let mut names: BTreeMap<String, Value> = serde_json::from_slice(header).ok()?;
    if let Some(metadata) = names.remove(METADATA) {
        let sorted: BTreeMap<String, String> = serde_json::from_value(metadata).ok()?;
        names.insert(METADATA.to_owned(), serde_json::to_value(sorted).ok()?);
    }
    Some([&header_bytes(&names).ok()?[..], data].concat())
}

/// Returns the beginning of a safetensors file: the length of the header, and the header.
fn header_bytes(names: &BTreeMap<String, Value>) -> Result<Vec<u8>, serde_json::Error> {
    let mut header = serde_json::to_vec(names)?;
    // The data begin at a multiple of eight bytes.
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    Ok([&length[..], &header].concat())
}

/// The type of the numbers in a written checkpoint, by the names of Hugging Face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum StoredDtype {
    /// All bits of a number in f32
    #[default]
    #[value(alias = "f32")]
    Float32,
    /// Numbers rounded to bf16, in half of the space
    #[value(alias = "bf16")]
    Bfloat16,
}

impl StoredDtype {
    /// Returns the name in `config.json`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Bfloat16 => "bfloat16",
        }
    }

    /// Returns the name in a safetensors file, and the number of bytes of a number.
    const fn stored(self) -> (&'static str, usize) {
        match self {
            Self::Float32 => ("F32", 4),
            Self::Bfloat16 => ("BF16", 2),
        }
    }

    /// Returns `true` if a number is finite in this type.
    pub(crate) fn is_finite(self, number: f32) -> bool {
        match self {
            Self::Float32 => number.is_finite(),
            Self::Bfloat16 => bf16::from_f32(number).is_finite(),
        }
    }

    /// Appends the bytes of numbers.
    fn encode(self, numbers: &[f32], bytes: &mut Vec<u8>) {
        match self {
            Self::Float32 => bytes.extend(numbers.iter().flat_map(|number| number.to_le_bytes())),
            Self::Bfloat16 => {
                let rounded = numbers.iter().map(|number| bf16::from_f32(*number));
                bytes.extend(rounded.flat_map(bf16::to_le_bytes));
            }
        }
    }
}

/// Writes a new safetensors file, one tensor after the other: of each, `pieces` passes its numbers in
/// row-major order, and may divide them.
///
/// # Errors
/// If the file cannot be written, `pieces` fails, or passes another count of numbers than the tensor has.
pub(crate) fn write_tensors(
    path: &Path,
    specs: &[TensorSpec],
    dtype: StoredDtype,
    mut pieces: impl FnMut(
        &TensorSpec,
        &mut dyn FnMut(&[f32]) -> Result<(), Error>,
    ) -> Result<(), Error>,
) -> Result<(), LmError> {
    let (name, width) = dtype.stored();
    let specs: BTreeMap<&str, &TensorSpec> = specs
        .iter()
        .map(|spec| (spec.name.as_str(), spec))
        .collect();
    // transformers rejects a file whose metadata has no `format`.
    let mut names = BTreeMap::from([("__metadata__".to_owned(), json!({"format": "pt"}))]);
    let mut end = 0;
    for (key, spec) in &specs {
        let start = end;
        end += spec.shape.iter().product::<usize>() * width;
        let entry = json!({"dtype": name, "shape": spec.shape, "data_offsets": [start, end]});
        names.insert((*key).to_owned(), entry);
    }
    let header = header_bytes(&names).map_err(Error::from)?;
    Ok(files::write_pieces(path, false, |out| {
        let failed = |source| Error::Write {
            path: path.to_owned(),
            source,
        };
        out.write_all(&header).map_err(failed)?;
        let mut bytes = Vec::new();
        for spec in specs.values() {
            let (count, mut written) = (spec.shape.iter().product::<usize>(), 0);
            pieces(spec, &mut |numbers| {
                bytes.clear();
                dtype.encode(numbers, &mut bytes);
                written += numbers.len();
                out.write_all(&bytes).map_err(failed)
            })?;
            if written != count {
                let reason = format!("{} has {count} numbers, not {written}", spec.name);
                return Err(Error::invalid(path, reason));
            }
        }
        Ok(())
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_header_does_not_depend_on_metadata_order() {
        let file = |header: &str| {
            let length = (header.len() as u64).to_le_bytes();
            [&length[..], header.as_bytes(), b"data"].concat()
        };
        let one = file(r#"{"__metadata__":{"b":"1","a":"2"},"x":{"dtype":"F32"}}"#);
        let other = file(r#"{"__metadata__":{"a":"2","b":"1"},"x":{"dtype":"F32"}}"#);
        let sorted = with_sorted_header(&one);
        assert!(sorted.is_some() && sorted == with_sorted_header(&other));
        assert!(sorted.is_some_and(|file| (file.len() - 4) % 8 == 0 && file.ends_with(b"data")));
        assert_eq!(with_sorted_header(b"short"), None);
    }
}
