//! Tests of learned policies: what they can observe, their symmetry between slots, and their model
//! file.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use std::sync::Arc;

use proptest::prelude::*;
use sentinel_env::rng::Streams;
use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Behavior, Episode, Hidden, Setup, Task};
use sentinel_policy::cluster::learned::ClusterNet;
use sentinel_policy::nn::{
    Model, ModelConfig, ModelError, Network, Observe as _, Output, Weights, masked_argmax, softmax,
};
use sentinel_policy::polyguard::learned::PolyguardNet;
use sentinel_policy::trust::learned::{
    FEATURE_VERSION, FeatureSet, Features, Observer, PER_SLOT, Pooling, Trained, TrustNet,
};
use sentinel_policy::{Player, run_episode};

fn net(pooling: Pooling) -> TrustNet {
    TrustNet {
        hidden: 16,
        pooling,
        ..TrustNet::default()
    }
}

/// Returns weights in which every part has an effect; initial weights have heads close to 0.
fn weights(pooling: Pooling, seed: u64) -> Weights<TrustNet> {
    let fresh = Weights::init(net(pooling), seed);
    let tensors: Vec<Vec<f32>> = (fresh.iter())
        .map(|(shape, values)| {
            let wave = |i: usize| 0.2 * ((i * 7 + shape.columns) as f32).sin();
            (0..values.len()).map(wave).collect()
        })
        .collect();
    Weights::from_tensors(net(pooling), tensors).expect("the same lengths")
}

fn run(weights: &Weights<TrustNet>, features: &Features) -> Output {
    let mut output = Output::default();
    weights.forward(features, &mut weights.config().scratch(), &mut output);
    output
}

/// Returns the features of every observation along an episode with these actions.
fn walk(episode: Episode, actions: &[usize], set: FeatureSet) -> Vec<Features> {
    let (mut episode, mut observer) = (episode, Observer::new(set));
    let mut all = Vec::new();
    observer.observe(episode.observation());
    all.push(observer.features(episode.observation()));
    for action in actions {
        if episode.step(Action::ALL[*action]).is_err() {
            break;
        }
        observer.observe(episode.observation());
        all.push(observer.features(episode.observation()));
    }
    all
}

/// Returns the same action after an exchange of slots.
fn exchanged(action: usize, to: &[usize; SLOTS]) -> usize {
    match action {
        slot if slot < SLOTS => to[slot],
        slot if slot < 2 * SLOTS => SLOTS + to[slot - SLOTS],
        other => other,
    }
}

proptest! {
    /// A permutation of the slots permutes features and outputs, and changes nothing else.
    #[test]
    fn network_is_equivariant_to_slot_permutation(
        seed in 0_u64..1000,
        task in 0_usize..3,
        actions in prop::collection::vec(0_usize..12, 0..30),
        order in Just([0_usize, 1, 2, 3, 4]).prop_shuffle(),
    ) {
        let start = Episode::reset(&Setup::new(Task::ALL[task], seed, Streams::Independent));
        let mut moved = [Behavior::AccurateSlow; SLOTS];
        for (slot, behavior) in start.hidden().assignment.0.iter().enumerate() {
            moved[order[slot]] = *behavior;
        }
        let other = start.with_hidden(start.hidden().with_assignment(moved));
        let there: Vec<usize> = actions.iter().map(|a| exchanged(*a, &order)).collect();
        let a = walk(start, &actions, FeatureSet::Full);
        let b = walk(other, &there, FeatureSet::Full);
        prop_assert_eq!(a.len(), b.len());
        for pooling in [Pooling::None, Pooling::Mean, Pooling::Max] {
            let weights = weights(pooling, seed);
            for (a, b) in a.iter().zip(&b) {
                prop_assert_eq!(a.global, b.global);
                let (a, b) = (run(&weights, a), run(&weights, b));
                for (action, logit) in a.logits.iter().enumerate() {
                    let other = b.logits[exchanged(action, &order)];
                    prop_assert!((logit - other).abs() < 1e-4, "{logit} {other}");
                }
                let rows = |output: &Output| -> Vec<Vec<f32>> {
                    output.beliefs.chunks_exact(SLOTS).map(<[f32]>::to_vec).collect()
                };
                let (ours, theirs) = (rows(&a), rows(&b));
                for (slot, belief) in ours.iter().enumerate() {
                    for (x, y) in belief.iter().zip(&theirs[order[slot]]) {
                        prop_assert!((x - y).abs() < 1e-4);
                    }
                }
            }
        }
    }

    /// Features are finite numbers of moderate size for any sequence of actions.
    #[test]
    fn features_stay_in_range(
        seed in 0_u64..1000,
        task in 0_usize..3,
        actions in prop::collection::vec(0_usize..12, 0..45),
    ) {
        let start = Episode::reset(&Setup::new(Task::ALL[task], seed, Streams::Independent));
        for features in walk(start, &actions, FeatureSet::Full) {
            for value in features.slots.iter().flatten().chain(&features.global) {
                prop_assert!(value.is_finite() && value.abs() < 50.0, "{value}");
            }
        }
    }
}

/// Episodes that differ only in hidden state give the same features until a specialist reports.
#[test]
fn features_do_not_reveal_assignment_before_reports() {
    for task in Task::ALL {
        for seed in 0..50 {
            let start = Episode::reset(&Setup::new(task, seed, Streams::Independent));
            let mut turned = start.hidden().assignment.0;
            turned.rotate_left(1 + seed as usize % 4);
            let hidden: Hidden = start.hidden().with_assignment(turned);
            let other = start.with_hidden(hidden);
            let quiet = [10, 11, 10, 11, 10];
            let (a, b) = (
                walk(start, &quiet, FeatureSet::Full),
                walk(other, &quiet, FeatureSet::Full),
            );
            assert_eq!(a, b, "{task} seed {seed}");
        }
    }
}

/// Without history, the results of calls do not reach the slot features.
#[test]
fn no_history_features_have_zero_slots() {
    let start = Episode::reset(&Setup::new(Task::Task3, 7, Streams::Independent));
    for features in walk(start, &[0, 1, 5, 2, 3], FeatureSet::NoHistory) {
        assert_eq!(features.slots, [[0.0; PER_SLOT]; SLOTS]);
    }
}

#[test]
fn probabilities_and_beliefs_are_distributions() {
    let model = Arc::new(Model {
        config: ModelConfig::new("test", net(Pooling::Mean)),
        weights: weights(Pooling::Mean, 3),
    });
    for task in Task::ALL {
        let mut player = Player::Public(Box::new(Trained::new(Arc::clone(&model))));
        let setup = Setup::new(task, 11, Streams::Independent);
        let session = run_episode(&setup, &mut player);
        assert!(
            session.episode().observation().done(),
            "it plays to the end"
        );
        let mut player = Player::Public(Box::new(Trained::new(Arc::clone(&model))));
        player.observe(&Episode::reset(&setup));
        let probabilities = player.probabilities().expect("a learned policy has them");
        assert!((probabilities.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for row in player.belief().expect("it has a belief") {
            assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-12);
        }
    }
}

#[test]
fn masked_actions_have_zero_probability() {
    let logits = [1.0, 50.0, 1.0];
    assert_eq!(softmax(&logits, &[true, false, true]), [0.5, 0.0, 0.5]);
    assert_eq!(softmax(&logits, &[false; 3]), [0.0; 3]);
    assert_eq!(masked_argmax(&logits, &[true, false, true]), Some(0));
    assert_eq!(masked_argmax(&logits, &[false; 3]), None);
}

#[test]
fn model_roundtrips_through_bytes() {
    for pooling in [Pooling::None, Pooling::Mean, Pooling::Max] {
        let model = Model {
            config: ModelConfig::new("test", net(pooling)),
            weights: weights(pooling, 5),
        };
        let bytes = model.to_bytes().expect("it can be written");
        assert_eq!(
            model.to_bytes().expect("again"),
            bytes,
            "always the same bytes"
        );
        assert_eq!(Model::from_bytes(&bytes).expect("it can be read"), model);
    }
}

fn refused(model: &Model<TrustNet>) -> ModelError {
    let bytes = model.to_bytes().expect("it can be written");
    Model::<TrustNet>::from_bytes(&bytes).expect_err("it is not for this build")
}

#[test]
fn invalid_model_is_refused() {
    let good = Model {
        config: ModelConfig::new("test", net(Pooling::Mean)),
        weights: weights(Pooling::Mean, 5),
    };
    let bytes = good.to_bytes().expect("it can be written");
    for length in [0, 7, 8, 100, bytes.len() / 2, bytes.len() - 1] {
        let error = Model::<TrustNet>::from_bytes(&bytes[..length]).expect_err("it is cut off");
        assert!(error.to_string().contains("cut off"), "{length}: {error}");
    }
    assert!(Model::<TrustNet>::from_bytes(b"{\"format\": \"something else\"}").is_err());
    for (bytes, remedy) in [
        (
            &b"version https://git-lfs.github.com/spec/v1\noid sha256:17600954\nsize 793297\n"[..],
            "it is a git-lfs pointer, not the file itself: run `git lfs pull` in its folder",
        ),
        (b"<!DOCTYPE html>", "it is a web page: download the file"),
    ] {
        let error = Model::<TrustNet>::from_bytes(bytes).expect_err("it is no model");
        assert!(error.to_string().starts_with(remedy), "{error}");
    }

    let mut other = good.clone();
    other.config.world = "cluster".to_owned();
    assert!(refused(&other).to_string().contains("world cluster"));
    let mut other = good.clone();
    other.config.net.feature_version = FEATURE_VERSION + 1;
    assert!(matches!(refused(&other), ModelError::Features { .. }));
    let mut other = good.clone();
    other.config.net.hidden = 17;
    assert!(matches!(refused(&other), ModelError::Tensor { .. }));
    let mut other = good.clone();
    other.config.net.hidden = 0;
    assert!(matches!(refused(&other), ModelError::Hidden(0)));

    let mut tensors: Vec<Vec<f32>> = good.weights.iter().map(|(_, v)| v.to_vec()).collect();
    tensors[0][3] = f32::NAN;
    let spoilt = Model {
        weights: Weights::from_tensors(net(Pooling::Mean), tensors).expect("the same lengths"),
        ..good
    };
    assert!(matches!(refused(&spoilt), ModelError::NotFinite(_)));
}

/// Asserts that every feature of a network has a distinct name, and that its factors cover the
/// columns without gaps.
fn is_well_formed<N: Network>() {
    for schema in N::FEATURE_SCHEMAS {
        let mut names = schema.names.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), schema.width(), "{}: a name twice", schema.row);
        assert!(names.iter().all(|name| !name.is_empty()), "{}", schema.row);
    }
    let mut end = 0;
    for segment in N::FACTOR_COLUMNS {
        assert_eq!(segment.start, end, "{}", N::WORLD);
        end = segment.end;
    }
    assert_eq!(end, N::LOGITS, "{}", N::WORLD);
}

#[test]
fn network_schemas_are_well_formed() {
    is_well_formed::<TrustNet>();
    is_well_formed::<ClusterNet>();
    is_well_formed::<PolyguardNet>();
}
