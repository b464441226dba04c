//! Records the digest lists: `golden-digests testdata/digests/trust.json`. Those of other worlds are
//! written beside it.
#![allow(clippy::print_stderr, reason = "a command tells what is wrong")]

use std::process::ExitCode;

#[cfg(not(target_arch = "wasm32"))]
use sentinel_testkit::digests::{DigestList, World};

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
    write_list(path, World::Trust)?;
    write_list(&path.with_file_name("cluster.json"), World::Cluster)
}

#[cfg(not(target_arch = "wasm32"))]
fn write_list(path: &std::path::Path, world: World) -> anyhow::Result<()> {
    use anyhow::Context as _;

    let list = DigestList::record(world);
    // One episode a line, so that a change shows as the episodes that changed.
    let lines: Vec<String> = list
        .episodes
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    let world = match world {
        World::Trust => "",
        World::Cluster => "\"world\": \"cluster\", ",
    };
    let text = format!("{{{world}\"episodes\": [\n{}\n]}}\n", lines.join(",\n"));
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(target_arch = "wasm32")]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
