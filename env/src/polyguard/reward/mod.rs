//! Reward: the components of a step, cheating, and the score of an episode.

pub(crate) mod anti_cheat;
pub(crate) mod components;
pub(crate) mod grading;
pub(crate) mod terminal;
pub(crate) mod verdict;
