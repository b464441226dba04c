//! The network of the polyguard world, and the parts of a step that an evaluation counts.

use sentinel_env::Named as _;
use sentinel_env::polyguard::{Action, Component, Exploit, PolyguardEnv, Step, TaskSpec};

use super::PolyguardNet;
use crate::nn::{NetworkWorld, Published, StepFacts};

impl NetworkWorld for PolyguardEnv {
    type Net = PolyguardNet;

    const EXPLOITS: &'static [&'static str] = Exploit::NAMES;

    fn split(task: TaskSpec) -> Option<&'static str> {
        Some(task.split().name())
    }

    fn step_facts(step: &Step) -> Option<StepFacts> {
        let values = step.reward.components;
        let candidate = match step.action {
            Action::Choose(choice) => Some(choice.id.to_string()),
            Action::Invalid(_) | Action::Exploit => None,
        };
        Some(StepFacts {
            components: (Component::ALL.into_iter().map(Component::name))
                .zip(values)
                .collect(),
            exploit: step.exploit.map(Exploit::name),
            refused: step.violation.is_some(),
            kind: step.act.map(|act| act.kind.name()),
            candidate,
        })
    }
}

impl Published for PolyguardEnv {
    const MODELS: [&'static str; 2] = ["replays/polyguard-grpo"; 2];
}
