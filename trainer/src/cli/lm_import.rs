//! The command that converts models of other programs.

use anyhow::Result;
use sentinel_base::provenance::Provenance;
use sentinel_language::import::{self, ImportArgs};

use super::output::{print, warn};

/// Runs `sentinel lm import`, which writes a model of another program as a folder of Hugging Face.
pub(crate) fn import(options: &ImportArgs) -> Result<()> {
    let mut provenance = Provenance::new();
    provenance.record_command(std::env::args().skip(1));
    let made = import::import(options, provenance)?;
    for warning in &made.warnings {
        warn(warning);
    }
    print(&format!(
        "wrote {}: {} parameters from {}, {} tokens\n",
        options.output_dir.display(),
        made.parameters,
        made.origin.quantization,
        made.tokens
    ))
}
