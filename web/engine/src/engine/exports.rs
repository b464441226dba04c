//! Files that the visitor takes away.

use std::sync::Arc;

use sentinel_page_protocol::{Conversion, DeferredReply, Export, ExportedFile, Standings};
use sentinel_policy::replay::to_lines;

use super::Engine;
use super::address_names::Source;
use super::displayed_runs::Shown;
use super::models::Models;
use crate::export::{NOTHING, chart_file, episode_rows, episode_stem, file_stem, standings_csv};
use crate::file_library::FileLibrary;
use crate::files::Fetched;
use crate::world::{PageWorld, VISITOR, world_info};

/// Sentence about an export of a run without actions.
const NO_ACTION: &str = "Nothing to save: the episode has no action yet.";

/// Results that the engine has sent and that belong to no run.
#[derive(Default)]
pub(super) struct Sent {
    standings: Option<Standings>,
}

impl Sent {
    /// Keeps the results of a reply, so that the visitor can save them.
    pub(super) fn remember(&mut self, reply: &DeferredReply) {
        if let DeferredReply::Standings(standings) = reply {
            self.standings = Some(standings.clone());
        }
    }
}

impl<W: PageWorld> Engine<W> {
    /// Answers with the file, or with the reason why there is none.
    pub(super) fn export(&mut self, run: u32, export: &Export) {
        let made = match export {
            Export::Episode => self.export_episode(run),
            Export::Chart { id, truth, png } => self.export_chart(run, id, *truth, *png),
            Export::Standings { tasks } => self.export_standings(tasks),
        };
        match made {
            Ok(file) => self.reply(DeferredReply::Exported(file)),
            Err(reason) => self.problem(reason),
        }
    }

    fn export_standings(&self, tasks: &[String]) -> Result<ExportedFile, String> {
        let standings = self.sent.standings.as_ref().ok_or(NOTHING)?;
        let task = match tasks {
            [task] => task,
            _ => "all",
        };
        Ok(ExportedFile {
            name: file_stem(&[W::NAME, task, "standings"]) + ".csv",
            mime: "text/csv".to_owned(),
            content: standings_csv(standings, tasks).into_bytes(),
            conversion: Conversion::None,
        })
    }

    fn export_episode(&self, run: u32) -> Result<ExportedFile, String> {
        let shown = self.shown(run).ok_or(NO_ACTION)?;
        let text = replay_text(shown, &self.file_library, &self.models)?;
        Ok(ExportedFile {
            name: stem(shown) + ".jsonl",
            mime: "application/jsonl".to_owned(),
            content: text.into_bytes(),
            conversion: Conversion::None,
        })
    }

    fn export_chart(
        &self,
        run: u32,
        id: &str,
        truth: bool,
        png: bool,
    ) -> Result<ExportedFile, String> {
        let shown = self.shown(run).ok_or(NOTHING)?;
        let (title, caption) = caption(shown);
        let charts = shown.drawn_charts(run, truth);
        let mut chart = charts.into_iter().find(|chart| chart.id == id);
        let chart = chart.as_mut().ok_or(NOTHING)?;
        if truth {
            chart.title += " (with hidden values)";
            chart.id += "-truth";
        }
        let caption = format!("{title} · {caption}");
        Ok(chart_file(&stem(shown), chart, &caption, png))
    }
}

/// Returns the episode of a run as the text of a replay file.
fn replay_text<W: PageWorld>(
    shown: &Shown<W>,
    file_library: &FileLibrary<W>,
    models: &Models<W>,
) -> Result<String, String> {
    let model = match &shown.source {
        Source::Model(name) => file_library.model(name),
        source => models.of(source, shown.rules).and_then(Fetched::ready),
    };
    let source = model.map_or(&shown.episode.player, |model| &model.config.name);
    let recorded = match &shown.source {
        Source::Replay(name) => file_library.file(name).ready(),
        _ => None,
    };
    let recorded = recorded.and_then(|read| read.replay.episode(&W::episode_spec(&shown.setup)));
    let rows = episode_rows(&shown.run, source, recorded.map(Arc::as_ref));
    if rows.is_empty() {
        return Err(NO_ACTION.to_owned());
    }
    to_lines(&rows).map_err(|error| error.to_string())
}

/// Returns the title of the world, and episode and player in words.
fn caption<W: PageWorld>(shown: &Shown<W>) -> (String, String) {
    let (info, episode) = (world_info::<W>(), &shown.episode);
    let task = info.tasks.iter().find(|task| task.name == episode.task);
    let task = task.map_or(&episode.task, |task| &task.label);
    let mut caption = format!("{task} · seed {} · {}", episode.seed, episode.player_label);
    if shown.branch.is_some() && episode.player != VISITOR {
        caption += " with own actions";
    }
    (info.title, caption)
}

/// Returns the words of a run for a file name.
fn stem<W: PageWorld>(shown: &Shown<W>) -> String {
    let own = shown.branch.is_some() && shown.episode.player != VISITOR;
    let stem = episode_stem(W::NAME, &shown.episode);
    if own { stem + "-own" } else { stem }
}
