//! Memory of earlier observations.

use sentinel_env::cluster::{Action, OPEN_STEPS, Observation};
use sentinel_env::slot::SLOTS;

use crate::cluster::evidence::Speeds;

/// Actions that the count of loops looks back on.
const RECENT: usize = 6;

/// Memory over the observations of an episode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    step: u8,
    /// Who works at half speed.
    pub(crate) speeds: Speeds,
    /// Jobs that were given to a worker.
    pub(crate) given: [u8; SLOTS],
    /// The last actions, the latest first.
    pub(crate) recent: [Option<Action>; RECENT],
    attempts: u16,
    over: u16,
    /// The step at which an attack came that was not found since.
    attack: Option<u8>,
}

impl History {
    /// Takes in an observation: each one of an episode once, in order.
    pub(crate) fn observe(&mut self, o: &Observation) {
        self.speeds.observe(o);
        self.step = o.step_count;
        if let Some(last) = &o.last {
            self.recent.rotate_right(1);
            self.recent[0] = Some(last.action);
            if let (
                Action::Allocate {
                    worker: Some(worker),
                    ..
                },
                true,
            ) = (last.action, last.success)
            {
                self.given[worker.index()] = self.given[worker.index()].saturating_add(1);
            }
        }
        let over = o.counters.detections + o.counters.missed;
        if over > self.over {
            self.attack = None;
        } else if o.counters.attempts > self.attempts {
            self.attack = Some(o.step_count);
        }
        (self.attempts, self.over) = (o.counters.attempts, over);
    }

    /// Steps since an attack came that may still be found.
    pub(crate) fn alarm(&self) -> Option<u8> {
        let since = self.step - self.attack?;
        (since < OPEN_STEPS).then_some(since)
    }

    /// Share of the last actions of which something holds.
    pub(crate) fn share(&self, holds: impl Fn(&Action) -> bool) -> f64 {
        let count = self.recent.iter().flatten().filter(|a| holds(a)).count();
        count as f64 / RECENT as f64
    }
}
