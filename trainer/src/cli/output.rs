//! The text that commands print, and their arguments.

use std::io::{self, Write as _};

use anyhow::Result;
use sentinel_base::Error;

/// Prints a text to standard output.
///
/// # Errors
/// If standard output cannot be written.
pub(crate) fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes())
        .and_then(|()| out.flush())
        .map_err(Error::Output)?;
    Ok(())
}

/// Returns the arguments of this program, for the provenance of what it writes.
pub(crate) fn arguments() -> impl Iterator<Item = String> {
    let words = std::env::args_os().skip(1);
    words.map(|word| word.to_string_lossy().into_owned())
}

/// Prints a warning to standard error.
pub(crate) fn warn(text: &impl std::fmt::Display) {
    note(&format!("warning: {text}"));
}

/// Prints a line to standard error.
pub(crate) fn note(text: &str) {
    // A failure of standard error cannot be reported anywhere.
    let _ = writeln!(io::stderr(), "{text}");
}

/// Returns the words of a text with single spaces in place of line breaks and runs of spaces.
pub(crate) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
