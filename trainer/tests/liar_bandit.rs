//! The example of an environment outside this repository trains, and its replay is verified.

#[path = "../examples/liar_bandit.rs"]
#[allow(dead_code, reason = "its `main` is for the command line")]
mod liar_bandit;

use sentinel_base::SeedRange;
use sentinel_compact::{Event, Method, RunDir, TrainConfig, train};
use sentinel_env::task::SingleTask;
use sentinel_env::{Environment as _, EpisodeSpec, World as _};
use sentinel_policy::nn::{Choice, Network as _, SetNet};

use liar_bandit::LiarBandit;

/// The network can imitate a policy: each action has a choice.
#[test]
fn custom_environment_policy_can_be_imitated() {
    let episode = LiarBandit::reset(&EpisodeSpec::new(SingleTask, 7));
    let o = episode.observation();
    for arm in 0..4 {
        let choice = Choice::single(arm);
        let action = SetNet::<LiarBandit>::decode_action(&choice, o);
        assert_eq!(SetNet::<LiarBandit>::encode_action(action, o), Some(choice));
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let config = TrainConfig {
        world: LiarBandit::NAME.to_owned(),
        method: Method::Imitation,
        teacher: "gullible".to_owned(),
        max_steps: 30,
        episodes_per_update: 32,
        hidden: 16,
        learning_rate: 0.02,
        validation_seeds: SeedRange::new(5_000, 5_050),
        test_seeds: SeedRange::new(1_000, 1_300),
        ..TrainConfig::default()
    };
    let mut found = None;
    let mut listen = |event: &Event| {
        if let Event::Finished {
            scores: Some(scores),
            baselines,
            ..
        } = event
        {
            found = Some((scores.overall, baselines[0].1.overall));
        }
    };
    train::<LiarBandit>(&config, &RunDir::new(folder.path()), &mut listen).expect("a run");
    let (imitated, teacher) = found.expect("the run ended");
    assert!(
        (imitated - teacher).abs() < 0.05,
        "{imitated} against {teacher}"
    );
}

#[test]
fn training_beats_gullible_policy_in_custom_environment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scores = liar_bandit::run(&folder.path().join("run"), 30);
    let [trained, gullible] = scores.expect("a run of the example");
    assert!(trained > gullible + 0.15, "{trained} against {gullible}");
}
