//! The commands of evidence: reports of episodes, the health of the cluster, and charts.

use std::path::PathBuf;

use anyhow::{Result, bail};
use sentinel_base::provenance::Provenance;
use sentinel_base::{CellArgs, EpisodeArgs, Progress, files};
use sentinel_env::{TaskName as _, in_world};
use sentinel_evidence::cluster_health::ClusterHealthConfig;
use sentinel_evidence::plots::PlotsConfig;
use sentinel_evidence::reward_report::RewardReportConfig;
use sentinel_evidence::{cluster_health, plots, reward_report};
use sentinel_language::agent::GenerationArgs;
use sentinel_language::record;
use sentinel_language::record::RecordConfig;
use sentinel_play::compact_model::ModelKind;
use sentinel_play::eval::TrainedSource;
use sentinel_play::trace::Traced;
use sentinel_policy::replay::AnyReplay;

use super::output::print;
use super::progress_bar::EpisodeBar;

/// Runs `sentinel reward-report`, which writes a report for each episode.
pub(super) fn reward_report(config: &RewardReportConfig) -> Result<()> {
    let bar = EpisodeBar::new(None);
    let step = || bar.step();
    let written = in_world!(config.episode.world, W => {
        let source = source::<W>(config, &step)?;
        reward_report::write_reports::<W>(config, source.as_ref(), &step)?
    });
    drop(bar);
    let mut text = String::new();
    for report in written {
        let (path, steps) = (report.path.display(), report.steps);
        text.push_str(&format!("{path}: {steps} steps, score {:.4}", report.score));
        if report.fallback_steps > 0 {
            text.push_str(&format!(", {} of them a fallback's", report.fallback_steps));
        }
        text.push('\n');
    }
    print(&text)
}

/// Loads what plays as policy `trained`. A language model plays first, and its recording is the
/// source.
fn source<W: Traced>(
    config: &RewardReportConfig,
    progress: Progress<'_>,
) -> Result<Option<TrainedSource<W>>> {
    let language = |model: &&PathBuf| ModelKind::from_files(model) == Some(ModelKind::Language);
    let Some(model) = config.model.as_ref().filter(language) else {
        return Ok(config.source::<W>()?);
    };
    let folder = tempfile::tempdir()?;
    let out = folder.path().join("recording.jsonl");
    let tasks = config.tasks::<W>()?;
    let names: Vec<&str> = tasks.iter().map(|task| task.name()).collect();
    let recording = RecordConfig {
        policy: None,
        model: Some(model.clone()),
        prompt: None,
        reader: None,
        out: out.clone(),
        force: false,
        manifest: None,
        episode: EpisodeArgs {
            task: Some(names.join(",")),
            cells: CellArgs::default(),
            seeds: Some(config.seed_range()),
            ..config.episode.clone()
        },
        generation: GenerationArgs {
            adapter: config.adapter.clone(),
            ..GenerationArgs::default()
        },
    };
    record::record(&recording, progress)?;
    let replay = files::read_replay_of::<W>(&out)?;
    let mut provenance = Provenance::from_replays(std::iter::once(&replay as &dyn AnyReplay));
    provenance.add_model("model", model)?;
    if let Some(adapter) = &config.adapter {
        provenance.add_model("adapter", adapter)?;
    }
    Ok(Some(TrainedSource::Replay {
        path: model.clone(),
        replay,
        provenance,
    }))
}

/// Runs `sentinel cluster-health`, which writes a history and prints the mean of each policy.
pub(super) fn cluster_health(config: &ClusterHealthConfig) -> Result<()> {
    cluster_health::check_target(&config.out)?;
    let bar = EpisodeBar::new(Some(config.episodes()?));
    let found = cluster_health::play(config, &|| bar.step())?;
    drop(bar);
    files::write_atomic(&config.out, found.to_json()?.as_bytes())?;
    let mut text = String::new();
    for (policy, series) in &found.series {
        let mean = series.iter().sum::<f64>() / series.len().max(1) as f64;
        let steps = series.len();
        text.push_str(&format!(
            "{policy:<12} mean health {mean:.4} over {steps} steps\n"
        ));
    }
    print(&format!("{text}wrote {}\n", config.out.display()))
}

/// Runs `sentinel plots`, which draws charts; charts that are not drawn are a failure.
pub(super) fn plots(config: &PlotsConfig) -> Result<()> {
    let result = plots::draw(config)?;
    let mut text = String::new();
    for (_, files) in &result.drawn {
        text.push_str(&format!("{}\n", files.svg.display()));
    }
    for (name, reason) in &result.not_drawn {
        text.push_str(&format!("not drawn: {name}: {reason}\n"));
    }
    print(&text)?;
    let (missing, all) = (
        result.not_drawn.len(),
        result.drawn.len() + result.not_drawn.len(),
    );
    if missing > 0 {
        bail!(
            "{missing} of {all} charts were not drawn: see above, or name the others with --only"
        );
    }
    Ok(())
}
