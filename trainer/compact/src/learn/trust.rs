//! Training on the trust world.

use std::sync::Arc;

use sentinel_env::ledger::HIGH_STAKES;
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Behavior, Step, TrustEnv};
use sentinel_env::{Environment, PrivilegedState};
use sentinel_options::SeedRange;
use sentinel_policy::analysis::CompareActions;
use sentinel_policy::nn::{Choice, Model};
use sentinel_policy::trust::learned::{
    Features, GLOBAL, GLOBAL_ACTIONS, PER_SLOT, Pooling, SLOT_ACTIONS, TrustNet, param_index,
};

use super::{ActionKind, Learn, NamedPolicy, Rate, RateCount, StepKind, belief_rollouts, scripted};
use crate::config::{Method, TrainConfig};
use crate::option_values::display_value;
use crate::parameter_tensors::{Outputs, ParameterTensors};
use crate::tensor::Tensor;

/// The tolerance within which a teacher's action values tie with its best.
const TIE: f64 = 1e-9;

impl Learn for TrustEnv {
    const OPTIONS: &'static [&'static str] = &["pooling", "features"];
    const BASELINES: &'static [&'static str] =
        &["random", "heuristic", "self_solve", "oracle_lite", "bayes"];
    const RATES: &'static [Rate] = &[
        Rate {
            name: "Fooled by the liar",
            unit: "high-stakes steps",
            help: "Steps at stakes of .70 or more in which a poisoned answer was accepted, of all steps at \
                   such stakes.",
        },
        Rate {
            name: "Verified",
            unit: "high-stakes steps",
            help: "Steps at stakes of .70 or more in which an answer was verified, of all steps at such \
                   stakes.",
        },
        Rate {
            name: "Given to the liar",
            unit: "delegations",
            help: "Delegations, which are calls without a check, to the specialist that lies, at any stakes.",
        },
        Rate {
            name: "Solved alone",
            unit: "subtasks",
            help: "Subtasks that the policy solved without a specialist, of all subtasks of the episodes.",
        },
    ];
    const ACTION_KINDS: &'static [ActionKind] = &[
        ActionKind::new("Delegate", "delegation", "delegations"),
        ActionKind::new("Verify", "verification", "verifications"),
        ActionKind::new(
            "Solve alone",
            "subtask solved alone",
            "subtasks solved alone",
        ),
        ActionKind::new("Skip", "subtask skipped", "subtasks skipped"),
    ];
    const HARM: &'static str = "fooled";

    fn net(config: &TrainConfig) -> TrustNet {
        TrustNet {
            features: config.features,
            hidden: config.hidden,
            pooling: config.pooling,
            ..TrustNet::default()
        }
    }

    fn describe(net: &TrustNet) -> String {
        format!(
            "an orchestrator that hands out work and finds out, from public observations alone, \
             which of five specialists to believe. It is a small network (two layers of {} hidden \
             units over each slot, pooling between them: {}, features: {}, version {}); it plays \
             the most probable action.",
            net.hidden,
            display_value(&net.pooling),
            display_value(&net.features),
            net.feature_version,
        )
    }

    fn preset(config: &mut TrainConfig, quick: bool) {
        if config.method == Method::Imitation {
            config.episodes_per_update = 96;
        }
        if !quick {
            return;
        }
        match config.method {
            // With smaller updates a high rate learns fastest, and more entropy keeps verification in use
            // until its results are understood (docs/algorithms/grpo.md).
            Method::Grpo => {
                (config.max_steps, config.episodes_per_update) = (100, 192);
                (config.learning_rate, config.entropy_coef) = (0.008, 0.1);
            }
            Method::Imitation => config.max_steps = 25,
            Method::ExpertIteration => config.max_steps = 10,
        }
        // Evaluations play fewer episodes too; the look-ahead of `bayes` takes most of their time.
        config.validation_seeds = SeedRange::new(5_000, 5_300);
        config.test_seeds = SeedRange::new(1_000, 1_400);
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

    fn best_choices(action_values: &[f64]) -> Option<Vec<Choice>> {
        let best = (action_values.iter().copied()).fold(f64::NEG_INFINITY, f64::max);
        let good = (0..action_values.len()).filter(|index| action_values[*index] >= best - TIE);
        Some(good.map(Choice::single).collect())
    }

    fn belief_targets(&self) -> Vec<u8> {
        let behaviors = self.hidden().assignment.0;
        behaviors.map(|behavior| behavior as u8).to_vec()
    }

    /// Counts stakes as high from [`HIGH_STAKES`] on, as the evidence about a slot does.
    fn rate_counts(episode: &Self, steps: &[Step]) -> Vec<RateCount> {
        let high = || steps.iter().filter(|step| step.stakes >= HIGH_STAKES);
        let liar = episode.hidden().slot_of(Behavior::Adversarial);
        let delegated = steps.iter().filter_map(|step| match step.action {
            Action::Delegate(slot) => Some(slot),
            _ => None,
        });
        let alone = |step: &&Step| step.action == Action::SolveIndependently;
        vec![
            RateCount::from_items(high(), |step| is_fooled(step)),
            RateCount::from_items(high(), |step| matches!(step.action, Action::Verify(_))),
            RateCount::from_items(delegated, |slot| *slot == liar),
            RateCount {
                of: episode.observation().progress.nodes().len() as f64,
                ..RateCount::from_items(steps.iter(), alone)
            },
        ]
    }

    fn step_kind(_before: &Self, step: &Step, _after: &Self) -> StepKind {
        let slot = step.action.slot();
        StepKind {
            kind: step.action.action_type() as usize,
            label: slot.map_or_else(String::new, |slot| slot.to_string()),
            is_harmful: is_fooled(step),
        }
    }

    /// Computes the formula that `sentinel_policy::trust::learned` documents at the plain pass.
    fn forward<T: Tensor>(
        net: &ParameterTensors<TrustNet, T>,
        features: &[&Features],
    ) -> Outputs<T> {
        let (batch, device) = (features.len(), net.device());
        let slots = features.iter().flat_map(|one| one.slots.as_flattened());
        let slots = slots.copied().collect();
        let slots = T::constant(slots, [batch * SLOTS, PER_SLOT], device);
        let global = features.iter().flat_map(|one| one.global).collect();
        let global = T::constant(global, [batch, GLOBAL], device);

        let shared = net.linear(global, param_index::GLOBAL_INPUT, param_index::INPUT_BIAS);
        let first = net.set_layer(slots, param_index::SLOT_INPUT, shared);
        let pooled = match net.config().pooling {
            Pooling::None => None,
            Pooling::Mean => Some(first.clone().mean_sets(SLOTS)),
            Pooling::Max => Some(first.clone().max_sets(SLOTS)),
        };
        let shared = match pooled {
            Some(pooled) => net.linear(pooled, param_index::POOL_HIDDEN, param_index::HIDDEN_BIAS),
            None => net.parameter(param_index::HIDDEN_BIAS).repeat_row(batch),
        };
        heads(net, net.set_layer(first, param_index::SLOT_HIDDEN, shared))
    }
}

/// Returns `true` if a poisoned answer was accepted, which is what the episode counts as a poisoning.
fn is_fooled(step: &Step) -> bool {
    step.adversarial && step.success == Some(false)
}

/// Computes the outputs from the second layer, `[batch * slots, hidden]`.
fn heads<T: Tensor>(net: &ParameterTensors<TrustNet, T>, second: T) -> Outputs<T> {
    let (mean, rows) = (second.clone().mean_sets(SLOTS), second.grouped());
    let slots = net.linear(
        rows.clone(),
        param_index::SLOT_ACTIONS,
        param_index::SLOT_ACTIONS_BIAS,
    );
    let others = net.linear(
        mean,
        param_index::GLOBAL_ACTIONS,
        param_index::GLOBAL_ACTIONS_BIAS,
    );
    debug_assert_eq!(slots.size()[1], SLOT_ACTIONS);
    debug_assert_eq!(others.size()[1], GLOBAL_ACTIONS);
    Outputs {
        logits: T::beside(vec![slots.flatten_sets(SLOTS), others]),
        beliefs: Some(net.linear(rows, param_index::BELIEF, param_index::BELIEF_BIAS)),
    }
}
