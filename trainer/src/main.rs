//! The `sentinel` command: reads the command line, calls the library, says what came of it.

mod cli;

use std::ffi::OsString;
use std::io::{self, ErrorKind, Write};
use std::process::ExitCode;

/// Tensors come and go by the megabyte: the system's allocator gives such memory back to the kernel
/// each time, and clears it again.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let words: Vec<OsString> = std::env::args_os().collect();
    let (command, given) = match cli::parse(&words) {
        Ok(parsed) => parsed,
        Err(error) => {
            // No one is left to tell when this fails.
            let _ = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    match cli::run(command, &given) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if reader_is_gone(&error) => ExitCode::SUCCESS,
        // Generation already.
        Err(error) if error.is::<cli::interrupt::Interrupted>() => ExitCode::from(130),
        // Errors name their cause themselves.
        Err(error) => fail(&one_line(&error.to_string()), 1),
    }
}

/// Words with one space between, whatever the line breaks were.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn fail(reason: &str, code: u8) -> ExitCode {
    // No one is left to tell when this fails.
    let _ = writeln!(io::stderr(), "error: {reason}");
    ExitCode::from(code)
}

/// Returns whether the output went into a pipe that was closed, as by `head`, which is no failure.
fn reader_is_gone(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause
            .downcast_ref::<io::Error>()
            .is_some_and(|e| e.kind() == ErrorKind::BrokenPipe)
    })
}
