//! An upper bound on the mean score of every policy that sees observations only.
//!
//! The hidden assignment never changes, and what observations tell about it has few forms
//! (`knowledge.rs`). So the best policy follows from dynamic programming over subtasks: the state is
//! the knowledge, the steps used, the failures, the encounters with poison, and the reward so far.
//! Parts of the rules that need a large state are replaced by something that is at least as good for
//! the policy. So the result is a bound and not the exact optimum; `docs/explanation/how-good.md` lists
//! the replacements, with the argument.
//!
//! Read `solve.rs` first.

mod knowledge;
mod moves;
mod solve;
mod subtask;
#[cfg(test)]
mod tests;

pub use solve::ScoreBound;
