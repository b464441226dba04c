//! The files of the trained policies that are part of the package.

use std::sync::Arc;

use sentinel_policy::nn::{Model, ModelError};

use crate::space_encoding::PythonWorld;

/// Includes the weights in folders of the repository, with the folders' names.
macro_rules! weights {
    ($($folder:literal,)+) => {
        [$((
            $folder,
            include_bytes!(concat!("../../", $folder, "/model.safetensors")),
        )),+]
    };
}

/// Returns the models that play a world: under rules near the reference's, and under rules near the
/// hardened ones.
///
/// # Errors
/// Returns an error if a model of the world is not part of the package, or is broken.
pub(crate) fn published_models<W: PythonWorld>() -> Result<[Arc<Model<W::Net>>; 2], ModelError> {
    let files: [(&str, &[u8]); 5] = weights![
        "replays/grpo",
        "replays/trust-grpo-hardened",
        "replays/cluster-grpo-reference",
        "replays/cluster-grpo",
        "replays/polyguard-grpo",
    ];
    let read = |folder: &str| {
        let file = files.iter().find(|(name, _)| *name == folder);
        let (_, bytes) = file.ok_or(ModelError::Format)?;
        Model::from_bytes(bytes).map(Arc::new)
    };
    let [reference, hardened] = W::MODELS;
    Ok([read(reference)?, read(hardened)?])
}
