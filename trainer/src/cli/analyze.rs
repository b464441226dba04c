//! `sentinel analyze`: progress on standard error, and the file of results.

use std::fmt::Write as _;
use std::sync::Mutex;

use anyhow::{Result, bail};
use sentinel_base::files;
use sentinel_play::analyze;
use sentinel_play::analyze::{AnalyzeConfig, EpisodeAnalysis, Event};

use super::interrupt::{Interrupted, on_interrupt};
use super::output::{arguments, print};
use super::progress_bar::RunBar;

/// The maximum number of bad lines of a replay that are printed.
const PROBLEMS_SHOWN: usize = 20;

/// Runs `sentinel analyze`, which writes a file. Ctrl-C keeps the episodes that are complete, and
/// what is done of the current one.
pub(crate) fn analyze(config: &AnalyzeConfig) -> Result<()> {
    analyze::check_out(&config.out)?;
    let stop = on_interrupt()?;
    let view = Mutex::new(RunBar::new(0, 24));
    let found = analyze::analyze(config, stop, &|event| {
        if let Ok(bar) = view.lock() {
            show(&bar, event);
        }
    });
    if let Ok(bar) = view.lock() {
        bar.close();
    }
    let mut found = found?;
    found.provenance.record_command(arguments());
    files::write_atomic(&config.out, found.to_lines(config)?.as_bytes())?;
    let bar = RunBar::new(0, 24);
    for problem in found.problems.iter().take(PROBLEMS_SHOWN) {
        bar.line(&format!("{}: {problem}", config.replay.display()));
    }
    if found.interrupted {
        bar.line(&format!(
            "stopped; {} holds {} episodes, those that are not finished are marked",
            config.out.display(),
            found.episodes.len()
        ));
        return Err(Interrupted.into());
    }
    print(&format!(
        "wrote {}: {} episodes\n",
        config.out.display(),
        found.episodes.len()
    ))?;
    if found.problem_count > 0 {
        let (file, count) = (config.replay.display(), found.problem_count);
        bail!("{count} bad lines in {file} were not analyzed: correct or remove them");
    }
    Ok(())
}

fn show(bar: &RunBar, event: &Event<'_>) {
    match event {
        Event::Rollouts {
            episode,
            episodes,
            progress,
        } => {
            bar.bar.set_length(progress.total);
            bar.bar.set_position(progress.done);
            bar.bar
                .set_message(format!("rollouts, episode {} of {episodes}", episode + 1));
        }
        Event::Episode(episode) => bar.line(&line(episode)),
        Event::Warning(text) => bar.line(&format!("warning: {text}")),
    }
}

/// Returns an episode in one line.
fn line(episode: &EpisodeAnalysis) -> String {
    let mut text = format!("{}: ", episode.id);
    if let Some(score) = episode.score {
        let _ = write!(text, "score {score:.3}, ");
    }
    if let Some(accuracy) = episode.accuracy {
        let _ = write!(text, "accuracy {:.0} %, ", 100.0 * accuracy);
    }
    let _ = write!(text, "{} mistakes", episode.mistakes.len());
    let parts = episode.expected.zip(episode.decisions).zip(episode.luck);
    if let Some(((expected, decisions), luck)) = parts {
        let _ = write!(
            text,
            ", expected {expected:.3}, decisions {decisions:+.3}, luck {luck:+.3}"
        );
    }
    if !episode.complete {
        text.push_str(", not finished");
    }
    text
}
