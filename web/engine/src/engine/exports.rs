//! Files that the visitor takes away.

use std::sync::Arc;

use sentinel_page_protocol::{Chart, Conversion, Export, ExportedFile, Reply};
use sentinel_policy::nn::Model;
use sentinel_policy::replay::to_lines;

use super::Engine;
use super::address_names::Source;
use super::displayed_runs::Shown;
use crate::export::{chart_svg, episode_rows, episode_stem, file_stem, standings_csv, video_json};
use crate::library::Library;
use crate::world::{PageWorld, VISITOR, world_info};

/// Sentence about an export of a run without actions.
const NO_ACTION: &str = "Nothing to save: the episode has no action yet.";

impl<W: PageWorld> Engine<W> {
    /// Answers with the file, or with the reason why there is none.
    pub(super) fn export(&mut self, export: Export) {
        let made = match export {
            Export::Episode { run } => self.export_episode(run),
            Export::Video { run } => self.export_video(run),
            Export::Chart { run, chart, png } => Ok(self.export_chart(run, &chart, png)),
            Export::Standings { standings, tasks } => {
                let several = if tasks.len() > 1 { "all" } else { "" };
                let task = tasks.first().filter(|_| tasks.len() == 1);
                let task = task.map_or(several, String::as_str);
                Ok(ExportedFile {
                    name: file_stem(&[W::NAME, task, "standings"]) + ".csv",
                    mime: "text/csv".to_owned(),
                    content: standings_csv(&standings, &tasks).into_bytes(),
                    conversion: Conversion::None,
                })
            }
        };
        match made {
            Ok(file) => self.replies.push_back(Reply::Exported(file)),
            Err(reason) => self.problem(reason),
        }
    }

    fn export_episode(&self, run: u32) -> Result<ExportedFile, String> {
        let shown = self.shown(run).ok_or(NO_ACTION)?;
        let text = replay_text(shown, &self.library, self.model.ready())?;
        Ok(ExportedFile {
            name: stem(shown) + ".jsonl",
            mime: "application/jsonl".to_owned(),
            content: text.into_bytes(),
            conversion: Conversion::None,
        })
    }

    fn export_video(&self, run: u32) -> Result<ExportedFile, String> {
        let shown = self.shown(run).ok_or(NO_ACTION)?;
        if shown.run.frames().len() < 2 {
            return Err(NO_ACTION.to_owned());
        }
        let (title, caption) = caption(shown);
        let content = video_json(&shown.run, &title, &caption).map_err(|e| e.to_string())?;
        Ok(ExportedFile {
            name: stem(shown) + ".webm",
            mime: "application/json".to_owned(),
            content,
            conversion: Conversion::Video,
        })
    }

    fn export_chart(&self, run: u32, chart: &Chart, png: bool) -> ExportedFile {
        let (caption, stem) = match self.shown(run) {
            Some(shown) => {
                let (title, caption) = caption(shown);
                (format!("{title} · {caption}"), stem(shown))
            }
            None => (world_info::<W>().title, file_stem(&[W::NAME, "training"])),
        };
        let (ending, conversion) = if png {
            (".png", Conversion::Png)
        } else {
            (".svg", Conversion::None)
        };
        ExportedFile {
            name: file_stem(&[&stem, &chart.id]) + ending,
            mime: "image/svg+xml".to_owned(),
            content: chart_svg(chart, &caption).into_bytes(),
            conversion,
        }
    }
}

/// Returns the episode of a run as the text of a replay file.
fn replay_text<W: PageWorld>(
    shown: &Shown<W>,
    library: &Library<W>,
    model: Option<&Arc<Model<W::Net>>>,
) -> Result<String, String> {
    let source = match &shown.source {
        Source::Trained => model.map_or("trained", |model| &model.config.name),
        Source::Policy(_) | Source::Replay(_) | Source::Visitor => &shown.episode.player,
    };
    let recorded = match &shown.source {
        Source::Replay(name) => library.file(name).ready(),
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
