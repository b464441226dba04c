//! The content of a checkpoint: tensors of `f32` by name, and a header in JSON, as safetensors. It needs no
//! files, so that a run in a browser has the same checkpoints.

use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, TensorView};
use serde::Serialize;

/// A tensor of a checkpoint.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// The sizes of its axes.
    pub shape: Vec<usize>,
    /// The values in row-major order.
    pub values: Vec<f32>,
}

/// The tensors of a checkpoint by name; sorted by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tensors(BTreeMap<String, Tensor>);

impl Tensors {
    /// Adds a tensor under a name.
    pub fn insert(&mut self, name: String, shape: Vec<usize>, values: Vec<f32>) {
        self.0.insert(name, Tensor { shape, values });
    }

    /// Removes a tensor and returns its values; `None` if it is missing or has another number of
    /// values.
    pub fn take(&mut self, name: &str, count: usize) -> Option<Vec<f32>> {
        let tensor = self.0.remove(name)?;
        (tensor.values.len() == count).then_some(tensor.values)
    }

    /// Removes a tensor and returns its values; an empty list if it is missing.
    pub fn take_or_empty(&mut self, name: &str) -> Vec<f32> {
        self.0
            .remove(name)
            .map(|tensor| tensor.values)
            .unwrap_or_default()
    }
}

/// Returns the bytes of a checkpoint file. `key` is the name of the header in the file's metadata.
///
/// # Errors
/// Returns a phrase if the header cannot be expressed as JSON, or a tensor has another shape than values.
pub fn encode(key: &str, header: &impl Serialize, tensors: &Tensors) -> Result<Vec<u8>, String> {
    let bytes: Vec<(&str, &[usize], Vec<u8>)> = (tensors.0.iter())
        .map(|(name, tensor)| {
            let bytes = tensor.values.iter().flat_map(|v| v.to_le_bytes()).collect();
            (name.as_str(), &tensor.shape[..], bytes)
        })
        .collect();
    let mut views = Vec::new();
    for (name, shape, bytes) in &bytes {
        let view = TensorView::new(Dtype::F32, shape.to_vec(), bytes);
        views.push((*name, view.map_err(|error| error.to_string())?));
    }
    let header = serde_json::to_string(header).map_err(|error| error.to_string())?;
    let metadata = Some([(key.to_owned(), header)].into_iter().collect());
    safetensors::serialize(views, metadata).map_err(|error| error.to_string())
}
