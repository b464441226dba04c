//! The plain forward pass, which plays, against burn's, which is trained: equal to 1e-5 in the
//! trust world and to 1e-4 in the others.

use burn::tensor::Tensor;
use sentinel_base::files::read_replay_of;
use sentinel_compact::learn::Learn;
use sentinel_compact::parameter_tensors::ParameterTensors;
use sentinel_env::Environment;
use sentinel_env::cluster::{self, ClusterEnv};
use sentinel_env::polyguard::{self, MAX_CANDIDATES, PolyguardEnv};
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Episode, Observation, TrustEnv};
use sentinel_policy::cluster::PolicyName;
use sentinel_policy::cluster::learned::{COLUMNS, ClusterNet, Observer as ClusterObserver};
use sentinel_policy::nn::{Architecture, Network as _, Observe as _, Output, Weights};
use sentinel_policy::polyguard::PolicyName as PolyguardPolicy;
use sentinel_policy::polyguard::learned::{Observer as PolyguardObserver, PolyguardNet};
use sentinel_policy::trust::learned::{FeatureSet, Features, Observer, Pooling, TrustNet};
use sentinel_tensor::device::DeviceName;

/// The number of observations that are compared.
const COUNT: usize = 1000;

/// Returns features of observations along the episodes of the committed replays.
fn recorded() -> Vec<Features> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../replays");
    let mut all = Vec::new();
    for file in [
        "heuristic-independent.jsonl",
        "random-independent.jsonl",
        "bayes-reference.jsonl",
    ] {
        let path = std::path::PathBuf::from(format!("{folder}/{file}"));
        let replay = read_replay_of::<TrustEnv>(&path).expect("a committed replay");
        assert_eq!(replay.problem_count(), 0, "{file}");
        for origin in replay.episodes() {
            let mut episode = Episode::reset(&origin.setup());
            let mut observer = Observer::new(FeatureSet::Full);
            let look = |observer: &mut Observer, observation: &Observation| {
                observer.observe(observation);
                observer.features(observation)
            };
            all.push(look(&mut observer, episode.observation()));
            let rows = replay.episode(origin).expect("a listed episode");
            for row in rows.iter() {
                let action = row.row.action.action;
                episode.step(action).expect("it fits");
                all.push(look(&mut observer, episode.observation()));
            }
        }
    }
    assert!(
        all.len() >= COUNT,
        "only {} recorded observations",
        all.len()
    );
    // Spread over all of them, not only the first episodes.
    (0..COUNT).map(|i| all[i * all.len() / COUNT]).collect()
}

fn values(tensor: Tensor<2>) -> Vec<f32> {
    tensor.try_into_vec_as().expect("numbers")
}

#[test]
fn trust_network_matches_burn() {
    let features = recorded();
    let device = DeviceName::Cpu
        .open()
        .expect("the processor is always there");
    for pooling in [Pooling::None, Pooling::Mean, Pooling::Max] {
        let config = TrustNet {
            pooling,
            ..TrustNet::default()
        };
        let weights = scaled_weights(config);
        let net = ParameterTensors::<_, Tensor<2>>::new(&weights, &device);
        let outputs = TrustEnv::forward(&net, &features.iter().collect::<Vec<_>>());
        let (actions, beliefs) = (
            values(outputs.logits),
            values(outputs.beliefs.expect("the network has a belief")),
        );
        let (mut scratch, mut plain) = (weights.config().scratch(), Output::default());
        let (mut worst, mut largest) = (0.0_f32, 0.0_f32);
        for (index, features) in features.iter().enumerate() {
            weights.forward(features, &mut scratch, &mut plain);
            let ours = plain.logits.iter().chain(&plain.beliefs);
            let theirs = (actions[index * 12..][..12].iter()).chain(&beliefs[index * 25..][..25]);
            for (ours, theirs) in ours.zip(theirs) {
                worst = worst.max((ours - theirs).abs());
                largest = largest.max(ours.abs());
            }
        }
        assert!(worst < 1e-5, "{pooling:?}: they differ by {worst}");
        assert!(
            largest > 0.5,
            "{pooling:?}: the largest output is only {largest}"
        );
        assert_eq!(
            net.weights().expect("it can be read"),
            weights,
            "nothing changed"
        );
    }
}

/// Returns fresh weights with scaled heads, since fresh ones are close to 0.
fn scaled_weights<A: Architecture>(config: A) -> Weights<A> {
    let fresh = Weights::init(config, 9);
    let tensors: Vec<Vec<f32>> = (fresh.iter())
        .map(|(shape, values)| {
            let scale = if ["policy", "belief", "head"]
                .iter()
                .any(|part| shape.name.contains(part))
            {
                50.0
            } else {
                1.0
            };
            values.iter().map(|v| v * scale).collect()
        })
        .collect();
    Weights::from_tensors(config, tensors).expect("the same lengths")
}

/// The cluster world's network agrees too, along the planner's episodes.
#[test]
fn cluster_network_matches_burn() {
    let device = DeviceName::Cpu.open().expect("the processor is there");
    let mut features = Vec::new();
    for (seed, task) in (0..).zip(cluster::Task::ALL) {
        let setup = cluster::Setup::new(task, seed, Streams::Independent);
        let mut player = PolicyName::Planner.player(seed, setup.streams);
        let mut episode = cluster::Episode::reset(&setup);
        let mut observer = ClusterObserver::default();
        while let Some(action) = player.act(&episode) {
            observer.observe(episode.observation());
            features.push(observer.features(episode.observation()));
            episode.step(action).expect("it names what there is");
        }
    }
    assert!(features.len() > 60, "{} observations", features.len());
    let weights = scaled_weights(ClusterNet::default());
    let net = ParameterTensors::<_, Tensor<2>>::new(&weights, &device);
    let outputs = ClusterEnv::forward(&net, &features.iter().collect::<Vec<_>>());
    let (actions, beliefs) = (
        values(outputs.logits),
        values(outputs.beliefs.expect("the network has a belief")),
    );
    let (mut scratch, mut plain) = (weights.config().scratch(), Output::default());
    let mut largest = 0.0_f32;
    for (index, features) in features.iter().enumerate() {
        weights.forward(features, &mut scratch, &mut plain);
        let rows = &actions[index * COLUMNS..][..COLUMNS];
        for (column, (ours, theirs)) in plain.logits.iter().zip(rows).enumerate() {
            // Rows that take no part have no logit in the plain pass, and are never legal.
            let absent = *ours == 0.0;
            assert!(
                absent || (ours - theirs).abs() < 1e-4,
                "{column}: {ours} and {theirs}"
            );
            largest = largest.max(ours.abs());
        }
        let rows = &beliefs[index * 25..][..25];
        for (ours, theirs) in plain.beliefs.iter().zip(rows) {
            assert!((ours - theirs).abs() < 1e-4, "belief: {ours} and {theirs}");
        }
    }
    assert!(largest > 0.5, "the largest output is only {largest}");
}

/// PolyGuard's network agrees too, along the plain rules' episodes in all cells.
#[test]
fn polyguard_network_matches_burn() {
    let device = DeviceName::Cpu.open().expect("the processor is there");
    let mut features = Vec::new();
    for (seed, case) in (0..).zip(polyguard::TaskSpec::ALL) {
        let mut player = PolyguardPolicy::RulesOnly.player(seed, Streams::Independent);
        let mut episode = polyguard::Episode::reset(&polyguard::Setup::new(case, seed));
        let mut observer = PolyguardObserver::default();
        while let Some(action) = player.act(&episode) {
            observer.observe(episode.observation());
            features.push(observer.features(episode.observation()));
            episode.step(action).expect("it names what is shown");
        }
    }
    assert!(features.len() > 60, "{} observations", features.len());
    let weights = scaled_weights(PolyguardNet::default());
    let net = ParameterTensors::<_, Tensor<2>>::new(&weights, &device);
    let outputs = PolyguardEnv::forward(&net, &features.iter().collect::<Vec<_>>());
    let actions = values(outputs.logits);
    let (mut scratch, mut plain) = (weights.config().scratch(), Output::default());
    let mut largest = 0.0_f32;
    for (index, features) in features.iter().enumerate() {
        weights.forward(features, &mut scratch, &mut plain);
        let rows = &actions[index * MAX_CANDIDATES..][..MAX_CANDIDATES];
        for (id, (ours, theirs)) in plain.logits.iter().zip(rows).enumerate() {
            // A candidate that is not shown has no logit in the plain pass, and is never legal.
            let differ = features.shown[id] && (ours - theirs).abs() >= 1e-4;
            assert!(!differ, "candidate {id}: {ours} and {theirs}");
            largest = largest.max(ours.abs());
        }
    }
    assert!(largest > 0.5, "the largest output is only {largest}");
}
