//! Recorded results: training runs side by side, checkpoints on one episode, and reports.

use sentinel_page_protocol::{AgentView, RunUpdate, decode};

use super::*;

/// A checkpoint of the trained policy on the episode of all checkpoints.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PlayedCheckpoint {
    /// Number under which the engine reports the run.
    run: u32,
    /// The checkpoint as the address writes it.
    pub player: String,
    /// Readable name of the checkpoint.
    pub label: String,
    /// Final score and number of actions; `None` until the episode has ended.
    pub result: Option<(f64, usize)>,
}

/// Creates the engines' pool: one for each world, and one that reads training logs and reports.
pub(super) fn engine_pool(mut programs: Vec<Program>) -> EnginePool {
    programs.push(Program {
        world: RECORDS.to_owned(),
        module: browser::records_program(),
        title: String::new(),
    });
    EnginePool::new(browser::engine_script(), programs)
}

impl Page {
    /// Requests the curves of training runs; those of the world's trained policy if none is named.
    pub fn request_curves(&self, world: String, runs: Vec<String>, smooth: bool) {
        self.send(
            Role::Records,
            &Request::Curves {
                world,
                runs,
                smooth,
            },
        );
    }

    /// Adds a training run to the Training screen, from the text of its `trainer_state.json`, and
    /// shows it beside the runs that are shown.
    pub fn add_run(&self, name: String, text: String) {
        let (content, dropped) = (Ok(text.into_bytes()), true);
        self.send(
            Role::Records,
            &Request::File {
                name,
                content,
                dropped,
            },
        );
    }

    /// Shows a training run beside the others, or removes it.
    pub fn toggle_run(&self, name: &str, shown: &[String]) {
        let mut runs = shown.to_vec();
        match runs.iter().position(|run| run == name) {
            Some(index) => {
                runs.remove(index);
            }
            None => runs.push(name.to_owned()),
        }
        self.state.update(|state| state.runs = runs);
    }

    /// Requests the reports, unless they are here.
    pub fn request_results(&self) {
        if self.results.with_untracked(Option::is_none) {
            self.send(Role::Records, &Request::Results);
        }
    }

    /// Plays the episode of the checkpoints with each of them.
    pub fn play_checkpoints(&self, info: &WorldInfo) {
        let played = info.checkpoints.iter().map(|checkpoint| PlayedCheckpoint {
            run: self.next_run(),
            player: checkpoint.name.clone(),
            label: checkpoint.label.clone(),
            result: None,
        });
        let played: Vec<PlayedCheckpoint> = played.collect();
        let mut state = PageState::default();
        state.apply_episode(&info.checkpoint_episode);
        self.checkpoints.set(played.clone());
        for checkpoint in played {
            self.send(
                Role::Play,
                &Request::Play {
                    run: checkpoint.run,
                    episode: state.episode(),
                    player: checkpoint.player,
                    branch: None,
                },
            );
        }
    }

    /// Takes the result of a checkpoint from the last frame of its run.
    pub(super) fn apply_checkpoint(&self, update: &RunUpdate) {
        let known = |played: &PlayedCheckpoint| played.run == update.run;
        let index = self
            .checkpoints
            .with_untracked(|all| all.iter().position(known));
        let last = update.frames.last().filter(|_| update.done);
        let last = last.and_then(|frame| decode::<AgentView>(frame).ok());
        let (Some(index), Some(last)) = (index, last) else {
            return;
        };
        let actions = update.from as usize + update.frames.len() - 1;
        self.checkpoints
            .update(|all| all[index].result = Some((last.score, actions)));
        self.send(Role::Play, &Request::Stop { run: update.run });
    }

    /// Shows the episode of `state`, which may be that of another world.
    pub fn open_state(&self, state: PageState) {
        self.playing.set(false);
        self.cache_state();
        self.state.set(state);
    }
}
