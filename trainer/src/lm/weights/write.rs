//! Writing safetensors files as transformers and PEFT do.

use std::path::Path;

use safetensors::{Dtype, tensor::TensorView};

use crate::lm::{LmError, Parameter};

/// Returns the content of a safetensors file with these parameters in f32 and `more` in its
/// metadata.
pub(crate) fn safetensors_bytes<'a>(
    path: &Path,
    parameters: impl IntoIterator<Item = &'a Parameter>,
    more: &[(&str, String)],
) -> Result<Vec<u8>, LmError> {
    let mut tensors = Vec::new();
    for parameter in parameters {
        let numbers = parameter.numbers()?;
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
    safetensors::serialize(views, Some(metadata)).map_err(|error| format(format!("{error:?}")))
}
