//! Records the snapshots of the polyguard world: `cargo run -p sentinel-testkit --bin snapshots`.
#![allow(clippy::print_stderr, reason = "a command tells what is wrong")]

use std::process::ExitCode;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> ExitCode {
    match write() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("snapshots: {error:#}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(not(target_arch = "wasm32"))]
fn write() -> anyhow::Result<()> {
    use anyhow::Context as _;
    use sentinel_env::polyguard::TaskSpec;
    use sentinel_testkit::snapshot::{file_name, folder, render};

    let folder = folder();
    std::fs::create_dir_all(&folder)?;
    for case in TaskSpec::ALL {
        let file = folder.join(file_name(case));
        std::fs::write(&file, render(case))
            .with_context(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

#[cfg(target_arch = "wasm32")]
fn main() -> ExitCode {
    ExitCode::FAILURE
}
