//! Supervised fine-tuning: rows of prompt and completion, and the loss of TRL's `SFTTrainer`.
//!
//! * [`prepare`]: examples become tokens; what is too long is counted, and never cut unasked.
//! * [`pack()`]: which examples share a row, where they may.
//! * [`packed_gradient`]: the loss of the rows between two optimizer steps, in micro-batches; examples may share rows.
//! * [`train`]: a whole run, `sentinel lm sft`.

mod gradient;
mod job;
mod pack;
mod rows;

pub use gradient::{WindowLoss, packed_gradient};
pub use job::{SftConfig, SftJob, train};
pub use pack::pack;
pub use rows::{Prepared, RowOptions, SftRow, TooLong, prepare};
