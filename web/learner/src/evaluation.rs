//! The report of an evaluation: the score, rates of all episodes, and one episode step by step.

use sentinel_compact::actor::{Actor, Rollout};
use sentinel_compact::evaluate::{GreedyEpisode, by_task, means, total_rates};
use sentinel_compact::{Learn, Scores, SeedRange};
use sentinel_env::{Seeded as _, TaskName as _};
use sentinel_page_engine::PageWorld;
use sentinel_page_protocol::{Attempt, AttemptStep, Rate, TrainingScore, ValidationSet};
use sentinel_policy::interval::ConfidenceInterval;
use sentinel_policy::nn::Weights;

/// Players of every world to compare with, besides the baselines of its model card: the published policy.
const RIVALS: [&str; 1] = ["grpo"];

/// Returns the score of a policy after `updates` updates from all its validation episodes, in order.
pub(crate) fn score(updates: u32, episodes: &[GreedyEpisode], seeds: SeedRange) -> TrainingScore {
    let interval = ConfidenceInterval::from_cells(&cells(episodes, seeds));
    TrainingScore {
        updates,
        mean: interval.mean,
        half_width: interval.half_width,
    }
}

/// Returns the mean scores of a policy from all its validation episodes, in order.
pub(crate) fn scores(episodes: &[GreedyEpisode], seeds: SeedRange) -> Scores {
    means(&cells(episodes, seeds))
}

fn cells(episodes: &[GreedyEpisode], seeds: SeedRange) -> Vec<Vec<f64>> {
    let scores: Vec<f64> = episodes.iter().map(|episode| episode.score).collect();
    by_task(&scores, seeds)
}

/// Returns the episodes of the validation, and the players to compare with on them.
pub(crate) fn validation_set<W: Learn>(tasks: &[W::Task], seeds: SeedRange) -> ValidationSet {
    let players = RIVALS.iter().chain(W::BASELINES);
    ValidationSet {
        tasks: tasks.iter().map(|task| task.name().to_owned()).collect(),
        first_seed: seeds.range().start,
        seeds: u32::try_from(seeds.count()).unwrap_or(u32::MAX),
        players: players.map(|name| (*name).to_owned()).collect(),
    }
}

/// Returns the world's rates over all validation episodes, in order.
pub(crate) fn rates<W: Learn>(episodes: &[GreedyEpisode]) -> Vec<Rate> {
    let counts = total_rates::<W>(episodes);
    let named = W::RATES.iter().zip(counts).map(|(rate, count)| Rate {
        name: rate.name.to_owned(),
        unit: rate.unit.to_owned(),
        help: rate.help.to_owned(),
        count: count.count,
        of: count.of,
    });
    named.collect()
}

/// Plays an episode greedily and returns its steps.
pub(crate) fn attempt<W: Learn + PageWorld>(
    weights: &Weights<W::Net>,
    setup: &W::Setup,
) -> Attempt {
    let mut actor = Actor::<W>::new(weights);
    let mut rollout = Rollout::<W>::new(W::reset(setup), weights.config());
    let mut steps = Vec::new();
    while !rollout.is_done() {
        let before = rollout.episode.clone();
        let choice = actor.greedy(&rollout);
        let Some(transition) = rollout.step(&choice) else {
            break;
        };
        let (info, after) = (&transition.info, &rollout.episode);
        let kind = W::step_kind(&before, info, after);
        let public = W::public_step(before.observation(), info, after.observation());
        let line = W::step_line(&public);
        let comma = if line.result.is_empty() { "" } else { ", " };
        steps.push(AttemptStep {
            kind: u8::try_from(kind.kind).unwrap_or(u8::MAX),
            label: kind.label,
            text: line.label + comma + &line.result,
            reward: transition.reward,
            is_harmful: kind.is_harmful,
        });
    }
    Attempt {
        task: W::episode_spec(setup).task.name().to_owned(),
        seed: setup.seed(),
        score: rollout.episode.score(),
        kinds: (W::ACTION_KINDS.iter())
            .map(|kind| kind.name.to_owned())
            .collect(),
        harm: W::HARM.to_owned(),
        summary: summary::<W>(&steps),
        steps,
    }
}

/// Returns what an episode consists of in a phrase: the kinds of actions that occur, and the harm.
fn summary<W: Learn>(steps: &[AttemptStep]) -> String {
    let mut parts = Vec::new();
    for (index, kind) in W::ACTION_KINDS.iter().enumerate() {
        let of_kind = steps.iter().filter(|step| usize::from(step.kind) == index);
        match of_kind.count() {
            0 => {}
            1 => parts.push(format!("1 {}", kind.nouns[0])),
            count => parts.push(format!("{count} {}", kind.nouns[1])),
        }
    }
    let harmful = steps.iter().filter(|step| step.is_harmful).count();
    parts.push(match harmful {
        _ if W::HARM.is_empty() => return parts.join(", "),
        0 => format!("never {}", W::HARM),
        1 => format!("{} once", W::HARM),
        count => format!("{} {count} times", W::HARM),
    });
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_compact::evaluate::{greedy_episodes, greedy_scores, validation_setup};
    use sentinel_compact::learn::RateCount;
    use sentinel_compact::{Method, Sequential, TrainConfig};
    use sentinel_env::cluster::ClusterEnv;
    use sentinel_env::polyguard::{EndReason, PolyguardEnv};
    use sentinel_env::rules::Rules;
    use sentinel_env::slot::Slot;
    use sentinel_env::trust::{Action, Behavior, TrustEnv};
    use sentinel_env::{PrivilegedState as _, WorldName, in_world};
    use sentinel_policy::rollout::{EpisodeRun, run_episode, run_with_choices};
    use sentinel_policy::{Scripted as _, cluster, polyguard, trust};

    const SEEDS: SeedRange = SeedRange::new(5_000, 5_006);

    fn weights<W: Learn>() -> Weights<W::Net> {
        let config = TrainConfig {
            hidden: 8,
            ..TrainConfig::preset::<W>(Method::Grpo, true)
        };
        Weights::init(W::net(&config), 1)
    }

    fn parts_are_the_whole<W: Learn>() {
        let (weights, rules) = (weights::<W>(), Rules::<W::Change>::REFERENCE);
        let tasks = &W::Task::ALL[..2];
        let part = |part| greedy_episodes::<W>(&Sequential, &weights, rules, tasks, SEEDS, part);
        let whole = part(0..12);
        let parts = [part(0..5), part(5..5), part(5..12)].concat();
        assert_eq!(parts, whole, "{}", W::NAME);
        let scores: Vec<f64> = whole.iter().map(|episode| episode.score).collect();
        let by_task = greedy_scores::<W>(&Sequential, &weights, rules, tasks, SEEDS);
        assert_eq!(scores, by_task.concat());
        assert_eq!(rates::<W>(&whole), rates::<W>(&parts));
        for rate in rates::<W>(&whole) {
            assert!((0.0..=rate.of).contains(&rate.count), "{rate:?}");
        }
    }

    #[test]
    fn results_of_parts_are_those_of_the_whole() {
        for world in WorldName::ALL {
            in_world!(world, W => parts_are_the_whole::<W>());
        }
    }

    fn attempt_is_the_episode<W: Learn + PageWorld>() {
        let (weights, rules) = (weights::<W>(), Rules::<W::Change>::REFERENCE);
        let task = W::shown_task(W::Task::ALL).expect("a task");
        let episodes = greedy_episodes::<W>(&Sequential, &weights, rules, &[task], SEEDS, 0..1);
        let setup = validation_setup::<W>(rules, task, SEEDS.range().start);
        let attempt = attempt::<W>(&weights, &setup);
        assert_eq!(attempt.score, episodes[0].score, "{}", W::NAME);
        let mut replayed = Rollout::<W>::new(W::reset(&setup), weights.config());
        let steps = Actor::new(&weights).finish_greedily(&mut replayed);
        assert_eq!(attempt.steps.len() as u64, steps, "{}", W::NAME);
        // The page has five patterns.
        assert!((2..=5).contains(&attempt.kinds.len()));
        for step in &attempt.steps {
            assert!(usize::from(step.kind) < attempt.kinds.len() && !step.text.is_empty());
        }
        let counted: u64 = attempt.summary.split(", ").filter_map(leading_number).sum();
        assert_eq!(counted, steps, "{}", attempt.summary);
    }

    fn leading_number(part: &str) -> Option<u64> {
        part.split(' ').next()?.parse().ok()
    }

    #[test]
    fn an_attempt_has_the_steps_of_its_episode() {
        for world in WorldName::ALL {
            in_world!(world, W => attempt_is_the_episode::<W>());
        }
    }

    /// Plays the last task with a scripted policy, and adds the counts of its episodes up.
    fn scripted<W: Learn>(
        rules: Rules<W::Change>,
        play: impl Fn(&W::Setup) -> EpisodeRun<W>,
    ) -> (Vec<RateCount>, Vec<EpisodeRun<W>>) {
        let task = W::shown_task(W::Task::ALL).expect("a task");
        let runs: Vec<_> = (5_000..5_040)
            .map(|seed| play(&validation_setup::<W>(rules, task, seed)))
            .collect();
        let episode = |run: &EpisodeRun<W>| GreedyEpisode {
            score: run.episode().score(),
            rates: W::rate_counts(run.episode(), run.steps()),
        };
        let episodes: Vec<_> = runs.iter().map(episode).collect();
        (total_rates::<W>(&episodes), runs)
    }

    fn count(rate: RateCount) -> u64 {
        rate.count as u64
    }

    /// At the default difficulty the liar poisons from the stakes on that count as high.
    #[test]
    fn poisonings_of_trust_are_those_of_the_rows() {
        for rules in [Rules::REFERENCE, Rules::HARDENED] {
            let play =
                |setup: &_| run_episode(setup, &mut trust::PolicyName::Heuristic.start(setup));
            let (rates, runs) = scripted::<TrustEnv>(rules, play);
            let row = |run| u64::from(trust::EpisodeRow::from_run("", run).adversarial_poisonings);
            assert_eq!(count(rates[0]), runs.iter().map(row).sum::<u64>());
            assert!(
                rates[0].count > 0.0 && rates[0].of == rates[1].of,
                "{rates:?}"
            );
        }
    }

    #[test]
    fn rates_of_known_policies_are_known() {
        let to_liar = |setup: &_| {
            run_with_choices::<TrustEnv>(setup, |episode| {
                let liar: Slot = episode.hidden().slot_of(Behavior::Adversarial);
                Some(Action::Delegate(liar))
            })
        };
        let (rates, runs) = scripted(Rules::REFERENCE, to_liar);
        let steps: usize = runs.iter().map(|run| run.steps().len()).sum();
        assert_eq!(
            rates[0].count, rates[0].of,
            "fooled at high stakes each time"
        );
        assert_eq!((rates[1].count, rates[3].count), (0.0, 0.0));
        assert_eq!((count(rates[2]), rates[2].of), (steps as u64, steps as f64));
        let alone = |setup: &_| run_episode(setup, &mut trust::PolicyName::SelfSolve.start(setup));
        let (rates, runs) = scripted::<TrustEnv>(Rules::REFERENCE, alone);
        let steps: usize = runs.iter().map(|run| run.steps().len()).sum();
        assert_eq!((rates[0].count, rates[2].of), (0.0, 0.0));
        assert_eq!(count(rates[3]), steps as u64);
        assert!(rates[3].of >= rates[3].count && rates[0].of > 0.0);
    }

    #[test]
    fn rates_of_other_worlds_are_those_of_the_rows() {
        let blind = |setup: &_| run_episode(setup, &mut cluster::PolicyName::Blind.start(setup));
        let rules = Rules::HARDENED;
        let (rates, runs) = scripted::<ClusterEnv>(rules, blind);
        let rows = runs
            .iter()
            .map(|run| cluster::EpisodeRow::from_run("", run));
        let rows: Vec<_> = rows.collect();
        let sum = |of: fn(&cluster::EpisodeRow) -> u16| {
            rows.iter().map(|row| u64::from(of(row))).sum::<u64>()
        };
        assert_eq!(count(rates[0]), sum(|row| row.attack_poisonings));
        let encounters = sum(|row| row.attack_poisonings + row.attack_detections);
        assert_eq!(rates[0].of, encounters as f64);
        let done: f64 = rows.iter().map(|row| row.completion_rate).sum();
        assert!((rates[1].count / rates[1].of - done / rows.len() as f64).abs() < 1e-3);
        assert_eq!(rates[2].count, 0.0, "it believes every report");

        let first = polyguard::PolicyName::RulesOnly;
        let play = |setup: &_| run_episode(setup, &mut first.start(setup));
        let (rates, runs) = scripted::<PolyguardEnv>(Rules::REFERENCE, play);
        let is_safe = |run: &&EpisodeRun<PolyguardEnv>| {
            polyguard::EpisodeRow::from_run("", run).ended(EndReason::SafeResolution)
        };
        assert_eq!(count(rates[3]), runs.iter().filter(is_safe).count() as u64);
        assert_eq!((rates[0].of, rates[3].of), (40.0, 40.0));
        assert!(rates[2].of <= 40.0 && rates[1].of >= rates[2].of);
    }
}
