//! Results that the ranks of a run exchange, with the errors of a language model.

use sentinel_lm::LmError;
use sentinel_run::distributed::{DistributedError, ProcessGroup};
use serde::Serialize;
use serde::de::DeserializeOwned;

/// An error of a model, or of the exchange of completions between ranks.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct ExchangeError(LmError);

impl From<DistributedError> for ExchangeError {
    fn from(error: DistributedError) -> Self {
        Self(LmError::backend(error))
    }
}

/// Returns the results of all ranks in their order.
///
/// # Errors
/// Returns the error of this rank, that of another one, or that of the exchange.
pub(crate) fn exchange<T: Serialize + DeserializeOwned>(
    group: &ProcessGroup,
    own: Result<T, LmError>,
) -> Result<Vec<T>, LmError> {
    let all = group.exchange(own.map_err(ExchangeError));
    all.map_err(|ExchangeError(error)| error)
}
