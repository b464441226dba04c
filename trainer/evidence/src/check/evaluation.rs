//! The evaluation of a replay on a few seeds, beside the scripted policies of its world.

use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_base::{EpisodeArgs, Error, SeedRange, files};
use sentinel_env::{WorldName, in_world};
use sentinel_play::eval;
use sentinel_play::eval::{EvalConfig, Evaluated, TrainedSource};
use sentinel_play::verify::FileReport;
use sentinel_policy::replay::AnyReplay;

/// Evaluates the replay on its first seeds. Returns the mean scores as evidence, or the reason why
/// the replay cannot play all of these episodes.
pub(super) fn evaluate(path: &Path, report: &FileReport, episodes: u64) -> Result<String, String> {
    let checks = &report.verification.episodes;
    let first = checks.first().ok_or("the replay has no episode")?;
    let world = WorldName::parse(first.id.world).ok_or("the replay is of an unknown world")?;
    let same = |check: &&sentinel_policy::replay::EpisodeCheck| {
        check.id.world == first.id.world
            && check.id.streams == first.id.streams
            && check.id.rules == first.id.rules
    };
    let usual = in_world!(world, W => <W as Evaluated>::DEFAULT_TASK);
    let recorded: Vec<_> = checks.iter().filter(same).map(|check| &check.id).collect();
    let task = usual
        .filter(|task| recorded.iter().any(|id| id.task == *task))
        .unwrap_or(first.id.task);
    let start = recorded
        .iter()
        .filter(|id| id.task == task)
        .map(|id| id.seed)
        .min();
    let start = start.ok_or("the replay has no episode")?;
    let policies = in_world!(world, W => <W as Evaluated>::DEFAULT_POLICIES);
    let config = EvalConfig {
        policies: Some(format!("{policies},trained")),
        adaptive: false,
        adversary_threshold: None,
        model: None,
        replay: Some(path.to_owned()),
        out: None,
        episode: EpisodeArgs {
            rules: first.id.rules().to_owned(),
            task: Some(task.to_owned()),
            seeds: Some(SeedRange::new(start, start.saturating_add(episodes.max(1)))),
            streams: Some(first.id.streams),
            ..EpisodeArgs::new(world)
        },
    };
    in_world!(world, W => evaluate_in::<W>(&config, path, task))
}

fn evaluate_in<W: Evaluated>(
    config: &EvalConfig,
    path: &Path,
    task: &str,
) -> Result<String, String> {
    let text = |error: Error| error.to_string();
    let plan = config.plan::<W>().map_err(text)?;
    let replay = files::read_replay_of::<W>(path).map_err(text)?;
    let provenance = Provenance::from_replays(std::iter::once(&replay as &dyn AnyReplay));
    let source = TrainedSource::Replay {
        path: path.to_owned(),
        replay,
        provenance,
    };
    let found = eval::evaluate(&plan, Some(&source), &|| ());
    let scores: Vec<String> = (found.summary.0.iter())
        .filter_map(|(policy, summary)| {
            let (_, cells) = W::table_cells(summary);
            Some(format!("{policy} {:.4}", cells.first()?))
        })
        .collect();
    let scores = scores.join(", ");
    let said = format!(
        "{task}, seeds {}, {} streams: {scores}",
        config.seed_range(),
        plan.streams.name()
    );
    let used = found.replay.ok_or("policy trained did not play")?;
    let substituted = used.replay_misses + used.replay_fallbacks + used.replay_mismatches;
    if substituted > 0 {
        return Err(format!(
            "{said}; {} steps have no row, {} rows are of a fallback, {} are of another scenario: record these seeds",
            used.replay_misses, used.replay_fallbacks, used.replay_mismatches
        ));
    }
    Ok(format!("{said}; {} recorded actions", used.replay_hits))
}
