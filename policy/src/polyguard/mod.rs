//! Scripted policies of the polyguard world (spec polyguard §10).

mod oracle;
mod rules_only;
mod simple;

pub use oracle::Oracle;
pub use rules_only::RulesOnly;
pub use simple::{GreedyRegimen, NoChange, Random};
