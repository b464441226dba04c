//! The commands of the environments: their output and their failures.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Write};
use std::sync::atomic::AtomicBool;

use anyhow::{Result, bail};
use sentinel_base::{Error, files};
use sentinel_env::in_world;
use sentinel_language::ablate::AblateConfig;
use sentinel_language::record::RecordConfig;
use sentinel_language::{ablate, record};
use sentinel_play::bench::BenchConfig;
use sentinel_play::bound::{BoundConfig, Bounded};
use sentinel_play::eval::{EvalConfig, Evaluated};
use sentinel_play::replay_manifest::{MANIFEST_FILE, Manifest, ManifestConfig};
use sentinel_play::rules::{Comparison, Findings, RulesConfig};
use sentinel_play::trace::{Ended, TraceConfig, Traced, trace_actions, trace_policy};
use sentinel_play::verify::{VerifyConfig, verify_file};
use sentinel_play::{bench, bound, eval, rules};
use sentinel_policy::Playable;
use sentinel_policy::text::TextWorld;

use super::output::{arguments, note, print, warn};
use super::progress_bar::EpisodeBar;
use super::resolve_active_model;

/// The maximum number of bad lines of a replay that `eval` reports.
const PROBLEMS_SHOWN: usize = 20;

/// Runs `sentinel eval`, which prints a table.
pub(crate) fn eval(config: &EvalConfig) -> Result<()> {
    in_world!(config.episode.world, W => eval_in::<W>(config))
}

fn eval_in<W: Evaluated + TextWorld>(config: &EvalConfig) -> Result<()> {
    let seeds = config.seed_range();
    let plan = config.plan::<W>()?;
    if let Some(path) = &config.out {
        eval::check_replaces(path)?;
    }
    let trained = resolve_active_model::load_trained(config, &plan)?;
    let bar = EpisodeBar::new(Some(plan.episodes()));
    let mut found = eval::evaluate(&plan, trained.as_ref(), &|| bar.step());
    drop(bar);
    found.sentinel.provenance.record_command(arguments());
    let mut text = format!("seeds {seeds}, {}", eval::format_table(&found));
    // Write the file first: a reader of the output may stop before its end.
    if let Some(path) = &config.out {
        files::write_atomic(path, found.to_json()?.as_bytes())?;
        text.push_str(&format!("\nwrote {}\n", path.display()));
    }
    print(&text)?;
    let Some((path, replay)) = trained.as_ref().and_then(eval::TrainedSource::replay) else {
        return Ok(());
    };
    for problem in replay.problems().iter().take(PROBLEMS_SHOWN) {
        note(&format!("{}: {problem}", path.display()));
    }
    if replay.problem_count() > 0 {
        let (file, count) = (path.display(), replay.problem_count());
        bail!("{count} bad lines in {file} were not played: correct or remove them");
    }
    Ok(())
}

/// Runs `sentinel record`, which writes a replay.
pub(crate) fn record(config: &RecordConfig) -> Result<()> {
    let config = &resolve_active_model::resolve_record(config)?;
    let bar = EpisodeBar::new(Some(config.episodes()?));
    let report = record::record(config, &|| bar.step())?;
    drop(bar);
    for warning in &report.warnings {
        warn(warning);
    }
    if let Some(warning) = report.words.and_then(|counts| counts.fallback_warning()) {
        warn(&warning);
    }
    print(&report.text())
}

/// Runs `sentinel replay verify`, which prints a report per file.
pub(crate) fn verify(config: &VerifyConfig) -> Result<()> {
    let mut reports = Vec::new();
    let mut faults = Vec::new();
    for path in &config.files {
        let bar = EpisodeBar::new(None);
        let report = match verify_file(path, &|| bar.step()) {
            Ok(report) => report,
            // An unreadable file does not stop the verification of the others.
            Err(error) => {
                faults.push(error.to_string());
                continue;
            }
        };
        drop(bar);
        if !config.json {
            print(&report.text())?;
        }
        if !report.fits() {
            faults.push(format!("{}: {}", path.display(), report.problems()));
        }
        reports.push(report);
    }
    if config.json {
        print(&(serde_json::to_string_pretty(&reports)? + "\n"))?;
    }
    if !faults.is_empty() {
        bail!(
            "{}; correct the lines named above, or record again",
            faults.join("; ")
        );
    }
    Ok(())
}

/// Runs `sentinel replay manifest`, which writes or checks the manifest.
pub(crate) fn manifest(config: &ManifestConfig) -> Result<()> {
    let path = config.folder.join(MANIFEST_FILE);
    let older = Manifest::load(&path)?;
    let list = Manifest::from_folder(&config.folder, &older)?;
    if config.check {
        if list != older {
            bail!(
                "{} does not match the files in its folder: run `sentinel replay manifest {}`",
                path.display(),
                config.folder.display()
            );
        }
    } else {
        files::write_atomic(&path, list.to_json()?.as_bytes())?;
    }
    let bad: Vec<&str> = list
        .files
        .iter()
        .filter(|entry| !entry.fits())
        .map(|entry| entry.file.as_str())
        .collect();
    if !bad.is_empty() {
        bail!(
            "{} do not fit: see `sentinel replay verify`",
            bad.join(", ")
        );
    }
    print(&format!(
        "{}: {} replays\n",
        path.display(),
        list.files.len()
    ))
}

/// Runs `sentinel trace`, which prints JSON lines.
pub(crate) fn trace(config: &TraceConfig) -> Result<()> {
    in_world!(config.episode.world, W => trace_in::<W>(config))
}

fn trace_in<W: Traced>(config: &TraceConfig) -> Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let ended = match (&config.policy, &config.actions) {
        (Some(policy), _) => trace_policy::<W>(config, policy, &mut out),
        (None, Some(path)) if path.as_os_str() == "-" => {
            trace_actions::<W>(config, "standard input", &mut io::stdin().lock(), &mut out)
        }
        (None, Some(path)) => {
            let failed = |source| Error::Read {
                path: path.clone(),
                source,
            };
            let mut file = BufReader::new(File::open(path).map_err(failed)?);
            trace_actions::<W>(config, &path.display().to_string(), &mut file, &mut out)
        }
        // clap requires one of them.
        (None, None) => bail!("name a policy with --policy or actions with --actions"),
    };
    // Print the rows so far before reporting an error.
    out.flush().map_err(Error::Output)?;
    if let Ended::NoMoreActions(taken) = ended? {
        note(&format!(
            "note: the episode still runs after {taken} actions: no final row"
        ));
    }
    Ok(())
}

/// Runs `sentinel bench`, which prints speeds.
pub(crate) fn bench(config: &BenchConfig) -> Result<()> {
    let bar = EpisodeBar::new(None);
    let speeds = in_world!(config.episode.world, W => bench::bench::<W>(config, || bar.step()))?;
    drop(bar);
    if config.json {
        print(&(serde_json::to_string_pretty(&speeds)? + "\n"))
    } else {
        print(&bench::format_table(&speeds))
    }
}

/// Runs `sentinel rules`, which prints a comparison of rules.
pub(crate) fn rules(config: &RulesConfig) -> Result<()> {
    if let Some(path) = &config.out {
        rules::check_replaces(path)?;
    }
    let findings = in_world!(config.episode.world, W => compare::<W>(config))?;
    if let Some(path) = &config.out {
        files::write_atomic(path, findings.to_json()?.as_bytes())?;
        note(&format!("wrote {}", path.display()));
    }
    if config.json {
        print(&findings.to_json()?)
    } else {
        print(&rules::format_table(&findings))
    }
}

fn compare<W: Playable>(config: &RulesConfig) -> Result<Findings> {
    let comparison = Comparison::<W>::new(config)?;
    let bar = EpisodeBar::new(Some(comparison.episodes(config)));
    Ok(rules::compare(config, &comparison, &|| bar.step()))
}

/// Runs `sentinel bound`, which prints bounds, and the distance of policies from them.
pub(crate) fn bound(config: &BoundConfig) -> Result<()> {
    in_world!(config.world, W => bound_in::<W>(config))
}

fn bound_in<W: Bounded>(config: &BoundConfig) -> Result<()> {
    let plan = bound::Plan::<W>::new(config)?;
    let computations = plan.computations()?;
    let bar = EpisodeBar::new(Some(computations.len() as u64));
    let cases = bound::compute(&computations, &|cases| {
        bar.step();
        // A computation for many cases takes long.
        if let [first, _, ..] = cases {
            let (name, others) = (&first.case, cases.len() - 1);
            note(&format!("{name} and {others} like it: {:.4}", first.bound));
        }
    });
    drop(bar);
    let bounds = plan.compare(cases);
    if let Some(path) = &config.out {
        files::write_atomic(path, bounds.to_json()?.as_bytes())?;
        note(&format!("wrote {}", path.display()));
    }
    if config.json {
        print(&bounds.to_json()?)
    } else {
        print(&bound::format_table::<W>(&bounds))
    }
}

/// Runs `sentinel ablate`, which prints a table.
pub(crate) fn ablate(config: &AblateConfig) -> Result<()> {
    let config = &resolve_active_model::resolve_ablate(config)?;
    let plan = config.plan()?;
    if let Some(path) = &config.out {
        ablate::check_replaces(path)?;
    }
    let bar = EpisodeBar::new(Some(plan.episodes(config.model.is_some())));
    // It has no state to save, so a signal ends the program as usual.
    let found = ablate::play(config, &plan, &AtomicBool::new(false), &|| bar.step())?;
    drop(bar);
    if let Some(path) = &config.out {
        files::write_atomic(path, found.to_json()?.as_bytes())?;
        note(&format!("wrote {}", path.display()));
    }
    print(&ablate::format_table(&found))
}
