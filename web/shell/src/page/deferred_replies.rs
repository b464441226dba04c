//! Replies to the deferred parts of the page.

use super::*;

impl Page {
    /// Takes a reply of an engine; `here` is `true` for an engine of the current world.
    pub fn take_reply(self, here: bool, reply: Reply) {
        match reply {
            Reply::Foreign(file) => self.open_foreign(file),
            Reply::FileRead(sentence) => self.files.read.update(|all| all.push(sentence)),
            Reply::Exported(file) => self.save_exported(file),
            // Answers to requests from another world are dropped.
            _ if !here => {}
            Reply::Analysis(update) => {
                // One that was on its way when the visitor ended the analysis is dropped.
                let episode = self.episode_of_run(update.run);
                if let Some(episode) = episode.filter(EpisodeView::is_analyzed) {
                    episode.analysis.set(Some(Arc::from(update)));
                }
            }
            Reply::TrueAnalysis(update) => {
                let shown = self.state.with_untracked(|state| state.truth);
                let episode = self.episode_of_run(update.run).filter(|_| shown);
                if let Some(episode) = episode.filter(EpisodeView::is_analyzed) {
                    episode.truth.analysis.set(Some(Arc::from(update)));
                }
            }
            Reply::Standings(_) | Reply::PartialResults { .. } => self.handle_results(reply),
            Reply::TrainingLog { name, text } => self.add_run(name, text),
            Reply::RunAdded(name) => self.show_added_run(&name),
            Reply::Records(records) => self.records.set(Some(Arc::from(records))),
            Reply::Checkpoints(panel) => self.checkpoints.set(Some(Arc::from(panel))),
            Reply::Opened(episode) => self.open_played(&episode),
            Reply::Evaluation(evaluation) => {
                self.files.evaluation.set(Some(Arc::new(evaluation)));
            }
            _ => {}
        }
    }
}
