//! Debian packages: installed if permitted, else named with the command to type.

use crate::dirs::{Dirs, on_path, plain};
use crate::run::{logged, output, print_note};
use anyhow::{Result, bail};
use std::process::Command;

/// Ensures that the Debian `packages` are installed; `why` says what needs them.
///
/// # Errors
/// Returns an error without apt-get, without root, or if apt-get fails; it names the command to
/// type.
pub fn install(dirs: &Dirs, packages: &[&str], why: &str) -> Result<()> {
    if installed(packages) {
        return Ok(());
    }
    let names = packages.join(" ");
    let line = format!("sudo apt-get install -y --no-install-recommends {names}");
    if on_path("apt-get").is_none() {
        bail!("{why} needs the Debian packages {names}, and this machine has no apt-get");
    }
    if !is_root() {
        bail!("{why} needs system packages, and only root may install them. Type this:\n  {line}");
    }
    print_note(&format!(
        "installing Debian packages: {names} (about 1 min)…"
    ));
    let log = dirs.log("apt");
    // A failing update does not stop the task: the lists on the machine may be sufficient.
    logged(&mut apt_get(&["update", "-q"]), &log, None)?;
    let mut arguments = vec!["install", "-yq", "--no-install-recommends", "--no-remove"];
    arguments.extend(packages);
    logged(&mut apt_get(&arguments), &log, None)?.require(
        &format!("installing {names}"),
        &format!("{why} needs them. Try by hand (it needs a network):\n  {line}"),
    )?;
    Ok(())
}

/// Returns `true` if dpkg lists all of `packages` as installed.
#[must_use]
pub fn installed(packages: &[&str]) -> bool {
    packages.iter().all(|package| {
        let mut query = Command::new("dpkg-query");
        query.args(["-W", "-f", "${db:Status-Status}", package]);
        output(&mut query).is_some_and(|status| status == "installed")
    })
}

fn apt_get(arguments: &[&str]) -> Command {
    let mut command = Command::new("apt-get");
    plain(&mut command)
        .args(["-o", "DPkg::Lock::Timeout=120"])
        .args(arguments)
        .env("DEBIAN_FRONTEND", "noninteractive");
    command
}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    // The owner of our own process: std has no geteuid, and apt-get exists on Linux only.
    std::fs::metadata("/proc/self").is_ok_and(|meta| meta.uid() == 0)
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}
