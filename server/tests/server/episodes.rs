//! The same trajectory over the wire as natively: recorded episodes and policies.

use std::path::Path;

use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{EpisodeSpec, TaskName, World, WorldName, in_world};
use sentinel_policy::replay::{Replay, ReplayFile, play_replay};
use sentinel_policy::rollout::run_steps;
use sentinel_policy::text::PromptStyle;
use sentinel_policy::{Playable, Scripted as _};
use sentinel_server::worlds::Served;
use serde_json::{Value, json};

use super::client::{Client, TestServer};

/// Returns an action as the JSON of a step.
fn message<W: Served>(episode: &W, action: W::Action) -> Value {
    let text = W::format_action(PromptStyle::Compact, episode.observation(), action);
    serde_json::from_str(&text).expect("an action is JSON")
}

/// Returns the actions of a world's rule-based policy in an episode, as messages.
pub(crate) fn play_with_policy(world: WorldName, task: &str, rules: &str, seed: u64) -> Vec<Value> {
    in_world!(world, W => {
        let spec = EpisodeSpec::<W> {
            task: <<W as World>::Task as TaskName>::parse(task).expect("a task"),
            seed,
            streams: Streams::Independent,
            rules: Rules::parse(rules).expect("rules"),
        };
        let setup = spec.setup();
        let heuristic = <W as Playable>::PolicyName::parse(W::ROLES.heuristic).expect("a policy");
        let mut player = heuristic.start(&setup);
        let mut messages = Vec::new();
        run_steps::<W>(
            &setup,
            |episode| {
                let action = player.act(episode)?;
                messages.push(message::<W>(episode, action));
                Some(action)
            },
            |_, _| (),
        );
        messages
    })
}

/// Plays the episodes of a replay over the wire and compares digest and score with native play.
async fn compare<W: Served>(client: &mut Client, replay: &Replay<W>, most: usize) -> usize {
    let mut played = 0;
    for spec in replay.episodes().take(most) {
        let setup = spec.setup();
        let playback = play_replay(replay, &setup);
        let data = json!({
            "world": W::NAME, "task": spec.task.name(), "seed": spec.seed, "streams": spec.streams.name(),
            "rules": spec.rules.to_string(), "prompt": "none",
        });
        client.reset(data).await;
        let mut episode = W::reset(&setup);
        let mut last = Value::Null;
        let mut source = sentinel_policy::replay::ReplayEpisode::new(replay, spec);
        while !W::is_done(episode.observation()) {
            let action = {
                use sentinel_policy::Policy as _;
                source.choose(episode.observation())
            };
            last = client.step(message::<W>(&episode, action)).await;
            episode.step(action).expect("a recorded action");
        }
        let name = format!("{} {} {}", W::NAME, spec.task.name(), spec.seed);
        assert_eq!(last["done"], true, "{name}");
        assert_eq!(
            last["metadata"]["digest"],
            playback.run.digest().digest().to_string(),
            "{name}"
        );
        assert_eq!(
            last["metadata"]["score"],
            playback.run.episode().score(),
            "{name}"
        );
        played += 1;
    }
    played
}

#[tokio::test]
async fn recorded_episodes_have_the_same_digest_over_the_wire() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../replays");
    let server = TestServer::start().await;
    let mut client = server.connect("/ws").await;
    let mut played = 0;
    for file in [
        "grpo-independent.jsonl",
        "bayes-reference.jsonl",
        "cluster-grpo-hardened.jsonl",
        "cluster-grpo-reference.jsonl",
        "polyguard-rules_only-hardened.jsonl",
        "polyguard-grpo-hardened.jsonl",
    ] {
        let text = std::fs::read_to_string(folder.join(file)).expect("a committed replay");
        let known = ReplayFile::default().parse(&text);
        for world in WorldName::ALL {
            in_world!(*world, W => {
                if let Some(replay) = known.replay::<W>() {
                    played += compare::<W>(&mut client, replay, 6).await;
                }
            });
        }
    }
    assert!(played >= 30, "{played} episodes were compared");
}
