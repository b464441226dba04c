//! The reward: the components of a step, exploits, and the score of an episode.

pub(crate) mod anti_cheat;
pub(crate) mod components;
pub(crate) mod grading;
pub(crate) mod terminal_reward;
pub(crate) mod terms;
pub(crate) mod verdict;
