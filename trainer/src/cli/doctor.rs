//! `sentinel doctor`: checks of this machine.

use anyhow::{Result, bail};
use sentinel_trainer::doctor::{Check, DoctorArgs, Verdict, examine, passes};

use super::output::print;

/// Prints each check as soon as it is made.
///
/// # Errors
/// If something is missing, or standard output cannot be written.
pub(super) fn doctor(args: &DoctorArgs) -> Result<()> {
    let mut written = Ok(());
    let checks = examine(args, |check| {
        if !args.json && written.is_ok() {
            written = print(&format_check(check));
        }
    });
    written?;
    if args.json {
        print(&format!("{}\n", serde_json::to_string_pretty(&checks)?))?;
    }
    if !passes(&checks) {
        bail!("something is missing on this machine: see above");
    }
    Ok(())
}

fn format_check(check: &Check) -> String {
    let verdict = match check.verdict {
        Verdict::Ok => "ok",
        Verdict::Warning => "warning",
        Verdict::Missing => "MISSING",
    };
    let mut text = format!("{verdict:<8} {:<10} {}\n", check.name, check.found);
    if let Some(remedy) = &check.remedy {
        text.push_str(&format!("{:19} {remedy}\n", ""));
    }
    text
}
