//! Episodes that look like an observation: what look-ahead plays on.
//!
//! Nothing here reads hidden state. A caller who has only the observation fills in what it thinks is
//! hidden; whatever the observation shows is taken over as it is shown.

use super::{
    AdversaryState, Attack, Audit, Behaviour, Episode, GPUS_MAX, Gpu, Hidden, JOBS_MAX,
    Observation, OpenAttack, Pool, Setup, Size, Tally,
};
use crate::rng::{PyRandom, Streams};
use crate::slot::{PerSlot, SLOTS};
use crate::trust::Adversary;

/// What somebody thinks an episode hides.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// Who works behind each slot.
    pub assignment: [Behaviour; SLOTS],
    /// True progress of the jobs, 0..1.
    pub progress: [f64; JOBS_MAX],
    /// Priorities of the jobs, 1..=5.
    pub priorities: [u8; JOBS_MAX],
    /// Reports of the degrading behaviour.
    pub degrading_calls: u16,
    /// Level of the adversary, `1..=5`.
    pub level: u8,
    /// The attack that can still be found, and does its harm until then.
    pub open: Option<OpenAttack>,
    /// Seeds the luck that is still to come.
    pub luck: u64,
}

/// Steps until a GPU is back that is shown as recovering, which the observation does not tell.
const RECOVERY: u8 = 2;

impl Hypothesis {
    fn hidden(&self, o: &Observation) -> Hidden {
        let (size, profile) = (Size::of(o.task), &o.profile);
        let mut attacker = AdversaryState::new(&size, profile);
        let known = |attack: &Attack| o.jobs.get(attack.job).is_some();
        let gpu = |attack: &Attack| attack.gpu.0 < size.gpus;
        let open = self
            .open
            .filter(|open| known(&open.attack) && gpu(&open.attack));
        attacker.resume(self.level, o.step_count, open);
        Hidden {
            assignment: PerSlot(self.assignment),
            worker_adversary: Adversary {
                threshold: profile.adversarial_threshold,
                benign_confidence: profile.adversary_benign_confidence,
                poison_confidence: profile.adversary_poison_confidence,
            },
            attacker,
            pool: pool(o, &size),
            priorities: self.priorities,
            progress: self.progress,
            degrading_calls: self.degrading_calls,
            failures: PyRandom::new(self.luck),
            attacks: PyRandom::new(!self.luck),
        }
    }
}

/// The GPUs as they are shown; a forged row has the state that its memory gives.
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
    // What no job holds would never be given back.
    for (gpu, held) in gpus.iter_mut().zip(o.jobs.held()) {
        gpu.used = held;
    }
    Pool::of(gpus, size)
}

impl Episode {
    /// An episode that looks like `observation` and hides what `hypothesis` says. `tally` is what
    /// [`Tally::follow`] made of the observations so far.
    #[must_use]
    pub fn imagine(observation: &Observation, tally: &Tally, hypothesis: &Hypothesis) -> Self {
        Self::beneath(observation, tally, hypothesis.hidden(observation))
    }

    /// The same with hidden state as it is: for oracles.
    #[must_use]
    pub fn beneath(observation: &Observation, tally: &Tally, hidden: Hidden) -> Self {
        Self {
            observation: *observation,
            hidden,
            audit: Audit::default(),
            tally: *tally,
            setup: Setup {
                profile: observation.profile,
                rules: observation.rules,
                ..Setup::new(observation.task, 0, Streams::Independent)
            },
        }
    }
}

impl Tally {
    /// Takes in an observation, each one of an episode once and in order: everything that a tally
    /// counts can be read from them, but for which types of attack were seen.
    pub fn follow(&mut self, o: &Observation) {
        let Some(last) = &o.last else {
            return;
        };
        self.total_reward += last.reward;
        self.reward_events += 1;
        self.health_sum += o.health;
        self.utilization_sum += o.utilization;
        self.attacks_seen = ((1u16 << o.attack_types) - 1) as u8;
        self.repeats(last.action.signature());
        let placed = o
            .jobs
            .iter()
            .filter_map(|(_, job)| Some(job.placement).filter(|_| job.placed.is_some()));
        self.placements = self
            .placements
            .max(placed.map(|p| p + 1).max().unwrap_or(0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Action, Change, Rules, Task};
    use crate::slot::Slot;

    /// A day of all kinds of actions.
    fn action(step: usize) -> Action {
        let worker = Some(Slot::ALL[step * 7 % SLOTS]);
        match step % 4 {
            0 | 1 => Action::Allocate {
                job: None,
                gpu: None,
                worker,
            },
            2 => Action::Verify {
                job: None,
                worker,
                force_flag: false,
            },
            _ => Action::RequestInfo { job: None, worker },
        }
    }

    #[test]
    fn a_watcher_counts_what_the_episode_counts() {
        for rules in [Rules::REFERENCE, Rules::HARDENED.without(Change::Choices)] {
            let setup = Setup::new(Task::Task3, 4, Streams::Independent).under(rules);
            let mut episode = Episode::reset(&setup);
            let mut watched = Tally::default();
            for step in 0..40 {
                episode.step(action(step)).expect("it runs on");
                watched.follow(episode.observation());
                watched.attacks_seen = episode.tally().attacks_seen;
                watched.placements = episode.tally().placements;
                assert_eq!(&watched, episode.tally());
            }
        }
    }

    /// With hidden state as it is, what follows is what follows.
    #[test]
    fn the_episode_beneath_goes_on_as_the_episode_does() {
        let setup = Setup::new(Task::Task3, 9, Streams::Independent)
            .under(Rules::HARDENED.without(Change::Choices));
        let mut episode = Episode::reset(&setup);
        let mut watched = Tally::default();
        for step in 0..30 {
            let beneath =
                Episode::beneath(episode.observation(), &watched, episode.hidden().clone());
            let (mut a, mut b) = (episode.clone(), beneath);
            let (x, y) = (a.step(action(step)), b.step(action(step)));
            assert_eq!(x.expect("runs").grades, y.expect("runs").grades);
            assert_eq!(a.observation().jobs, b.observation().jobs);
            episode = a;
            watched.follow(episode.observation());
        }
    }

    /// What is imagined shows what was seen, and plays to its end whatever is supposed.
    #[test]
    fn an_imagined_episode_can_be_played() {
        for seed in 0..30 {
            let setup = Setup::new(Task::Task3, seed, Streams::Independent)
                .under(Rules::HARDENED.without(Change::Choices));
            let mut episode = Episode::reset(&setup);
            let mut watched = Tally::default();
            for step in 0..50 {
                if episode.step(action(step)).is_err() {
                    break;
                }
                watched.follow(episode.observation());
                let hypothesis = Hypothesis {
                    assignment: Behaviour::ALL,
                    progress: std::array::from_fn(|i| {
                        episode.observation().jobs.rows()[i].reported
                    }),
                    priorities: [3; JOBS_MAX],
                    degrading_calls: 2,
                    level: 1 + (step % 5) as u8,
                    open: None,
                    luck: seed,
                };
                let mut imagined = Episode::imagine(episode.observation(), &watched, &hypothesis);
                assert_eq!(imagined.observation(), episode.observation());
                for next in 0.. {
                    if imagined.step(action(next)).is_err() {
                        break;
                    }
                }
                assert!(imagined.observation().done());
            }
        }
    }
}
