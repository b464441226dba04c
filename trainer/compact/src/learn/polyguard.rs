//! Training on the polyguard world.

use std::sync::Arc;

use sentinel_env::polyguard::PolyguardEnv;
use sentinel_options::SeedRange;
use sentinel_policy::analysis::CompareActions;
use sentinel_policy::nn::Model;
use sentinel_policy::polyguard::learned::{
    Features, GLOBAL, LAYERS, PER_CANDIDATE, PolyguardNet, param_index,
};
use sentinel_rl::credit_options::Continuation;

use super::{Learn, NamedPolicy, belief_rollouts, scripted};
use crate::config::{Method, TrainConfig};
use crate::parameter_tensors::{Outputs, ParameterTensors};
use crate::set_net::SetInputs;
use crate::tensor::Tensor;

impl Learn for PolyguardEnv {
    const NEEDS_START: bool = true;
    const BASELINES: &'static [&'static str] = &["random", "greedy_regimen", "rules_only"];

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
