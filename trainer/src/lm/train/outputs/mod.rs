//! The model and the summaries in a run's folder, each written anew at every checkpoint: a reader sees
//! an old file or a new one.

mod card;
mod state;

use std::path::Path;

use super::about::About;
use super::job::Job;
use super::state::State;
use crate::files;
use crate::lm::LmError;
use crate::lm::config::special_tokens;
use crate::lm::lora::{COMPANIONS, Lora};
use crate::run::Event;

/// What Hugging Face's trainer leaves behind.
pub const STATE: &str = "trainer_state.json";
const CARD: &str = "README.md";

/// Writes all of them, the model or adapter among them, into a folder that is there.
pub(super) fn write_all(
    folder: &Path,
    job: &dyn Job,
    state: &State,
    about: &About,
    base: &str,
    events: &[Event],
) -> Result<(), super::RunError> {
    let text = state::text(job, state, about, events)?;
    files::write(&folder.join(STATE), text.as_bytes())?;
    let text = card::text(job, state, about, events);
    files::write(&folder.join(CARD), text.as_bytes())?;
    about.provenance(base).write(folder)?;
    if state.model.adapter().is_some() {
        Lora::save(&state.model, folder, base)?;
    } else {
        let tokens = special_tokens(&about.source)?;
        state.model.save_with(folder, tokens)?;
    }
    for name in COMPANIONS {
        let from = about.source.join(name);
        if from.is_file() {
            let bytes = std::fs::read(&from).map_err(|error| LmError::read(&from, error))?;
            files::write(&folder.join(name), &bytes)?;
        }
    }
    Ok(())
}
