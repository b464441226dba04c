//! Records the digest lists: `golden-digests testdata/digests/trust.json`. The lists of other
//! worlds are written to the same folder.
#![allow(clippy::print_stderr, reason = "a command tells what is wrong")]

use std::process::ExitCode;

#[cfg(not(target_arch = "wasm32"))]
use sentinel_env::WorldName;
#[cfg(not(target_arch = "wasm32"))]
use sentinel_testkit::digests::{DigestList, rule_sets};

#[cfg(not(target_arch = "wasm32"))]
fn main() -> ExitCode {
    let Some(path) = std::env::args_os().nth(1) else {
        eprintln!("golden-digests: missing argument: the file to write");
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
    for world in WorldName::ALL.iter().copied() {
        let path = match world {
            WorldName::DEFAULT => path.to_owned(),
            named => path.with_file_name(format!("{}.json", named.name())),
        };
        for rules in rule_sets(world) {
            let path = match *rules {
                "reference" => path.clone(),
                named => path.with_file_name(format!("{}_{named}.json", world.name())),
            };
            write_list(&path, world, rules)?;
        }
    }
    Ok(())
}

#[cfg(not(target_arch = "wasm32"))]
fn write_list(path: &std::path::Path, world: WorldName, rules: &str) -> anyhow::Result<()> {
    use anyhow::Context as _;

    let list = DigestList::record(world, rules);
    // One episode per line, so that a diff shows the episodes that changed.
    let lines: Vec<String> = list
        .episodes
        .iter()
        .map(serde_json::to_string)
        .collect::<Result<_, _>>()?;
    let world = match world {
        WorldName::DEFAULT => String::new(),
        named => format!("\"world\": \"{}\", ", named.name()),
    };
    let rules = match rules {
        "reference" => String::new(),
        named => format!("\"rules\": \"{named}\", "),
    };
    let text = format!(
        "{{{world}{rules}\"episodes\": [\n{}\n]}}\n",
        lines.join(",\n")
    );
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

#[cfg(target_arch = "wasm32")]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
