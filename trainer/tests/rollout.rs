//! Rollouts by prompts and completions: rewards, credit, groups, signals, and recorded transcripts.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_compact::learn::Learn;
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::{PolyguardEnv, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::trust::{Action, Task, TrustEnv};
use sentinel_env::{Environment, EpisodeSpec, Named, World};
use sentinel_play::analyze::PolicySource;
use sentinel_play::compact_model::load_model;
use sentinel_play::rollout::{
    CompletionValue, Ending, GenerationRequest, Group, RolloutConfig, RolloutError, RolloutStats,
    RolloutSums, Script, TextAgent, generate_groups, rollout, rollout_summaries,
};
use sentinel_policy::Scripted;
use sentinel_policy::nn::TrainedPolicy;
use sentinel_policy::policy::Player;
use sentinel_policy::text::{InvalidReward, ParserStrictness, PromptState, PromptStyle, TextWorld};
use sentinel_policy::trust::PolicyName;
use sentinel_policy::trust::learned::TrustNet;
use sentinel_rl::advantage::{AdvantageConfig, advantages};

use crate::common;
use common::Callback;

const SKIP: &str = r#"{"action_type":"skip"}"#;
const SOLVE: &str = r#"{"action_type":"solve_independently","subtask_response":"x"}"#;

fn setups<W: World>(task: W::Task, count: u64) -> Vec<W::Setup> {
    let streams = W::streams_or_default(Streams::Independent);
    let setup = |seed| {
        EpisodeSpec::<W> {
            task,
            seed,
            streams,
            rules: Rules::REFERENCE,
        }
        .setup()
    };
    (100_000..100_000 + count).map(setup).collect()
}

fn starts<W: TextWorld>(task: W::Task, count: u64) -> Vec<PromptState<W>> {
    setups::<W>(task, count)
        .iter()
        .map(PromptState::new)
        .collect()
}

/// Returns a model that gives the same completion for every prompt.
fn always(text: &str) -> Callback<impl FnMut(&[String]) -> Vec<String>> {
    Callback(move |prompts: &[String]| vec![text.to_owned(); prompts.len()])
}

/// A script gets its usual score through completions, and the credit of its first step is that
/// score too.
fn assert_text_play_matches_script<W: TextWorld + Learn>(task: W::Task, policy: &str, mean: bool) {
    let policy = W::PolicyName::parse(policy).unwrap();
    let setups = setups::<W>(task, 4);
    let mut players: Vec<_> = setups.iter().map(|setup| policy.start(setup)).collect();
    let mut script = Script {
        style: PromptStyle::Compact,
        choose: |episode: usize, s: &PromptState<W>| players[episode].act(s.episode()).unwrap(),
    };
    let starts = setups.iter().map(PromptState::new).collect();
    let played = rollout::<W>(starts, RolloutConfig::default(), &mut script, &|| ()).unwrap();
    for (setup, t) in setups.iter().zip(&played) {
        let score = sentinel_policy::rollout::run_score::<W>(setup, &mut policy.start(setup));
        assert_eq!((t.score, t.ending), (score, Ending::Done));
        if mean {
            assert!(
                (t.rows[0].reward_to_go - score).abs() < 1e-12,
                "{} {score}",
                t.rows[0].reward_to_go
            );
        }
        for row in 0..t.rows.len() {
            let prompt = t.state(row).prompt(PromptStyle::Compact);
            assert_eq!(prompt, t.rows[row].prompt);
        }
        assert!(t.state(t.rows.len()).done());
    }
}

#[test]
fn scripted_text_rollout_matches_direct_play() {
    assert_text_play_matches_script::<TrustEnv>(Task::Task3, "bayes", true);
    assert_text_play_matches_script::<ClusterEnv>(Task::Task1, "planner", true);
    assert_text_play_matches_script::<PolyguardEnv>(TaskSpec::ALL[8], "rules_only", false);
}

#[test]
fn invalid_completion_aborts_sample_with_invalid_reward() {
    for invalid in [0.0, -0.5] {
        let rollout_config = RolloutConfig {
            invalid: InvalidReward::new(invalid).unwrap(),
            ..RolloutConfig::default()
        };
        let played = rollout(
            starts::<TrustEnv>(Task::Task3, 3),
            rollout_config,
            &mut always("hm"),
            &|| (),
        )
        .unwrap();
        for t in &played {
            assert_eq!((t.rows.len(), t.ending), (1, Ending::Aborted));
            assert_eq!(
                (t.score, t.rows[0].reward, t.rows[0].reward_to_go),
                (invalid, invalid, invalid)
            );
            assert_eq!(t.rows[0].action, None);
            assert_eq!(
                t.state(1).prompt(PromptStyle::Compact),
                t.rows[0].prompt,
                "unchanged"
            );
        }
        let signals = RolloutStats::from_trajectories(&played);
        assert_eq!((signals.invalid_rate, signals.aborted_rate), (1.0, 1.0));
        assert_eq!(signals.reasons["not_json"], 3);
    }
}

/// Aborting at any step of any episode is worse than the worst actions: here than skipping all
/// remaining steps.
#[test]
fn aborting_scores_below_skipping() {
    for task in Task::ALL {
        for last in [1, 3, 9, 14] {
            let score = |text: &'static str| {
                let mut calls = 0;
                let mut model = Callback(|prompts: &[String]| {
                    calls += 1;
                    let text = if calls < last { SOLVE } else { text };
                    vec![text.to_owned(); prompts.len()]
                });
                let rollout_config = RolloutConfig::default();
                rollout(
                    starts::<TrustEnv>(task, 1),
                    rollout_config,
                    &mut model,
                    &|| (),
                )
                .unwrap()
            };
            let (off, on) = (score("enough"), score(SKIP));
            if off[0].ending == Ending::Done {
                continue;
            }
            assert!(off[0].score < on[0].score, "{task} {last}");
            for (off, on) in off[0].rows.iter().zip(&on[0].rows) {
                assert!(
                    off.reward_to_go < on.reward_to_go,
                    "{task} {last} {}",
                    off.step
                );
            }
        }
    }
}

#[test]
fn polyguard_invalid_completion_counts_as_step() {
    let rollout_config = RolloutConfig::default();
    let start = starts::<PolyguardEnv>(TaskSpec::ALL[8], 1);
    let played = rollout(start, rollout_config, &mut always("let me think"), &|| ()).unwrap();
    assert_eq!(
        played[0].ending,
        Ending::Done,
        "the world ends it, in its own time"
    );
    assert!(played[0].rows.len() > 1);
    assert!(
        played[0]
            .rows
            .iter()
            .all(|row| row.parsed.is_err() && row.action.is_some())
    );
    assert_eq!(RolloutStats::from_trajectories(&played).invalid_rate, 1.0);
}

#[test]
fn generator_must_complete_every_prompt() {
    let mut model = Callback(|_: &[String]| vec![SKIP.to_owned()]);
    let error = rollout(
        starts::<TrustEnv>(Task::Task1, 2),
        RolloutConfig::default(),
        &mut model,
        &|| (),
    );
    assert_eq!(
        error.unwrap_err(),
        RolloutError::Count {
            prompts: 2,
            completions: 1
        }
    );
    let none = rollout(
        Vec::new(),
        RolloutConfig::default(),
        &mut always(SKIP),
        &|| (),
    );
    assert!(none.is_ok_and(
        |all: Vec<_>| RolloutStats::from_trajectories::<TrustEnv>(&all) == RolloutStats::default()
    ));
}

#[test]
fn signals_detect_constant_policy() {
    let played = rollout(
        starts::<TrustEnv>(Task::Task1, 3),
        RolloutConfig::default(),
        &mut always(SOLVE),
        &|| (),
    );
    let played = played.unwrap();
    let signals = RolloutStats::from_trajectories(&played);
    assert_eq!(
        (signals.constant_policy_rate, signals.repeated_action_rate),
        (1.0, 1.0)
    );
    assert_eq!((signals.invalid_rate, signals.repaired_rate), (0.0, 0.0));
    let mut turn = false;
    let mut both = Callback(|prompts: &[String]| {
        turn = !turn;
        vec![if turn { SKIP } else { SOLVE }.to_owned(); prompts.len()]
    });
    let other = rollout(
        starts::<TrustEnv>(Task::Task1, 3),
        RolloutConfig::default(),
        &mut both,
        &|| (),
    )
    .unwrap();
    let signals = RolloutStats::from_trajectories(&other);
    assert_eq!(
        (signals.constant_policy_rate, signals.repeated_action_rate),
        (0.0, 0.0)
    );
    assert!(signals.first_step_reward < 0.1 && signals.later_reward > signals.first_step_reward);
}

#[test]
fn repaired_completions_are_counted() {
    let text = format!("Sure!\n```json\n{SOLVE}\n```");
    let rollout_config = RolloutConfig {
        reader: ParserStrictness::Repair,
        ..RolloutConfig::default()
    };
    let start = || starts::<TrustEnv>(Task::Task1, 1);
    let played = rollout(start(), rollout_config, &mut always(&text), &|| ()).unwrap();
    let signals = RolloutStats::from_trajectories(&played);
    assert_eq!((signals.invalid_rate, signals.repaired_rate), (0.0, 1.0));
    let strict = rollout(
        start(),
        RolloutConfig::default(),
        &mut always(&text),
        &|| (),
    )
    .unwrap();
    assert_eq!(
        RolloutStats::from_trajectories(&strict).reasons["code_fence"],
        1
    );
}

/// Plays the same episodes with and without their texts: scores and statistics have the same bits.
fn assert_summaries_match_trajectories<W: TextWorld + Learn>(task: W::Task, policy: &str) {
    let policy = W::PolicyName::parse(policy).unwrap();
    let rollout_config = RolloutConfig {
        reader: ParserStrictness::Repair,
        ..RolloutConfig::default()
    };
    let setups = setups::<W>(task, 7);
    let starts = || setups.iter().map(PromptState::<W>::new).collect();
    // Actions, actions that some worlds repair, and texts that are none.
    let model = || {
        let mut players: Vec<_> = setups.iter().map(|setup| policy.start(setup)).collect();
        let mut count = 0_usize;
        move |requests: &[GenerationRequest<'_, W>]| {
            let complete = |request: &GenerationRequest<'_, W>| {
                let state = request.prompt_state;
                let action = players[request.episode].act(state.episode()).unwrap();
                let text = W::format_action(PromptStyle::Compact, state.observation(), action);
                count += 1;
                match count % 11 {
                    3 | 4 => format!("Well: {text}"),
                    9 => "hm".to_owned(),
                    _ => text,
                }
            };
            requests.iter().map(complete).collect()
        }
    };
    let played = rollout(starts(), rollout_config, &mut Requests(model()), &|| ()).unwrap();
    let brief = rollout_summaries(starts(), rollout_config, &mut Requests(model()), &|| ());
    let brief = brief.unwrap();
    let mut sums = RolloutSums::default();
    for (episode, trajectory) in brief.iter().zip(&played) {
        assert_eq!(
            (episode.score, episode.ending),
            (trajectory.score, trajectory.ending)
        );
        let (found, details) = episode.details();
        let taken = trajectory.rows.iter().filter(|row| row.action.is_some());
        assert_eq!((found, details.len()), (task, taken.count()));
        sums.add(episode);
    }
    let stats = sums.stats();
    assert_eq!(stats, RolloutStats::from_trajectories(&played));
    assert!(stats.invalid_rate > 0.0, "{stats:?}");
}

/// A model that sees the requests.
struct Requests<F>(F);

impl<W: TextWorld, F: FnMut(&[GenerationRequest<'_, W>]) -> Vec<String>> TextAgent<W>
    for Requests<F>
{
    fn generate(&mut self, _: &[String], requests: &[GenerationRequest<'_, W>]) -> Vec<String> {
        (self.0)(requests)
    }
}

#[test]
fn summaries_match_trajectories() {
    assert_summaries_match_trajectories::<TrustEnv>(Task::Task3, "bayes");
    assert_summaries_match_trajectories::<ClusterEnv>(Task::Task1, "planner");
    assert_summaries_match_trajectories::<PolyguardEnv>(TaskSpec::ALL[8], "rules_only");
}

/// A generator that alternates between two answers when sampling, and solves alone when greedy.
#[derive(Default)]
struct Decided {
    set_greedy: bool,
    asked: Vec<(usize, bool)>,
}

impl TextAgent<TrustEnv> for Decided {
    fn generate(
        &mut self,
        prompts: &[String],
        _asked: &[GenerationRequest<'_, TrustEnv>],
    ) -> Vec<String> {
        self.asked.push((prompts.len(), self.set_greedy));
        let completion_of = |n: usize| {
            if self.set_greedy || n % 2 == 1 {
                SOLVE
            } else {
                SKIP
            }
        };
        (0..prompts.len())
            .map(|n| completion_of(n).to_owned())
            .collect()
    }

    fn set_greedy(&mut self, on: bool) {
        self.set_greedy = on;
    }
}

/// Members of a group differ only by their completions.
#[test]
fn group_members_differ_only_by_completion() {
    let mut bayes = starts::<TrustEnv>(Task::Task3, 2);
    for s in &mut bayes {
        for _ in 0..4 {
            let action = s.player(PolicyName::Bayes).act(s.episode()).unwrap();
            s.step(action).unwrap();
        }
    }
    let completion_of = |n: usize| [SKIP, SOLVE, "nonsense"][n % 3].to_owned();
    let generator =
        || Callback(move |prompts: &[String]| (0..prompts.len()).map(completion_of).collect());
    let rollout_config = RolloutConfig::default();
    let scripted = CompletionValue::Policy(PolicySource::Scripted(PolicyName::Bayes));
    let found = generate_groups(&bayes, 3, scripted, rollout_config, &mut generator()).unwrap();
    assert_eq!(found.len(), 2);
    for (group, state) in found.iter().zip(&bayes) {
        assert_eq!(group.prompt, state.prompt(PromptStyle::Compact));
        let [skip, solve, nonsense] = &group.members[..] else {
            panic!("three members");
        };
        assert!(
            solve.value > skip.value && skip.value > nonsense.value,
            "{group:?}"
        );
        assert!(solve.reward > skip.reward && skip.reward > nonsense.reward);
        // The scripted continuation of an action is the policy that observed all earlier steps.
        let mut own = state.clone();
        own.step(Action::SolveIndependently).unwrap();
        while let Some(action) = own.player(PolicyName::Bayes).act(own.episode()) {
            own.step(action).unwrap();
        }
        assert_eq!(solve.value, TrustEnv::score(own.episode()));
    }
    // So is that of a compact model.
    let committed = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../replays/grpo");
    let model = std::sync::Arc::new(load_model::<TrustNet>(&committed).unwrap());
    let trained = CompletionValue::Policy(PolicySource::Trained(model.clone()));
    let found_by_model =
        generate_groups(&bayes, 3, trained, rollout_config, &mut generator()).unwrap();
    for (group, state) in found_by_model.iter().zip(&bayes) {
        let mut player = Player::Public(Box::new(TrainedPolicy::new(model.clone())));
        state.replay_to(&mut player);
        player.observe(state.episode());
        let mut own = state.clone();
        own.step(Action::SolveIndependently).unwrap();
        while let Some(action) = player.act(own.episode()) {
            own.step(action).unwrap();
        }
        assert_eq!(group.members[1].value, TrustEnv::score(own.episode()));
    }
    let stop = generate_groups(
        &bayes,
        3,
        CompletionValue::StepReward,
        rollout_config,
        &mut generator(),
    )
    .unwrap();
    assert!(
        stop.iter()
            .flat_map(|g| &g.members)
            .all(|m| m.value == m.reward)
    );
    let own = generate_groups(
        &bayes,
        2,
        CompletionValue::Sampled,
        rollout_config,
        &mut always(SOLVE),
    )
    .unwrap();
    assert!(own.iter().all(|g| g.members[0].value == g.members[1].value));
    let one = generate_groups(
        &bayes,
        1,
        CompletionValue::StepReward,
        rollout_config,
        &mut generator(),
    );
    assert_eq!(one.unwrap_err(), RolloutError::Group(1));
    // Values become advantages unchanged.
    let values: Vec<Option<f64>> = (found.iter().flat_map(|g| &g.members))
        .map(|m| Some(m.value))
        .collect();
    let options = AdvantageConfig {
        num_generations: 3,
        ..AdvantageConfig::default()
    };
    let names = &["score"];
    let rewards = sentinel_rl::advantage::Rewards {
        names,
        values: &values,
    };
    assert!(advantages(&options, rewards).unwrap().advantages[1] > 0.0);
}

/// Under greedy continuation, members with the same action are played on once.
#[test]
fn greedy_continuation_is_played_once_per_action() {
    let states = starts::<TrustEnv>(Task::Task3, 2);
    let mut decided = Decided::default();
    let rollout_config = RolloutConfig::default();
    let best = generate_groups(
        &states,
        4,
        CompletionValue::Greedy,
        rollout_config,
        &mut decided,
    )
    .unwrap();
    let values = |group: &Group<TrustEnv>| group.members.iter().map(|m| m.value).collect();
    let values: Vec<Vec<f64>> = best.iter().map(values).collect();
    for values in &values {
        assert!(
            values[0] == values[2] && values[1] == values[3],
            "{values:?}"
        );
        assert_ne!(values[0], values[1]);
    }
    // Sampled once for each member, then greedy once for each action of a group.
    let (drawn, then) = decided.asked.split_first().unwrap();
    assert_eq!(*drawn, (8, false));
    assert_eq!(then[0], (4, true));
    assert!(then.iter().all(|(_, set_greedy)| *set_greedy) && !decided.set_greedy);
}
