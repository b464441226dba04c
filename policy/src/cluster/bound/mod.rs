//! An upper bound on the score of an episode, from the limits of its parts.
//!
//! The bound knows the hidden state and the draws of failures. It lets each component of the reward be as
//! high as it can be at a step (`step_limits.rs`), except for those that the jobs compete for: one job can
//! start in a step, and it either holds memory or is complete. The best order of the jobs is that of an
//! assignment of jobs to steps (`assignment.rs`). No policy has a higher score in that episode, also if it
//! sees hidden state. `docs/explanation/how-good.md` lists what makes the bound loose.
//!
//! Read `schedule.rs` first.

mod assignment;
mod job_limits;
mod schedule;
mod step_limits;
#[cfg(test)]
mod tests;

pub use schedule::EpisodeBound;
