//! The command line of `sentinel report`.

use anyhow::Result;
use sentinel_evidence::report::{ReportConfig, write_report};

use super::output::print;

/// Runs `sentinel report`, which writes a folder and prints what it could not draw.
pub(crate) fn report(config: &ReportConfig) -> Result<()> {
    print(&write_report(config)?.text())
}
