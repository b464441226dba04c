//! The evaluation whose policies are compared with bounds.

use std::path::Path;

use sentinel_base::Error;
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::{TaskName as _, World};
use serde::Deserialize;
use serde_json::Value;

/// The part of an evaluation's file that is read.
#[derive(Debug, Deserialize)]
struct EvaluationFile {
    #[serde(default)]
    adaptive: bool,
    streams: Option<Streams>,
    rules: Option<String>,
    adversary_threshold: Option<f64>,
    episodes: Vec<EpisodeRow>,
}

#[derive(Debug, Deserialize)]
struct EpisodeRow {
    policy: String,
    task_type: String,
    seed: u64,
    score: f64,
}

/// The score of an episode of the world `W`.
#[derive(Debug)]
pub(super) struct PlayedEpisode<W: World> {
    /// The name of the policy.
    pub policy: String,
    /// The task of the episode.
    pub task: W::Task,
    /// The seed of the episode.
    pub seed: u64,
    /// The score of the episode.
    pub score: f64,
}

/// Reads the episodes of some tasks, or of all, from an evaluation that was played with independent streams,
/// under `rules`, at the default difficulty.
///
/// # Errors
/// Returns an error if the file is not such an evaluation of the world `W`, or has no such episode.
pub(super) fn read<W: World>(
    path: &Path,
    rules: Rules<W::Change>,
    tasks: Option<&[W::Task]>,
) -> Result<Vec<PlayedEpisode<W>>, Error> {
    let refuse = |reason: String| Error::Invalid {
        path: path.to_owned(),
        reason,
    };
    let bytes = std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    let unreadable = |error: serde_json::Error| {
        refuse(format!(
            "it is not an evaluation by `sentinel eval` ({error})"
        ))
    };
    let file: Value = serde_json::from_slice(&bytes).map_err(unreadable)?;
    if let Some(world) = file["sentinel"]["world"]
        .as_str()
        .filter(|name| *name != W::NAME)
    {
        let reason = format!("its world is {world}: add --world {world}");
        return Err(refuse(reason));
    }
    let file = EvaluationFile::deserialize(file).map_err(unreadable)?;
    let played = file
        .rules
        .unwrap_or_else(|| Rules::<W::Change>::REFERENCE.to_string());
    let same = Rules::parse(&played).is_ok_and(|played| played == rules);
    if !same {
        return Err(refuse(format!(
            "its rules are {played}: add --rules {played}"
        )));
    }
    if file.streams != Some(Streams::Independent) && W::STREAMS.contains(&Streams::Reference) {
        return Err(refuse(
            "its streams are reference, where the scenario number reveals a slot: play it with \
             --streams independent"
                .to_owned(),
        ));
    }
    if file.adaptive || file.adversary_threshold.is_some() {
        return Err(refuse("its difficulty is not the default".to_owned()));
    }
    let played = |row: EpisodeRow| {
        let task = W::Task::parse(&row.task_type)?;
        let is_meant = tasks.is_none_or(|tasks| tasks.contains(&task));
        is_meant.then_some(PlayedEpisode {
            policy: row.policy,
            task,
            seed: row.seed,
            score: row.score,
        })
    };
    let episodes: Vec<_> = file.episodes.into_iter().filter_map(played).collect();
    if episodes.is_empty() {
        return Err(refuse(
            "it has no episode of these tasks: leave out --task for all that it has".to_owned(),
        ));
    }
    Ok(episodes)
}
