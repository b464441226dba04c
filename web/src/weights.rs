//! The weights of a trained policy: one file beside the page.

use std::sync::Arc;

use sentinel_policy::nn::Architecture;
use sentinel_policy::nn::Model;

/// Reads the file that was fetched from `address`.
///
/// # Errors
/// A sentence that names the file, says what is wrong with it, and what helps.
pub fn read<A: Architecture>(
    address: &str,
    bytes: Result<Vec<u8>, String>,
) -> Result<Arc<Model<A>>, String> {
    match bytes {
        Ok(bytes) => Model::from_bytes(&bytes)
            .map(Arc::new)
            .map_err(|e| format!("{address} holds no policy: {e}. Nobody plays in its place.")),
        Err(reason) => Err(format!(
            "{reason}. Without its weights the policy cannot play, and nobody plays in its place: put the file there (`cargo xtask demo` copies it from the repository) and try again."
        )),
    }
}
