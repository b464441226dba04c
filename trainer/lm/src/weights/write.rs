//! Writing safetensors files as transformers and PEFT do.

use std::collections::BTreeMap;
use std::path::Path;

use safetensors::{Dtype, tensor::TensorView};
use serde_json::Value;

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
    let mut header = serde_json::to_vec(&names).ok()?;
    // The data begin at a multiple of eight bytes.
    header.resize(header.len().next_multiple_of(8), b' ');
    let length = (header.len() as u64).to_le_bytes();
    Some([&length[..], &header, data].concat())
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
