//! The engine of the cluster world.

mod common;

use std::sync::Arc;

use common::{
    ask, codes_replay_the_run, deferred, episode_ref, played, policies_play_as_natively, run_of,
    some_policies_play_as_natively, truth_of, truths, unknown_words_are_named, views,
    views_of_equal_observations_are_equal,
};
use sentinel_env::cluster::{
    AttackType, Behavior, ClusterEnv, Episode, Hypothesis, JOBS_MAX, Rules, Setup, Tally, Task,
};
use sentinel_env::num::clamp_reward;
use sentinel_env::rng::Streams;
use sentinel_env::{Environment as _, EpisodeSpec, PrivilegedState as _};
use sentinel_page_engine::actor::{Actor, PolicyActor};
use sentinel_page_engine::world::weights_path;
use sentinel_page_engine::{Engine, Frame, PageWorld, Run};
use sentinel_page_protocol::{
    AgentView, Card, DeferredReply, Panel, Reply, Request, RewardTerm, StepLine, TournamentSpec,
    encode,
};
use sentinel_policy::cluster::PolicyName;
use sentinel_policy::cluster::learned::{ClusterNet, Trained};
use sentinel_policy::nn::Model;
use sentinel_policy::nn::Published as _;
use sentinel_policy::policy::Player;

fn origin(task: Task, seed: u64) -> EpisodeSpec<ClusterEnv> {
    EpisodeSpec {
        task,
        seed,
        streams: Streams::Independent,
        rules: Rules::REFERENCE,
    }
}

fn hardened(task: Task, seed: u64) -> EpisodeSpec<ClusterEnv> {
    EpisodeSpec {
        rules: Rules::HARDENED,
        ..origin(task, seed)
    }
}

fn play(engine: &mut Engine<ClusterEnv>, spec: &EpisodeSpec<ClusterEnv>, by: &str) -> Vec<Reply> {
    let request = Request::Play {
        run: 1,
        episode: episode_ref(spec),
        player: by.to_owned(),
        branch: None,
        watched: false,
    };
    ask(engine, request)
}

fn panel<'a>(view: &'a AgentView, id: &str) -> &'a Panel {
    let found = view.panels.iter().find(|panel| panel.id == id);
    found.expect("a panel")
}

fn card<'a>(panel: &'a Panel, key: &str) -> &'a Card {
    let found = panel.cards.iter().find(|card| card.key == key);
    found.expect("a card")
}

fn weights() -> Vec<u8> {
    common::repository(&weights_path(ClusterEnv::MODELS[1]))
}

/// Look-ahead and oracle play the rest of an episode thousands of times for each action, so they
/// play the short task only.
#[test]
fn policies_play_in_the_page_as_natively() {
    policies_play_as_natively(origin(Task::Task1, 42));
    for origin in [
        origin(Task::Task2, 42),
        origin(Task::Task3, 42),
        hardened(Task::Task1, 7),
        hardened(Task::Task2, 7),
        hardened(Task::Task3, 7),
    ] {
        some_policies_play_as_natively(origin, |policy| !ClusterEnv::is_slow(policy));
    }
}

#[test]
fn codes_of_a_run_replay_it() {
    for player in ["random", "trust", "planner"] {
        codes_replay_the_run(origin(Task::Task3, 5), player);
        codes_replay_the_run(hardened(Task::Task2, 5), player);
    }
}

#[test]
fn words_that_make_no_sense_are_named_and_defaults_play() {
    unknown_words_are_named::<ClusterEnv>();
}

/// Plays a policy that sees observations only from an episode on, and compares views and charts.
/// Returns the number of equal views.
fn compare(one: &Episode, other: &Episode, player: &Start) -> usize {
    let [one, other] = [one, other].map(|episode| played(episode.clone(), Some(player())));
    let equal = views_of_equal_observations_are_equal(&one, &other);
    let charts = |run: &Run<ClusterEnv>| ClusterEnv::charts(&run.public_frames()[..equal]);
    assert_eq!(charts(&one), charts(&other));
    equal
}

/// Creates an actor for an episode.
type Start = Box<dyn Fn() -> Box<dyn Actor<ClusterEnv>>>;

/// Returns the actors that see observations only: scripted ones, and the trained policy, which also
/// has beliefs.
fn public_actors() -> Vec<Start> {
    let scripted = [
        PolicyName::Random,
        PolicyName::Blind,
        PolicyName::Trust,
        PolicyName::Planner,
    ];
    let mut all: Vec<Start> = Vec::new();
    for policy in scripted {
        all.push(Box::new(move || {
            Box::new(PolicyActor(policy.player(3, Streams::Independent)))
        }));
    }
    let model = Model::<ClusterNet>::from_bytes(&weights());
    let model = Arc::new(model.expect("a model of this world"));
    all.push(Box::new(move || {
        let trained = Trained::new(Arc::clone(&model));
        Box::new(PolicyActor(Player::Public(Box::new(trained))))
    }));
    all
}

/// Episodes that differ from their first step on in behaviors, in future failures and attacks, or in
/// the targets of attacks that have no effect.
#[test]
fn views_do_not_depend_on_hidden_state() {
    let (mut equal, actors) = (0, public_actors());
    for (seed, task) in (0..5).flat_map(|seed| Task::ALL.map(|task| (seed, task))) {
        for rules in [Rules::REFERENCE, Rules::HARDENED] {
            let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
            let episode = Episode::reset(&setup);
            let hidden = || episode.hidden().clone();
            let mut behaviors = hidden().assignment.0;
            behaviors.rotate_left(1 + seed as usize % 4);
            let mut others = vec![hidden().with_assignment(behaviors)];
            let mut escalated = hidden();
            (0..4).for_each(|_| escalated.attacker.escalate());
            let count = if task == Task::Task3 { 24 } else { 2 };
            for number in count * seed..count * (seed + 1) {
                others.push(escalated.clone().with_outcome_seed(number));
            }
            let states: Vec<Episode> = std::iter::once(hidden())
                .chain(others)
                .map(|hidden| episode.clone().with_hidden(hidden))
                .collect();
            for pair in states.windows(2) {
                for actor in &actors {
                    equal += compare(&pair[0], &pair[1], actor) - 1;
                }
            }
        }
    }
    assert!(equal > 5000, "only {equal} views were compared");
}

/// Returns pairs of states of an episode that a player cannot tell apart: each state keeps only what
/// the observations tell, and the two differ in one hidden part. Where they can, they differ so that
/// the difference stays unseen for some steps.
fn hidden_pairs(episode: &Episode, tally: &Tally) -> Vec<[Episode; 2]> {
    let o = episode.observation();
    let shown = std::array::from_fn(|job| o.jobs.rows().get(job).map_or(0.0, |j| j.reported));
    let base = Hypothesis {
        assignment: Behavior::for_task(o.task),
        progress: shown.map(|shown: f64| 0.5 * shown),
        priorities: [5; JOBS_MAX],
        degrading_calls: 0,
        level: 3,
        open: None,
        outcome_seed: u64::from(o.step_count),
    };
    let mut others = vec![base.clone(); 8];
    others[0].assignment.rotate_left(1);
    others[1].assignment.swap(0, 3);
    others[2].progress = shown.map(|shown| 0.25 * shown);
    others[3].priorities = [1; JOBS_MAX];
    others[4].degrading_calls = 3;
    // Under the reference's rules attacks of levels 3 to 5 have no effect.
    others[5].level = 4;
    others[6].level = 5;
    others[7].outcome_seed += 1;
    let state = |hypothesis| Episode::from_belief(o, tally, hypothesis);
    let mut pairs: Vec<[Episode; 2]> = others
        .iter()
        .map(|other| [state(&base), state(other)])
        .collect();
    pairs.push([episode.clone(), state(&base)]);
    pairs
}

/// States in the middle of an episode that differ in what the observations leave open: behaviors,
/// true progress, priorities, the adversary's level, true rows of GPUs, and the future.
#[test]
fn views_do_not_depend_on_hidden_state_in_the_middle_of_an_episode() {
    let (mut equal, actors) = (0, public_actors());
    for (seed, task) in (0..2).flat_map(|seed| Task::ALL.map(|task| (seed, task))) {
        for rules in [Rules::REFERENCE, Rules::HARDENED] {
            let setup = Setup::new(task, seed, Streams::Independent).with_rules(rules);
            let mut episode = Episode::reset(&setup);
            let mut player = PolicyName::Planner.player(seed, Streams::Independent);
            let mut tally = Tally::default();
            while let Some(action) = player.act(&episode) {
                episode.step(action).expect("not over");
                let o = episode.observation();
                tally.record_observation(o);
                if o.done() || !o.step_count.is_multiple_of(9) {
                    continue;
                }
                for [one, other] in hidden_pairs(&episode, &tally) {
                    for actor in &actors {
                        // The first view has no step yet, and is the same by construction.
                        equal += compare(&one, &other, actor) - 1;
                    }
                }
            }
        }
    }
    assert!(equal > 5000, "only {equal} views were compared");
}

/// Words that only the truth may use, except in what the player believes.
#[test]
fn agent_views_use_no_words_for_hidden_state() {
    let mut engine = Engine::<ClusterEnv>::default();
    for origin in [origin(Task::Task3, 3), hardened(Task::Task3, 3)] {
        for player in ["random", "trust", "planner"] {
            let replies = play(&mut engine, &origin, player);
            assert!(!replies.iter().any(|reply| matches!(reply, Reply::Truth(_))));
            let update = run_of(&replies);
            let shown = format!("{:?} {:?} {:?}", views(update), update.steps, update.charts);
            let shown = shown.to_lowercase();
            let words: std::collections::BTreeSet<&str> = shown
                .split(|c: char| !c.is_alphabetic() && c != '_')
                .collect();
            for behavior in Behavior::ALL {
                assert!(!words.contains(behavior.name()), "{}", behavior.name());
            }
            let hidden = "honest dishonest lie lies lied liar truly priority level panic invented";
            for word in hidden.split(' ') {
                assert!(!words.contains(word), "{word} of {player}");
            }
            for kind in AttackType::ALL {
                let plain = kind.name().replace('_', " ");
                assert!(!shown.contains(kind.name()) && !shown.contains(&plain));
            }
        }
    }
}

#[test]
fn hidden_state_is_sent_only_while_it_is_asked_for() {
    let mut engine = Engine::<ClusterEnv>::default();
    let replies = play(&mut engine, &origin(Task::Task3, 3), "trust");
    assert!(!replies.iter().any(|reply| matches!(reply, Reply::Truth(_))));
    let views = views(run_of(&replies));
    assert!(views.iter().all(|view| view.terms.is_empty()));
    let replies = ask(&mut engine, Request::ShowTruth { run: 1, show: true });
    let update = truth_of(&replies);
    let truths = truths(update);
    assert_eq!(truths.len(), views.len());
    for (view, truth) in views.iter().zip(&truths) {
        assert_eq!(truth.notes.iter().filter(|note| note.unmask).count(), 1);
        assert!(truth.panels.iter().all(|panel| panel.id == "adversary"));
        // Every note belongs to a card.
        for note in &truth.notes {
            card(panel(view, &note.panel), &note.card);
        }
    }
    assert!(truths[0].terms.is_empty() && truths[0].headline.is_empty());
    assert!(truths[1..].iter().all(|truth| truth.terms.len() >= 7));
    let said = |word: &str| truths.iter().any(|truth| truth.headline.contains(word));
    assert!(said("lies") && said("honest") && said("level 1"));
    let kind = |line: &StepLine| line.result.contains("false completion");
    assert!(update.steps.iter().any(kind));
    let [rewards, attacks] = update.charts[0].strips.as_slice() else {
        panic!("two strips");
    };
    assert_eq!(rewards.bars.len(), attacks.bars.len());
    assert_eq!(attacks.label, "attacks, by level");
}

/// Returns the sum of the weighted terms, times the factors after them.
fn total<'a>(terms: impl Iterator<Item = &'a RewardTerm>) -> f64 {
    let sum = terms.fold(0.0, |sum, term| match term.weight {
        Some(weight) => sum + weight * term.value,
        None => sum * term.value,
    });
    clamp_reward(sum)
}

/// Checks that the terms add up to the environment's reward, up to the rounding of the parts that
/// the environment reports.
#[test]
fn terms_come_to_the_reward() {
    for rules in [Rules::REFERENCE, Rules::HARDENED] {
        for task in Task::ALL {
            for policy in [PolicyName::Random, PolicyName::Trust, PolicyName::Planner] {
                let setup = Setup::new(task, 3, Streams::Independent).with_rules(rules);
                let actor = PolicyActor(policy.player(3, Streams::Independent));
                let run = played(Episode::reset(&setup), Some(Box::new(actor)));
                let frames: &[Frame<ClusterEnv>] = run.frames();
                for index in 1..frames.len() {
                    let truth = ClusterEnv::truth(frames, index);
                    let info = *frames[index].info().expect("a step");
                    let at = format!("{task} {rules} {index}");
                    let own = total(truth.terms.iter().filter(|term| term.group.is_empty()));
                    assert!((own - info.grades.reward).abs() < 2e-4, "{at}: {own}");
                    assert_eq!(frames[index].reward(), Some(info.grades.reward), "{at}");
                    let mut end = truth.terms.iter().filter(|term| !term.group.is_empty());
                    match info.terminal {
                        Some(terminal) => {
                            let sum = total(end);
                            assert!((sum - terminal.reward).abs() < 2e-4, "{at}: {sum}");
                        }
                        None => assert_eq!(end.next(), None, "{at}"),
                    }
                }
                assert!(run.is_done());
            }
        }
    }
}

/// Checks that the outcomes of the attacks add up to the counters.
#[test]
fn fates_of_attacks_add_up_to_the_counters() {
    let mut engine = Engine::<ClusterEnv>::default();
    for (player, seed) in [("planner", 3), ("blind", 4), ("random", 5)] {
        let replies = play(&mut engine, &hardened(Task::Task3, seed), player);
        let views = views(run_of(&replies));
        let last = views.last().expect("a frame");
        let attacks = &panel(last, "attacks").cards;
        let fates: Vec<&str> = attacks.iter().map(|card| card.state.as_str()).collect();
        let count = |word: &str| {
            let with_word = fates.iter().filter(|fate| fate.starts_with(word));
            with_word.count().to_string()
        };
        let counted = |key: &str| &card(panel(last, "counters"), key).state;
        assert_eq!(&count("found"), counted("detections"), "{fates:?}");
        assert_eq!(&count("missed"), counted("missed"), "{fates:?}");
        assert_eq!(&count(""), counted("attacks"), "{fates:?}");
        assert!(count("not caught") == "0" && fates.len() > 3, "{fates:?}");
    }
}

/// Checks that the public part of a step agrees with the environment's own report.
#[test]
fn public_steps_agree_with_the_environment() {
    let (mut believed, mut caught) = (0, 0);
    for rules in [Rules::REFERENCE, Rules::HARDENED] {
        for (seed, policy) in [
            (1, PolicyName::Random),
            (2, PolicyName::Blind),
            (3, PolicyName::Trust),
            (4, PolicyName::Planner),
        ] {
            let setup = Setup::new(Task::Task3, seed, Streams::Independent).with_rules(rules);
            let actor = PolicyActor(policy.player(seed, Streams::Independent));
            let run = played(Episode::reset(&setup), Some(Box::new(actor)));
            for frame in &run.frames()[1..] {
                let (info, step) = (*frame.info().expect("a step"), frame.step());
                let step = step.expect("a step");
                assert_eq!(step.success, info.success);
                assert_eq!(step.attacked, info.attack.is_some());
                assert_eq!(step.looped, info.looped);
                assert_eq!(step.drifted, info.drifted);
                assert_eq!(step.done.len(), info.completed.count_ones() as usize);
                assert_eq!(step.reward, info.grades.reward);
                assert_eq!(
                    step.report.map(|report| report.right),
                    info.report.map(|report| report.honest)
                );
                if step.attack_found {
                    assert!(info.caught);
                    caught += 1;
                }
                if step.believed {
                    assert!(info.report.is_some_and(|report| report.false_completion));
                    believed += 1;
                }
                // Only an attack lets progress jump.
                assert!(step.jumped.is_empty() || step.attacked, "{policy:?}");
            }
        }
    }
    assert!(believed > 5 && caught > 5, "{believed} {caught}");
}

/// Checks that the means equal those of `sentinel eval` on the same seeds.
#[test]
fn tournament_means_are_those_of_the_evaluation() {
    let mut engine = Engine::<ClusterEnv>::default();
    let spec = TournamentSpec {
        tasks: vec!["task1".to_owned()],
        players: ["random", "blind"].map(str::to_owned).to_vec(),
        first_seed: 0,
        seeds: 30,
        streams: "reference".to_owned(),
        rules: "reference".to_owned(),
        ..TournamentSpec::default()
    };
    let replies = ask(&mut engine, Request::Tournament { run: 9, spec });
    let replies = deferred(&replies);
    let Some(DeferredReply::Standings(standings)) = replies.last() else {
        panic!("no standings in {replies:?}");
    };
    assert_eq!((standings.played, standings.total), (60, 60));
    let means: Vec<(&str, f64)> = standings
        .placements
        .iter()
        .map(|p| (p.player.as_str(), (p.mean * 1e4).round() / 1e4))
        .collect();
    assert_eq!(means, [("blind", 0.2033), ("random", 0.1118)]);
}

#[test]
fn trained_policy_shows_what_it_weighs_and_believes() {
    let mut engine = Engine::<ClusterEnv>::default();
    let origin = hardened(Task::Task3, 1);
    let path = weights_path(ClusterEnv::MODELS[1]);
    let replies = play(&mut engine, &origin, "grpo");
    assert!(replies.contains(&Reply::Need(path.clone())));
    let file = Request::File {
        name: path,
        content: Ok(weights()),
        dropped: false,
    };
    let replies = ask(&mut engine, file);
    let update = run_of(&replies);
    assert!(update.done, "{}", update.source_note);
    assert!(
        update.source_note.contains("parameters") && update.source_note.contains("hardened"),
        "{}",
        update.source_note
    );
    let views = views(update);
    for view in &views[..views.len() - 1] {
        let likely = &panel(view, "likely").cards;
        let sum: f32 = likely.iter().map(|card| card.meters[0].value).sum();
        assert!((sum - 1.0).abs() < 1e-4, "{sum}");
        assert_eq!(likely.iter().filter(|card| card.state == "next").count(), 1);
        let workers = &panel(view, "workers").cards;
        assert!(workers.iter().all(|card| card.shares.len() == 5));
    }
    let last = views.last().expect("a frame");
    assert!(last.detail.contains("has ended"), "{}", last.detail);
}

/// Checks that episodes of 120 frames are small enough to be sent as one message.
#[test]
fn views_are_small() {
    let mut engine = Engine::<ClusterEnv>::default();
    let replies = play(&mut engine, &origin(Task::Task3, 3), "planner");
    let update = run_of(&replies);
    let sizes = update.frames.iter().map(Vec::len);
    let most = sizes.max().expect("a frame");
    assert!(most < 16_000, "a view of {most} bytes");
    let all = encode(&replies).expect("a message").len();
    assert!(all < 2_000_000, "{all} bytes");
}

#[test]
fn composed_actions_are_checked() {
    let mut engine = Engine::<ClusterEnv>::default();
    let origin = hardened(Task::Task1, 5);
    play(&mut engine, &origin, "you");
    let mut check = |code: &str| {
        let (run, at, code) = (1, 0, code.to_owned());
        common::checked(&ask(&mut engine, Request::Check { run, at, code }))
    };
    let (label, warning, completed) = check("aj1g2w3");
    assert_eq!(label, "Allocate JOB-001 to GPU-02 with worker S3");
    assert_eq!((warning.as_str(), completed.as_str()), ("", "aj1g2w3"));
    assert!(check("vj1").1.starts_with("JOB-001 is queued"));
    // What the rules ask for is suggested.
    assert_eq!(check("aj1w3").2, "aj1g0w3");
    assert!(check("p").1.starts_with("Under these rules"));
    assert!(check("aj29g2w3").1.starts_with("This task has no JOB-029"));
}
