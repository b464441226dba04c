//! The analysis of episodes: values against exhaustive enumeration, common random numbers, secrecy,
//! determinism, and the losses of known policies.

use std::sync::Arc;

use sentinel_env::cluster::{self, ClusterEnv};
use sentinel_env::polyguard::{self, PolyguardEnv, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_env::trust::{self, Action, Behavior, Task, TrustEnv};
use sentinel_env::{Environment, PrivilegedState};
use sentinel_policy::analysis::{
    Analysis, AnalysisConfig, Analyzable, ContinuationPolicy, EpisodeReport, RestartedPolicy,
    StateSource, StateSourceReport, Trajectory,
};
use sentinel_policy::cluster::learned::ClusterNet;
use sentinel_policy::nn::{Model, Network, TrainedPolicy};
use sentinel_policy::polyguard::{self as polyguard_policies, learned::PolyguardNet};
use sentinel_policy::rollout::run_steps;
use sentinel_policy::trust::{Bayes, Belief, Heuristic, PolicyName, learned::TrustNet};
use sentinel_policy::{Playable, Scripted};

/// Returns the committed model in a folder of `replays`.
fn trained<N: Network>(folder: &str) -> TrainedPolicy<N> {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../replays");
    let bytes = std::fs::read(format!("{root}/{folder}/model.safetensors")).expect("a model");
    TrainedPolicy::new(Arc::new(
        Model::from_bytes(&bytes).expect("a readable model"),
    ))
}

/// Plays an episode with a scripted policy.
fn played<W: Playable>(name: W::PolicyName, setup: &W::Setup) -> Trajectory<W> {
    let (mut player, mut actions) = (name.start(setup), Vec::new());
    let choose = |episode: &W| {
        let action = player.act(episode)?;
        actions.push(action);
        Some(action)
    };
    run_steps(setup, choose, |_, _| ());
    Trajectory::new(W::reset(setup), actions).unwrap_or_else(|(at, e)| panic!("{at}: {e}"))
}

/// Analyzes an episode and calls `check` after each rollout.
fn analyze<W: Analyzable>(
    played: &Trajectory<W>,
    policy: &dyn ContinuationPolicy<W>,
    config: AnalysisConfig,
) -> EpisodeReport<W::Action> {
    let mut analysis = Analysis::new(played, policy, config);
    while analysis.advance() {}
    analysis.report()
}

fn with_rollouts(rollouts: u32) -> AnalysisConfig {
    AnalysisConfig {
        rollouts,
        ..AnalysisConfig::default()
    }
}

fn trust_setup(task: Task, seed: u64) -> trust::Setup {
    trust::Setup::new(task, seed, Streams::Independent)
}

/// Returns the actions of an episode whose last action is the second attempt at the last subtask, so
/// that every action ends it.
fn last_chance(setup: &trust::Setup) -> Option<Trajectory<TrustEnv>> {
    let mut episode = TrustEnv::reset(setup);
    let mut actions = Vec::new();
    while episode.observation().progress.remaining() > 1 {
        let action = if actions.len() < 2 {
            Action::ALL[actions.len()]
        } else {
            Action::Skip
        };
        actions.push(action);
        episode.step(action).ok()?;
    }
    let [delegate, alone] = [Action::ALL[0], Action::SolveIndependently];
    actions.extend([delegate, alone]);
    Trajectory::new(TrustEnv::reset(setup), actions).ok()
}

/// Returns the exact expected final score of `action` at the last state before the end, by
/// enumeration of all assignments and results.
fn expected_score(played: &Trajectory<TrustEnv>, belief: &Belief, action: Action) -> f64 {
    let states = played.states();
    let now = *states[states.len() - 2].observation();
    let past: Vec<_> = states.iter().filter_map(|s| s.observation().last).collect();
    let past = &past[..past.len() - 1];
    let mut sum = 0.0;
    for (assignment, probability) in belief.iter().filter(|(_, p)| *p > 0.0) {
        // The draw of the outcome is found by trying seeds.
        let end = |accept: &dyn Fn(f64) -> bool| {
            let mut seeds = 0..1000;
            let found = seeds.find_map(|outcome_seed| {
                let hypothesis = trust::Hypothesis {
                    assignment,
                    outcome_seed,
                };
                let setup = states[0].setup();
                let episode = TrustEnv::from_belief(setup, &now, past, &hypothesis);
                accept(episode.hidden().peek_draw()).then_some(episode)
            });
            let mut episode = found.expect("a seed with such a draw");
            episode.step(action).expect("the episode is running");
            assert!(episode.observation().done());
            episode.score()
        };
        let chance = action.slot().and_then(|slot| {
            let behavior: Behavior = assignment[slot.index()];
            let calls = now.ledger[slot].calls;
            let domain = now.domain.expect("running");
            behavior
                .execution_params(domain, now.stakes, calls, &now.adversary)
                .success_chance
        });
        sum += probability
            * match chance {
                Some(p) => p * end(&|draw| draw < p) + (1.0 - p) * end(&|draw| draw >= p),
                None => end(&|_| true),
            };
    }
    sum
}

#[test]
fn values_match_exhaustive_enumeration_at_last_step() {
    let mut compared = 0;
    for seed in 0..40 {
        let Some(played) = last_chance(&trust_setup(Task::Task1, seed)) else {
            continue;
        };
        let mut belief = Belief::default();
        let states = played.states();
        for pair in states[..states.len() - 1].windows(2) {
            belief.update(pair[0].observation(), pair[1].observation());
        }
        // Only the last step is evaluated.
        let share = (played.actions().len() - 1, played.actions().len());
        let config = AnalysisConfig {
            share,
            ..with_rollouts(400)
        };
        let report = analyze(&played, &Bayes::new(), config);
        let step = report.steps.last().expect("a step");
        let found = step.belief.as_ref().expect("rollouts");
        for (index, action) in step.actions.iter().enumerate() {
            let exact = expected_score(&played, &belief, *action);
            let error = found.errors[index].expect("many rollouts").max(1e-9);
            let off = (found.values[index] - exact).abs();
            assert!(off < 4.5 * error, "{seed} {action}: {off} of {error}");
        }
        compared += 1;
        if compared == 3 {
            return;
        }
    }
    panic!("only {compared} such episodes");
}

#[test]
fn chosen_action_has_exactly_no_difference_to_itself() {
    let played = played::<TrustEnv>(PolicyName::Random, &trust_setup(Task::Task2, 3));
    let report = analyze(&played, &trained::<TrustNet>("grpo"), with_rollouts(9));
    for step in &report.steps {
        for source in [&step.belief, &step.hindsight] {
            let source = source.as_ref().expect("rollouts");
            let best = source.best == step.chosen;
            assert_eq!(best, source.loss == 0.0, "step {}", step.index);
            assert_eq!(source.rollouts, 9);
            let [low, high] = source.interval.expect("nine rollouts");
            assert!(low <= source.loss && source.loss <= high);
        }
    }
    let lost = report.lost.expect("nine rollouts");
    let steps = report.steps.iter().filter_map(|step| step.belief.as_ref());
    assert_eq!(
        lost,
        steps.map(StateSourceReport::supported_loss).sum::<f64>()
    );
}

/// Returns the belief parts of a report.
fn beliefs<A>(report: EpisodeReport<A>) -> Vec<Option<StateSourceReport>> {
    report.steps.into_iter().map(|step| step.belief).collect()
}

#[test]
fn trust_belief_does_not_depend_on_hidden_state() {
    let setup = trust_setup(Task::Task2, 11);
    let start = TrustEnv::reset(&setup);
    let mut behaviors = start.hidden().assignment.0;
    behaviors[2..].rotate_left(1);
    let other = start.with_hidden(start.hidden().with_assignment(behaviors));
    assert_ne!(start.hidden(), other.hidden());
    // The other slots are not called, so that the public evidence stays equal.
    let [first, second] = [Slot::ALL[0], Slot::ALL[1]];
    let actions = [
        Action::Delegate(first),
        Action::Verify(second),
        Action::Skip,
    ];
    let [a, b] = [start, other].map(|start| {
        let played = Trajectory::new(start, actions).expect("running");
        let last = *played.states()[3].observation();
        (
            last,
            analyze(&played, &trained::<TrustNet>("grpo"), with_rollouts(8)),
        )
    });
    assert_eq!(a.0, b.0, "what both episodes showed");
    let (a, b) = (a.1, b.1);
    assert_ne!(a.steps[0].hindsight, b.steps[0].hindsight);
    assert_eq!(beliefs(a), beliefs(b));
}

#[test]
fn analyses_that_divide_the_steps_find_what_one_alone_finds() {
    let played = played::<TrustEnv>(PolicyName::Heuristic, &trust_setup(Task::Task1, 5));
    let policy = trained::<TrustNet>("grpo");
    let config = with_rollouts(8);
    let whole = analyze(&played, &policy, config);
    for parts in [2, 3, 100] {
        let part = |part| {
            let share = (part, parts);
            Analysis::new(&played, &policy, AnalysisConfig { share, ..config })
        };
        let mut first = part(0);
        while first.advance() {}
        for number in 1..parts {
            let mut other = part(number);
            // What is known in between is replaced by what is known later.
            for _ in 0..100 {
                other.advance();
            }
            let early: Vec<_> = StateSource::ALL
                .into_iter()
                .flat_map(|b| other.estimates(b))
                .collect();
            while other.advance() {}
            let late: Vec<_> = StateSource::ALL
                .into_iter()
                .flat_map(|b| other.estimates(b))
                .collect();
            // One that started again repeats its first results, which must not replace the last ones.
            let again = early.clone();
            assert!(
                early
                    .into_iter()
                    .chain(late)
                    .chain(again)
                    .all(|step| first.receive(step))
            );
        }
        assert!(first.progress().is_complete(), "{:?}", first.progress());
        assert_eq!(first.report(), whole, "{parts} parts");
    }
}

#[test]
fn estimates_of_other_episodes_are_not_received() {
    let trajectory = |seed| played::<TrustEnv>(PolicyName::Random, &trust_setup(Task::Task1, seed));
    let policy = trained::<TrustNet>("grpo");
    let part = |played: &Trajectory<TrustEnv>, share| {
        let config = AnalysisConfig {
            share,
            ..with_rollouts(1)
        };
        Analysis::new(played, &policy, config)
    };
    let (short, long) = (trajectory(1), trajectory(2));
    assert_ne!(short.actions().len(), long.actions().len());
    let (mut short, mut long) = if short.actions().len() < long.actions().len() {
        (part(&short, (0, 2)), part(&long, (1, 2)))
    } else {
        (part(&long, (0, 2)), part(&short, (1, 2)))
    };
    while short.advance() | long.advance() {}
    let before = short.report();
    let beyond = long.estimates(StateSource::Belief).last().expect("steps");
    assert!(!short.receive(beyond), "a step after the end");
    let own = short.estimates(StateSource::Belief).next().expect("steps");
    assert!(!short.receive(own), "its own step");
    assert_eq!(short.report(), before);
}

#[test]
fn equal_seeds_give_equal_reports_in_slices() {
    let played = played::<TrustEnv>(PolicyName::Heuristic, &trust_setup(Task::Task1, 5));
    let policy = trained::<TrustNet>("grpo");
    let config = with_rollouts(8);
    let whole = analyze(&played, &policy, config);
    // Results are read in the middle, between slices of different sizes.
    let mut sliced = Analysis::new(&played, &policy, config);
    for slice in (1..).map(|n| n * 7 % 31) {
        for _ in 0..slice {
            sliced.advance();
        }
        assert_eq!(sliced.report().steps.len(), played.actions().len());
        if !sliced.has_work() {
            break;
        }
    }
    assert_eq!(sliced.report(), whole);
    let other = analyze(&played, &policy, AnalysisConfig { seed: 1, ..config });
    assert_ne!(other, whole);
    let without = analyze(
        &played,
        &policy,
        AnalysisConfig {
            hindsight: false,
            ..config
        },
    );
    assert!(without.steps.iter().all(|step| step.hindsight.is_none()));
    assert_eq!(beliefs(without), beliefs(whole));
}

/// Returns the mean loss in hindsight over the steps of some episodes.
fn mean_hindsight_loss<W: Analyzable + Playable>(
    name: W::PolicyName,
    setups: &[W::Setup],
    policy: &dyn ContinuationPolicy<W>,
    rollouts: u32,
) -> f64 {
    let mut losses = Vec::new();
    for setup in setups {
        let report = analyze(&played::<W>(name, setup), policy, with_rollouts(rollouts));
        let hindsight = report
            .steps
            .iter()
            .filter_map(|step| step.hindsight.as_ref());
        losses.extend(hindsight.map(StateSourceReport::supported_loss));
    }
    losses.iter().sum::<f64>() / losses.len() as f64
}

#[test]
fn trust_oracle_loses_little_and_random_much() {
    let setups: Vec<_> = (0..4).map(|seed| trust_setup(Task::Task2, seed)).collect();
    let policy = trained::<TrustNet>("grpo");
    let loss = |name| mean_hindsight_loss::<TrustEnv>(name, &setups, &policy, 12);
    let (oracle, random) = (loss(PolicyName::Oracle), loss(PolicyName::Random));
    assert!(oracle < 0.004, "oracle {oracle}");
    assert!(
        random > 4.0 * oracle && random > 0.008,
        "random {random}, oracle {oracle}"
    );
}

#[test]
fn luck_is_near_zero_on_average() {
    let policy = trained::<TrustNet>("grpo");
    let mut lucks = Vec::new();
    for seed in 0..16 {
        let played = played::<TrustEnv>(PolicyName::Random, &trust_setup(Task::Task1, seed));
        let config = AnalysisConfig {
            hindsight: false,
            ..with_rollouts(8)
        };
        let report = analyze(&played, &policy, config);
        let parts = report.expected.zip(report.decisions).zip(report.luck);
        let ((expected, decisions), luck) = parts.expect("a complete analysis");
        let score = report.score.expect("the episode has ended");
        assert!((expected + decisions + luck - score).abs() < 1e-12);
        // A random player is worse than the policy, which is not bad luck.
        assert!(decisions < 0.0, "{seed}: {decisions}");
        lucks.push(luck);
    }
    let mean = lucks.iter().sum::<f64>() / 16.0;
    let squares: f64 = lucks.iter().map(|luck| (luck - mean) * (luck - mean)).sum();
    let error = (squares / (16.0 * 15.0)).sqrt();
    assert!(
        error < 0.03 && mean.abs() < 3.0 * error,
        "{mean} of {error}"
    );
}

#[test]
fn restarted_scripted_policy_equals_the_same_policy_by_value() {
    let setup = trust_setup(Task::Task1, 2);
    let played = played::<TrustEnv>(PolicyName::Random, &setup);
    let restarted = RestartedPolicy::<TrustEnv>::new(PolicyName::Bayes, &setup).expect("public");
    let config = with_rollouts(2);
    assert_eq!(
        analyze(&played, &restarted, config),
        analyze(&played, &Bayes::new(), config)
    );
    assert!(RestartedPolicy::<TrustEnv>::new(PolicyName::Oracle, &setup).is_none());
    let heuristic = analyze(&played, &Heuristic::EVALUATION, config);
    assert_ne!(heuristic, analyze(&played, &Bayes::new(), config));
}

#[test]
fn cluster_and_polyguard_beliefs_do_not_depend_on_hidden_state() {
    let setup = cluster::Setup::new(Task::Task2, 11, Streams::Independent);
    let start = ClusterEnv::reset(&setup);
    let mut behaviors = start.hidden().assignment.0;
    behaviors.rotate_left(2);
    let hidden = start.hidden().clone().with_assignment(behaviors);
    let other = start.clone().with_hidden(hidden.with_outcome_seed(77));
    let policy = trained::<ClusterNet>("cluster-grpo");
    let [a, b] = [start, other].map(|start| {
        let played = Trajectory::new(start, [cluster::Action::Tick; 2]).expect("running");
        assert_eq!(played.states()[2].observation().step_count, 2);
        (
            *played.states()[1].observation(),
            analyze(&played, &policy, with_rollouts(8)),
        )
    });
    assert_eq!(a.0, b.0, "ticks on an idle cluster reveal nothing");
    assert_ne!(a.1.steps[0].hindsight, b.1.steps[0].hindsight);
    assert_eq!(beliefs(a.1), beliefs(b.1));

    let case = TaskSpec::parse("PRECISION_DOSING-easy").expect("a cell");
    let start = PolyguardEnv::reset(&polyguard::Setup::new(case, 4));
    let hidden = start
        .hidden()
        .clone()
        .with_truths(|truth| truth.kappa *= 1.2);
    let other = start.clone().with_hidden(hidden);
    assert_eq!(start.observation(), other.observation());
    let keep = polyguard::Action::with_grounded_rationale(
        start.observation(),
        polyguard::CandidateId::FIRST,
    );
    let policy = trained::<PolyguardNet>("polyguard-grpo");
    let [a, b] = [start, other].map(|start| {
        let played = Trajectory::new(start, [keep]).expect("running");
        analyze(&played, &policy, with_rollouts(8))
    });
    assert_ne!(a.steps[0].hindsight, b.steps[0].hindsight);
    assert_eq!(beliefs(a), beliefs(b));
}

#[test]
fn cluster_and_polyguard_oracles_lose_less_than_random_policies() {
    let setups = [1, 2].map(|seed| cluster::Setup::new(Task::Task1, seed, Streams::Independent));
    let setups = setups.map(|setup| setup.with_rules(cluster::Rules::HARDENED));
    let policy = trained::<ClusterNet>("cluster-grpo");
    let loss = |name| mean_hindsight_loss::<ClusterEnv>(name, &setups, &policy, 8);
    use sentinel_policy::cluster::PolicyName as ClusterPolicy;
    let (oracle, random) = (loss(ClusterPolicy::Oracle), loss(ClusterPolicy::Random));
    assert!(
        random > 3.0 * oracle,
        "cluster: random {random}, oracle {oracle}"
    );

    let cells = ["DDI-medium", "DEPRESCRIBING-easy", "BANDIT_MINING-easy"];
    let setups = cells.map(|name| {
        let case = TaskSpec::parse(name).expect("a cell");
        polyguard::Setup::new(case, 3)
    });
    let policy = trained::<PolyguardNet>("polyguard-grpo");
    let loss = |name| mean_hindsight_loss::<PolyguardEnv>(name, &setups, &policy, 16);
    use polyguard_policies::PolicyName;
    let (oracle, random) = (loss(PolicyName::Oracle), loss(PolicyName::Random));
    assert!(
        random > 3.0 * oracle && random > 0.05,
        "random {random}, oracle {oracle}"
    );
}
