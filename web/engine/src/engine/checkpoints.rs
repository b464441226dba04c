//! The comparison of the trained policy's checkpoints, which ship with the page. Their episodes are played
//! in slices, as every other run.

use sentinel_env::{EpisodeSpec, TaskName as _};
use sentinel_page_protocol::{Card, Column, DeferredReply, Layout, Link, Meter, Panel};

use super::Engine;
use super::address_names::{Source, source_name};
use super::displayed_runs::actor;
use super::models::Models;
use crate::file_library::{episode, episode_query};
use crate::format::capitalized;
use crate::run::Run;
use crate::world::{PageWorld, default_streams, training_rules, world_info};

impl<W: PageWorld> Engine<W> {
    /// Requests the files of all checkpoints for their scores on one episode.
    pub(super) fn request_scores(&mut self) {
        self.models.wants_scores = true;
        for index in 0..W::CHECKPOINTS.len() {
            self.need_model(W::MODELS.len() + index);
        }
        self.send_scores();
    }

    /// Starts an episode of each checkpoint once all files have arrived or failed, once for each
    /// request.
    pub(super) fn send_scores(&mut self) {
        let models = &mut self.models;
        if models.wants_scores && !models.is_checkpoint_loading() {
            models.wants_scores = false;
            self.checkpoint_runs = Some(runs(models));
        }
    }

    /// Plays the episodes of the checkpoints until `is_time_up` returns `true`, and sends the scores
    /// after the last one. Returns `true` if anything is left to do.
    pub(super) fn work_on_scores(&mut self, is_time_up: &mut dyn FnMut() -> bool) -> bool {
        for (_, run) in self.checkpoint_runs.iter_mut().flatten() {
            while run.advance() {
                if is_time_up() {
                    return true;
                }
            }
        }
        if let Some(runs) = self.checkpoint_runs.take() {
            self.reply(DeferredReply::Checkpoints(Box::new(scores(&runs))));
        }
        false
    }
}

/// Returns the episode on which checkpoints are compared. It was not chosen by a result.
fn checkpoint_episode<W: PageWorld>() -> EpisodeSpec<W> {
    EpisodeSpec {
        task: W::checkpoint_task(),
        seed: W::VALIDATION_SEED,
        streams: default_streams::<W>(),
        rules: training_rules::<W>(),
    }
}

/// Returns the start of the episode with every checkpoint that was loaded, with its index.
fn runs<W: PageWorld>(models: &Models<W>) -> Vec<(usize, Run<W>)> {
    let spec = checkpoint_episode::<W>();
    let run = |index: usize| {
        let setup = spec.setup();
        let actor = actor::<W>(&Source::Checkpoint(index), &setup, spec.rules, None, models)?;
        Some((index, Run::new(&setup, Some(actor), None, None)))
    };
    (0..W::CHECKPOINTS.len()).filter_map(run).collect()
}

/// Returns the scores of checkpoints that have played the episode, with links.
fn scores<W: PageWorld>(runs: &[(usize, Run<W>)]) -> Panel {
    let spec = checkpoint_episode::<W>();
    let query = |index: usize| {
        let mut played = episode::<W>(&spec);
        played.player = source_name::<W>(&Source::Checkpoint(index));
        episode_query(W::NAME, &played)
    };
    let last = W::CHECKPOINTS.len().saturating_sub(1);
    let card = |(index, run): &(usize, Run<W>)| {
        let index = *index;
        let actions = run.frames().len() - 1;
        let score = run.view(actions).score;
        let mut links = vec![Link {
            text: "Open the episode".to_owned(),
            query: query(index),
        }];
        if index < last {
            let (query, versus) = (query(index), Source::Checkpoint(last));
            links.push(Link {
                text: "Compare with the final policy".to_owned(),
                query: format!("{query}&vs={}", source_name::<W>(&versus)),
            });
        }
        Card {
            key: W::CHECKPOINTS[index].name.to_owned(),
            title: capitalized(W::CHECKPOINTS[index].label),
            cells: vec![format!("{score:.3}"), actions.to_string()],
            meters: vec![Meter {
                value: score as f32,
                ..Meter::default()
            }],
            links,
            ..Card::default()
        }
    };
    let column = |title: &str| Column {
        title: title.to_owned(),
        help: String::new(),
        numeric: true,
    };
    let (name, seed) = (spec.task.name(), spec.seed);
    let listed = world_info::<W>().tasks;
    let task = listed.iter().find(|task| task.name == name);
    let task = task.map_or(name, |task| &task.label);
    Panel {
        id: "checkpoints".to_owned(),
        title: "See it learn".to_owned(),
        help: "One episode proves little: the curves of the validation score are means of many."
            .to_owned(),
        summary: format!(
            "Each row is the same network at another point of its training, playing the same episode: a higher score further down shows what it has learned so far. The episode is {task} with seed {seed}, the first validation seed of the run, under its rules, chosen before any result was seen."
        ),
        layout: Layout::Table(vec![column("Score"), column("Actions")]),
        cards: runs.iter().map(card).collect(),
        empty: "No checkpoint could be loaded.".to_owned(),
        ..Panel::default()
    }
}
