//! The learned policy of the cluster world: features of jobs, GPUs and workers, one network over
//! these three sets, and an action that is chosen factor by factor.

mod choice;
mod features;
mod forward;
pub(crate) mod history;
mod layout;
mod legal;
mod trained;

pub use choice::{COLUMNS, Choice, FACTORS, Factor, SEGMENTS};
pub use features::{Features, GLOBAL, Observer, PER_GPU, PER_JOB, PER_WORKER};
pub use forward::{Output, Scratch};
pub use layout::{ClusterNet, HEADS, at};
pub use legal::legal;
pub use trained::{Trained, likeliest};
