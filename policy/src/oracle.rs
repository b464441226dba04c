//! The reference's oracle (spec training-eval §1). Reads hidden state.

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::argmax;
use sentinel_env::trust::{Action, Behaviour, Hidden, Observation, Task};

use crate::Oracle;

/// Verifies the known adversary when task3's stakes are high, else calls the most reliable slot.
pub struct OracleLite;

impl Oracle for OracleLite {
    fn choose(&mut self, observation: &Observation, hidden: &Hidden) -> Action {
        if observation.task == Task::Task3 && observation.stakes >= HIGH_STAKES {
            Action::Verify(hidden.slot_of(Behaviour::Adversarial))
        } else {
            Action::Delegate(argmax(&hidden.reliability()))
        }
    }
}
