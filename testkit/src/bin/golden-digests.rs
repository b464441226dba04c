//! Records the digest list: `golden-digests testdata/digests/trust.json`.
#![allow(clippy::print_stderr, reason = "a command tells what is wrong")]

use std::process::ExitCode;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("golden-digests: name the file to write");
        return ExitCode::FAILURE;
    };
    match write(path.as_ref()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("golden-digests: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn write(path: &std::path::Path) -> anyhow::Result<()> {
    use anyhow::Context as _;

    let list = sentinel_testkit::digests::DigestList::record();
    // One episode a line, so that a change shows as the episodes that changed.
    let lines: Vec<String> = list
        .episodes
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    let text = format!("{{\"episodes\": [\n{}\n]}}\n", lines.join(",\n"));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(target_arch = "wasm32")]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
