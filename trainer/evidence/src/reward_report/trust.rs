//! Reports of the trust world.

use sentinel_env::trust::{Action, Behavior, Breakdown, Session, Step, TrustEnv, text};
use sentinel_env::{Environment as _, PrivilegedState as _, Slot};
use serde::Serialize;
use serde_json::{Map, Value, json};

use super::{RewardReportable, StepExplanation};

impl RewardReportable for TrustEnv {
    fn report<'a>(session: &'a Session, _notes: &'a [StepExplanation]) -> impl Serialize + 'a {
        session.reward_report()
    }

    fn visible_state(session: &Session) -> Value {
        let o = session.episode().observation();
        json!({ "trust": o.ledger.rounded_trust(), "stakes": o.stakes })
    }

    fn hidden_truth(session: &Session) -> Value {
        let hidden = session.episode().hidden();
        let slots = Slot::ALL.map(|slot| {
            let name = hidden.assignment[slot].name();
            (slot.to_string(), Value::from(name))
        });
        json!({
            "specialists": Map::from_iter(slots),
            "adversary_threshold": hidden.adversary.threshold,
        })
    }

    fn step_truth(session: &Session, step: &Step) -> Value {
        let hidden = session.episode().hidden();
        let behavior = step
            .action
            .slot()
            .map(|slot| hidden.assignment[slot].name());
        json!({
            "specialist": behavior,
            "attack": step.adversarial,
            "caught": step.adversarial && matches!(step.action, Action::Verify(_)),
            "in_domain": step.in_domain,
            "success_chance": step.success_chance,
            "success": step.success,
        })
    }

    fn components(session: &Session, step: &Step) -> Vec<(&'static str, f64)> {
        let task = session.episode().observation().task;
        let breakdown = Breakdown::from_step(task, &step.grades);
        breakdown
            .iter()
            .map(|(name, part)| (name, part.value()))
            .collect()
    }

    fn explain_reward(_session: &Session, step: &Step) -> String {
        text::explain_reward(step)
    }

    fn loss_cause(session: &Session, step: &Step) -> &'static str {
        let hidden = session.episode().hidden();
        let behavior = step.action.slot().map(|slot| hidden.assignment[slot]);
        match (step.action, behavior) {
            (Action::Skip, _) => "skipped a subtask",
            (Action::SolveIndependently, _) => "solved without a specialist",
            (Action::Delegate(_), _) if step.adversarial => "accepted a poisoned answer",
            (Action::Verify(_), _) if step.adversarial => "cost of catching poison",
            (_, Some(Behavior::DomainBound))
                if step.success != Some(true) && step.in_domain == Some(false) =>
            {
                "failed outside the domain"
            }
            (_, Some(Behavior::Degrading)) if step.success != Some(true) => {
                "failed after degrading"
            }
            (_, Some(Behavior::OverconfidentFast)) if step.success != Some(true) => {
                "failed by overconfidence"
            }
            _ if step.success != Some(true) => "failed by chance",
            (Action::Verify(_), _) => "verified an honest answer",
            (Action::Delegate(_), _) => "succeeded, reward below 1",
        }
    }
}
