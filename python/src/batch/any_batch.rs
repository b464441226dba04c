//! The interface of a batch that does not depend on the world of its episodes.

/// The arrays that a step writes, one entry or row per episode.
pub(super) struct StepArrays<'a> {
    pub(super) rewards: &'a mut [f64],
    pub(super) terminated: &'a mut [bool],
    pub(super) truncated: &'a mut [bool],
    pub(super) observations: Option<&'a mut [f32]>,
    pub(super) final_observations: Option<&'a mut [f32]>,
    /// The score after the step, also of an episode that ended.
    pub(super) scores: Option<&'a mut [f64]>,
    /// `true` to write the scores of running episodes too.
    pub(super) every_score: bool,
}

/// The part of an episode of a batch that is needed to play it again: its seed; the seed of the ended episode that
/// is still shown, if there is one; and the values of the actions of the episode that is shown.
pub(super) type EpisodeState = (u64, Option<u64>, Vec<u16>);

/// The seed of the next episode of the range, and the state of every episode.
pub(super) type BatchState = (u64, Vec<EpisodeState>);

/// A batch of any world.
pub(super) trait AnyBatch: Send + Sync {
    fn observation_size(&self) -> usize;
    fn action_sizes(&self) -> &[usize];
    /// Checks the actions and takes them; returns the number of episodes that ended. Wrong actions
    /// change nothing.
    fn step(&mut self, actions: &[i64], arrays: StepArrays<'_>) -> Result<usize, String>;
    fn seek(&mut self, seed: u64);
    fn reset_at(&mut self, index: usize, seed: Option<u64>);
    fn write_observations(&mut self, out: &mut [f32]);
    fn write_masks(&mut self, out: &mut [bool]);
    fn write_seeds(&self, out: &mut [u64]);
    fn boxed_clone(&self) -> Box<dyn AnyBatch>;
    fn state(&self) -> Result<BatchState, String>;
    /// Plays the episodes of a state in a new batch.
    fn restore(&mut self, state: &BatchState) -> Result<(), String>;
}
