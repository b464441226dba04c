//! Training on the polyguard world.

use std::sync::Arc;

use sentinel_env::Environment;
use sentinel_env::polyguard::{ActKind, EndReason, PolyguardEnv, Step};
use sentinel_options::SeedRange;
use sentinel_policy::analysis::CompareActions;
use sentinel_policy::nn::Model;
use sentinel_policy::polyguard::learned::{
    Features, GLOBAL, LAYERS, PER_CANDIDATE, PolyguardNet, param_index,
};
use sentinel_rl::credit_options::Continuation;

use super::{ActionKind, Learn, NamedPolicy, Rate, RateCount, StepKind, belief_rollouts, scripted};
use crate::config::{Method, TrainConfig};
use crate::parameter_tensors::{Outputs, ParameterTensors};
use crate::set_net::SetInputs;
use crate::tensor::Tensor;

impl Learn for PolyguardEnv {
    const NEEDS_START: bool = true;
    const BASELINES: &'static [&'static str] = &["random", "greedy_regimen", "rules_only"];
    const RATES: &'static [Rate] = &[
        Rate {
            name: "Left with a serious pair",
            unit: "patients",
            help: "Episodes at whose end two medicines that form a serious pair are taken together, flagged \
                   or not.",
        },
        Rate {
            name: "Made it riskier",
            unit: "changes",
            help: "Changes of the regimen after which the true risk was higher than before the step.",
        },
        Rate {
            name: "Looked first",
            unit: "patients with a change",
            help: "Episodes in which a step had brought information before the first change of the regimen, \
                   of those with a change.",
        },
        Rate {
            name: "Resolved safely",
            unit: "patients",
            help: "Episodes that ended because all issues were resolved and nothing was made worse.",
        },
    ];
    const ACTION_KINDS: &'static [ActionKind] = &[
        ActionKind::new("Gather information", "question", "questions"),
        ActionKind::new("Change a dose", "change of a dose", "changes of doses"),
        ActionKind::new(
            "Stop or replace",
            "medicine stopped or replaced",
            "medicines stopped or replaced",
        ),
        ActionKind::new(
            "Keep the regimen",
            "step without a change",
            "steps without a change",
        ),
        ActionKind::new("Ask for a review", "review asked for", "reviews asked for"),
    ];
    const HARM: &'static str = "raised the risk";

    fn net(config: &TrainConfig) -> PolyguardNet {
        PolyguardNet {
            hidden: config.hidden,
            ..PolyguardNet::default()
        }
    }

    fn describe(net: &PolyguardNet) -> String {
        format!(
            "an agent that makes a simulated medication regimen safer under missing data; for \
             research only, never for the care of a patient. It is a small network (two layers of \
             {} hidden units over each candidate, exchanged through their mean; features of \
             version {}, which know archetypes by their traits alone); it plays the most probable \
             candidate and names what that is about as its rationale.",
            net.hidden, net.feature_version,
        )
    }

    /// Trains on the archetypes and pairs that are not held out, with the hardened rules: the
    /// held-out ones are for measuring afterwards. Twenty-four cells share the groups of an update.
    fn preset(config: &mut TrainConfig, quick: bool) {
        config.rules = "hardened".to_owned();
        config.split = "train".to_owned();
        config.teacher = "rules_only".to_owned();
        config.belief_coef = 0.0;
        config.validation_seeds = SeedRange::new(5_000, 5_050);
        config.test_seeds = SeedRange::new(1_000, 1_200);
        config.snapshots_per_episode = 4;
        config.num_generations = 8;
        config.continuation = Continuation::Greedy;
        match config.method {
            Method::Grpo => {
                // Less entropy or a lower rate ends in a local optimum (docs/polyguard.md).
                (config.max_steps, config.episodes_per_update) = (1_000, 192);
                (config.learning_rate, config.entropy_coef) = (0.004, 0.1);
            }
            Method::Imitation => (config.max_steps, config.episodes_per_update) = (40, 192),
            Method::ExpertIteration => {
                (config.max_steps, config.episodes_per_update) = (200, 384);
                config.lookahead_rollouts = 8;
            }
        }
        if quick {
            config.max_steps = match config.method {
                Method::Grpo => 150,
                _ => config.max_steps.div_ceil(8),
            };
            config.validation_seeds = SeedRange::new(5_000, 5_010);
            config.test_seeds = SeedRange::new(1_000, 1_030);
        }
    }

    fn policies() -> Vec<NamedPolicy<Self>> {
        scripted()
    }

    fn action_comparison(
        model: &Arc<Model<Self::Net>>,
        setup: &Self::Setup,
    ) -> Option<Box<dyn CompareActions<Self>>> {
        belief_rollouts(model, setup)
    }

    fn rate_counts(episode: &Self, steps: &[Step]) -> Vec<RateCount> {
        let changes = || steps.iter().filter(|step| is_change(step));
        let looked = match steps.iter().position(is_change) {
            Some(first) => RateCount::from_one(steps[..first].iter().any(|step| step.gained)),
            None => RateCount::default(),
        };
        vec![
            RateCount::from_one(episode.serious_pairs() != 0),
            RateCount::from_items(changes(), |step| raised_risk(step)),
            looked,
            RateCount::from_one(episode.observation().end == Some(EndReason::SafeResolution)),
        ]
    }

    /// Returns no label: the acts of a kind are told apart by their words.
    fn step_kind(_before: &Self, step: &Step, _after: &Self) -> StepKind {
        let kind = match step.act.map(|act| act.kind) {
            Some(kind) if kind.is_information() => 0,
            Some(kind) if kind.is_review() => 4,
            Some(ActKind::AdjustDoseBucket | ActKind::HoldDose) => 1,
            Some(kind) if kind.is_taper() => 1,
            Some(kind) if kind.is_change() => 2,
            // An answer that stands for no act changes nothing.
            _ => 3,
        };
        StepKind {
            kind,
            is_harmful: raised_risk(step),
            ..StepKind::default()
        }
    }

    /// Computes the logits of the candidates, of which only those that are shown count.
    fn forward<T: Tensor>(
        net: &ParameterTensors<PolyguardNet, T>,
        features: &[&Features],
    ) -> Outputs<T> {
        let global = features.iter().flat_map(|one| one.global).collect();
        let global = T::constant(global, [features.len(), GLOBAL], net.device());
        let sets = (features.iter()).map(|one| (one.candidates.as_flattened(), &one.shown[..]));
        let candidates = SetInputs::from_sets(sets, PER_CANDIDATE, net.device());
        let shared = net.linear(global, param_index::GLOBAL_INPUT, param_index::INPUT_BIAS);
        candidates.logits(net, &LAYERS, shared)
    }
}

/// Returns `true` if the step changed the regimen: refused steps and exploits do not.
fn is_change(step: &Step) -> bool {
    let is_carried_out = step.violation.is_none() && step.exploit.is_none();
    is_carried_out && step.act.is_some_and(|act| act.kind.is_change())
}

/// Returns `true` if the true risk was higher after the step.
fn raised_risk(step: &Step) -> bool {
    step.risk[1] > step.risk[0]
}
