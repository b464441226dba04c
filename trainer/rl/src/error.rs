//! Errors of losses and advantages.

/// An error about inputs or options that do not match.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RlError {
    /// A slice does not have the length of its shape.
    #[error("{name} holds {got} values, but its shape {shape} requires {expected}")]
    Shape {
        /// Name of the input.
        name: &'static str,
        /// Number of values in the input.
        got: usize,
        /// Number of values that the shape requires.
        expected: usize,
        /// Description of the shape, such as `[batch, tokens]`.
        shape: &'static str,
    },
    /// An option needs an input that was not given.
    #[error("{option} needs {input}, which was not given")]
    Missing {
        /// Name of the option.
        option: &'static str,
        /// Name of the missing input.
        input: &'static str,
    },
    /// An option has a value that is not allowed.
    #[error("{option} is {value}: it must be {allowed}")]
    Option {
        /// Name of the option.
        option: &'static str,
        /// Value that was given.
        value: f64,
        /// Description of the allowed values.
        allowed: &'static str,
    },
}

/// Checks that an input has the length of its shape.
///
/// # Errors
/// If the length differs.
pub(crate) fn check_length(
    name: &'static str,
    got: usize,
    expected: usize,
    shape: &'static str,
) -> Result<(), RlError> {
    if got == expected {
        return Ok(());
    }
    Err(RlError::Shape {
        name,
        got,
        expected,
        shape,
    })
}
