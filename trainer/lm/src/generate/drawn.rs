//! Tokens that were drawn on an accelerator, and are read after several steps at once.

use burn::tensor::{Int, Tensor, Transaction};
use sentinel_tensor::DeviceReadError;

use crate::LmError;

/// Number of steps that are generated between two reads.
pub(super) const STEPS_PER_READ: usize = 8;

/// A token of each row with its log-probability.
pub(super) type Step = Vec<(u32, f32)>;

/// Reads the tokens of several steps at once, of which each has drawn `[rows, 1]`.
///
/// # Errors
/// If the device cannot be read.
pub(super) fn read_tokens(steps: Vec<(Tensor<2, Int>, Tensor<2>)>) -> Result<Vec<Step>, LmError> {
    let (ids, logps): (Vec<_>, Vec<_>) = (steps.into_iter())
        .map(|(ids, logps)| (ids.transpose(), logps.transpose()))
        .unzip();
    read_lines(Tensor::cat(ids, 0), Tensor::cat(logps, 0))
}

/// Reads tokens and their log-probabilities, `[steps, rows]`.
///
/// # Errors
/// If the device cannot be read.
pub(super) fn read_lines(ids: Tensor<2, Int>, logps: Tensor<2>) -> Result<Vec<Step>, LmError> {
    let failed = |error: String| LmError::from(DeviceReadError(error));
    let rows = ids.dims()[1].max(1);
    let read = Transaction::default()
        .register(ids)
        .register(logps)
        .try_execute();
    let mut read = read.map_err(|error| failed(format!("{error:?}")))?;
    let (Some(logps), Some(ids)) = (read.pop(), read.pop()) else {
        return Err(failed("it returned no tokens".to_owned()));
    };
    let ids = ids
        .try_into_vec_as::<i64>()
        .map_err(|error| failed(format!("{error:?}")))?;
    let logps = logps
        .try_into_vec_as::<f32>()
        .map_err(|error| failed(format!("{error:?}")))?;
    let ids: Result<Vec<u32>, _> = ids.into_iter().map(u32::try_from).collect();
    let ids = ids.map_err(|_| failed("it returned a token below 0".to_owned()))?;
    let tokens: Step = ids.into_iter().zip(logps).collect();
    Ok(tokens.chunks(rows).map(<[_]>::to_vec).collect())
}
