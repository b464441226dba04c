//! Supervised fine-tuning: rows of prompt and completion, and the loss of TRL's `SFTTrainer`.
//!
//! * [`prepare`]: examples become tokens; what is too long is counted, and never cut unasked.
//! * [`window_gradient`]: the loss of the rows between two optimizer steps, in micro-batches.
//! * [`train`]: a whole run, `sentinel sft --model`.

mod gradient;
mod job;
mod rows;

pub use gradient::{WindowLoss, window_gradient};
pub use job::{SftConfig, SftJob, train};
pub use rows::{Prepared, RowOptions, SftRow, TooLong, prepare};
