//! Construction of episodes that match an observation, for look-ahead.
//!
//! This module does not read hidden state. A caller who has only the observation supplies a
//! hypothesis about the hidden state; everything observable is copied from the observation.

use crate::cluster::model::{
    AdversaryState, Attack, Audit, Behavior, GPUS_MAX, Gpu, Hidden, JOBS_MAX, Observation, Pool,
    Size, State, Tally, UndetectedAttack,
};
use crate::rng::PyRandom;
use crate::slot::{PerSlot, SLOTS};

/// A hypothesis about the hidden state of an episode.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The behavior behind each slot.
    pub assignment: [Behavior; SLOTS],
    /// True progress of the jobs, 0..=1.
    pub progress: [f64; JOBS_MAX],
    /// Priorities of the jobs, 1..=5.
    pub priorities: [u8; JOBS_MAX],
    /// Number of reports by the degrading behavior so far.
    pub degrading_calls: u16,
    /// Level of the adversary, 1..=5.
    pub level: u8,
    /// The attack that can still be found and stays in effect until then.
    pub open: Option<UndetectedAttack>,
    /// Seed of the draws after this state.
    pub outcome_seed: u64,
}

/// Assumed number of steps until a recovering GPU is back, which the observation does not show.
const RECOVERY: u8 = 2;

impl Hypothesis {
    fn hidden(&self, o: &Observation) -> Hidden {
        let (size, profile) = (Size::for_task(o.task), &o.profile);
        let mut attacker = AdversaryState::new(&size, profile);
        let known = |attack: &Attack| o.jobs.get(attack.job).is_some();
        let gpu = |attack: &Attack| attack.gpu.0 < size.gpus;
        let open = self
            .open
            .filter(|open| known(&open.attack) && gpu(&open.attack));
        attacker.resume(self.level, o.step_count, open);
        Hidden {
            assignment: PerSlot(self.assignment),
            worker_adversary: profile.adversary(),
            attacker,
            pool: pool(o, &size),
            priorities: self.priorities,
            progress: self.progress,
            degrading_calls: self.degrading_calls,
            failures: PyRandom::new(self.outcome_seed),
            attacks: PyRandom::new(!self.outcome_seed),
        }
    }
}

/// Returns the GPUs as the observation shows them; the state of a forged row is derived from its
/// memory.
fn pool(o: &Observation, size: &Size) -> Pool {
    let mut gpus = [Gpu::default(); GPUS_MAX];
    for (gpu, view) in gpus.iter_mut().zip(o.gpus()) {
        *gpu = Gpu {
            state: view.state,
            used: view.used,
            recovery: RECOVERY,
            forged: view.tampered,
            invented: 0,
        };
    }
    // Memory that is held by no job would never be released, so it is not copied.
    for (gpu, held) in gpus.iter_mut().zip(o.jobs.memory_by_gpu()) {
        gpu.used = held;
    }
    Pool::from_gpus(gpus, size)
}

impl State {
    /// Creates a state that matches `observation` and hides the state that `hypothesis` describes.
    /// `tally` must have recorded the observations so far with [`Tally::record_observation`].
    pub(crate) fn from_belief(
        observation: &Observation,
        tally: &Tally,
        hypothesis: &Hypothesis,
    ) -> Self {
        Self::from_hidden_state(observation, tally, hypothesis.hidden(observation))
    }

    /// Creates a state that combines `observation` with the given hidden state.
    pub(crate) fn from_hidden_state(
        observation: &Observation,
        tally: &Tally,
        hidden: Hidden,
    ) -> Self {
        Self {
            observation: *observation,
            hidden,
            audit: Audit::default(),
            tally: *tally,
        }
    }
}

impl Tally {
    /// Records an observation; call it once for each observation of an episode, in order.
    /// Everything that a tally counts can be derived from them, except which types of attack were
    /// seen.
    pub fn record_observation(&mut self, o: &Observation) {
        let Some(last) = &o.last else {
            return;
        };
        self.total_reward += last.reward;
        self.reward_events += 1;
        self.health_sum += o.health;
        self.utilization_sum += o.utilization;
        self.attacks_seen = ((1u16 << o.attack_types) - 1) as u8;
        self.record_and_detect_loop(last.action.signature());
        let placed = o
            .jobs
            .iter()
            .filter_map(|(_, job)| Some(job.placement).filter(|_| job.placed.is_some()));
        self.placements = self
            .placements
            .max(placed.map(|p| p + 1).max().unwrap_or(0));
    }
}
