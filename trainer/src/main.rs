//! The `sentinel` command: parses the command line, calls the library, reports errors.

mod allocator;
mod cli;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

fn main() -> ExitCode {
    sentinel_base::provenance::set_commit(env!("SENTINEL_COMMIT"));
    let words: Vec<OsString> = std::env::args_os().collect();
    let (command, given) = match cli::parse(&words) {
        Ok(parsed) => parsed,
        Err(error) => {
            // A failure of standard error cannot be reported anywhere.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match cli::run(command, &given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if reader_is_gone(&error) => ExitCode::SUCCESS,
        // The message was printed already.
        Err(error) if error.is::<cli::interrupt::Interrupted>() => ExitCode::from(130),
        Err(error) if error.is::<cli::interrupt::Reported>() => ExitCode::from(1),
        // Errors name their cause themselves.
        Err(error) => fail(&cli::output::one_line(&error.to_string()), 1),
    }
}

fn fail(reason: &str, code: u8) -> ExitCode {
    // A failure of standard error cannot be reported anywhere.
    let _ = writeln!(io::stderr(), "error: {reason}");
    ExitCode::from(code)
}

/// Returns `true` if the output was a pipe that its reader closed, as `head` does, which is not a
/// failure.
fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}
