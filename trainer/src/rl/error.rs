//! Why a loss or an advantage cannot be computed.

/// Inputs or options that do not fit together.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum RlError {
    /// A slice of another length than its shape asks for.
    #[error("{name} holds {got} values, but its shape {shape} asks for {expected}")]
    Shape {
        /// The input.
        name: &'static str,
        /// What it holds.
        got: usize,
        /// What its shape asks for.
        expected: usize,
        /// The shape in words.
        shape: &'static str,
    },
    /// An option that needs an input which was not given.
    #[error("{option} needs {input}, which was not given")]
    Missing {
        /// The option.
        option: &'static str,
        /// The input.
        input: &'static str,
    },
    /// A value outside of what the option allows.
    #[error("{option} is {value}: it must be {allowed}")]
    Option {
        /// The option.
        option: &'static str,
        /// What it was set to.
        value: f64,
        /// What it may be.
        allowed: &'static str,
    },
}

/// Checks that an input has the length of its shape.
///
/// # Errors
/// If it has not.
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
