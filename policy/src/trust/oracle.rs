//! The reference's oracle (spec training-eval §1). Reads hidden state.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Behaviour, Episode, Task, TrustEnv};

use crate::policy::PrivilegedPolicy;

/// Verifies the known adversary when task3's stakes are high, else calls the most reliable slot.
pub struct OracleLite;

impl PrivilegedPolicy<TrustEnv> for OracleLite {
    fn choose(&mut self, episode: &Episode) -> Action {
        let (observation, hidden) = (episode.observation(), episode.hidden());
        if observation.task == Task::Task3 && observation.stakes >= HIGH_STAKES {
            Action::Verify(hidden.slot_of(Behaviour::Adversarial))
        } else {
            Action::Delegate(argmax(&hidden.reliability()))
        }
    }
}
