//! Memory over the earlier observations of an episode.

use sentinel_env::cluster::{Action, DETECTION_WINDOW, Observation};
use sentinel_env::slot::SLOTS;

use crate::cluster::evidence::Speeds;

/// Number of recent actions that features count over, the window of the environment's loop count.
const RECENT: usize = 6;

/// Memory over the observations of an episode.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct History {
    step: u8,
    /// Working speed of each worker.
    pub(crate) speeds: Speeds,
    /// Number of jobs allocated to each worker.
    pub(crate) given: [u8; SLOTS],
    /// The most recent actions, latest first.
    pub(crate) recent: [Option<Action>; RECENT],
    attempts: u16,
    over: u16,
    /// Step of the latest attack, unless one was found or missed since.
    attack: Option<u8>,
}

impl History {
    /// Updates the memory with an observation. Call it once for every observation of an episode, in
    /// order.
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

    /// Returns the number of steps since an attack that can still be found; `None` if there is
    /// none.
    pub(crate) fn steps_since_open_attack(&self) -> Option<u8> {
        let since = self.step - self.attack?;
        (since < DETECTION_WINDOW).then_some(since)
    }

    /// Returns the number of recent actions for which `holds` is `true`, divided by [`RECENT`].
    pub(crate) fn recent_share(&self, holds: impl Fn(&Action) -> bool) -> f64 {
        let count = self.recent.iter().flatten().filter(|a| holds(a)).count();
        count as f64 / RECENT as f64
    }
}
