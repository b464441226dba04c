//! The privileged policy of the reference (spec evaluation §1.2).

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Behavior, Episode, Task, TrustEnv};

use crate::policy::PrivilegedPolicy;

/// A privileged policy that verifies the adversary at high stakes of task3, and otherwise calls the
/// most reliable slot.
pub struct OracleLite;

impl PrivilegedPolicy<TrustEnv> for OracleLite {
    fn choose(&mut self, episode: &Episode) -> Action {
        let (observation, hidden) = (episode.observation(), episode.hidden());
        if observation.task == Task::Task3 && observation.stakes >= HIGH_STAKES {
            Action::Verify(hidden.slot_of(Behavior::Adversarial))
        } else {
            Action::Delegate(argmax(&hidden.reliability()))
        }
    }
}
