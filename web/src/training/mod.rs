//! What the trainer wrote down while it trained: its `trainer_state.json`, read and arranged.

mod drawing;
mod plane;
mod plots;
mod trainer_state;

pub use drawing::{HEIGHT, drawing, plane, readout, spoken};
pub use plane::{Plane, Ticks, short, ticks};
pub use plots::{Line, Plot, plots};
pub use trainer_state::{Entry, TrainerState, parse};

/// Reads the file that lies at `address`.
///
/// # Errors
/// A sentence that names the file, says what is wrong with it, and what helps.
pub fn read(address: &str, text: Result<String, String>) -> Result<TrainerState, String> {
    match text {
        Ok(text) => parse(&text).map_err(|e| format!("{address} is no trainer state: {e}")),
        Err(reason) => Err(format!(
            "{reason}. The curves are drawn from this file alone: put it there (`sentinel train` writes it, `cargo xtask demo` copies it from the repository) and try again."
        )),
    }
}
