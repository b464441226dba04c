//! Playing an episode for its report.

use std::collections::BTreeMap;
use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, EvalPolicy};
use sentinel_env::num::round_to;
use sentinel_env::{EpisodeSpec, Session, TaskName as _};
use sentinel_play::eval::TrainedSource;
use sentinel_policy::Scripted as _;
use sentinel_policy::policy::{Player, Policy as _};
use sentinel_policy::replay::{Replay, ReplayEpisode};
use serde::Serialize;

use super::{
    FORMAT, LostReward, PlayerExplanation, ReportOrigin, RewardReportable, StepExplanation,
};

/// The cause of what the reward for the end lacks.
const END: &str = "end of the episode";

/// A report with its text.
#[derive(Clone, Debug)]
pub struct PlayedReport {
    /// The text of the file.
    pub text: String,
    /// The object `sentinel` of the file.
    pub origin: ReportOrigin,
    /// The score of the episode.
    pub score: f64,
    /// The number of steps at which a fallback acted in place of a replay.
    pub fallback_steps: usize,
}

/// The file: the world's report, and the object `sentinel`.
#[derive(Serialize)]
struct File<'a, R> {
    #[serde(flatten)]
    report: R,
    sentinel: &'a ReportOrigin,
}

/// A player that can be a replay, of which rows and misses are known.
enum Actor<W: RewardReportable> {
    Player(Player<W>),
    Replay(ReplayEpisode<W>),
}

impl<W: RewardReportable> Actor<W> {
    fn new(policy: EvalPolicy<W>, source: Option<&TrainedSource<W>>, setup: &W::Setup) -> Self {
        match (policy, source) {
            (EvalPolicy::Scripted(name), _) => Self::Player(name.start(setup)),
            (EvalPolicy::Trained, Some(TrainedSource::Model { model, .. })) => {
                Self::Player(W::trained_player(model))
            }
            (EvalPolicy::Trained, source) => {
                let empty = Replay::default();
                let replay = source.and_then(TrainedSource::replay);
                let replay = replay.map_or(&empty, |(_, replay)| replay);
                Self::Replay(ReplayEpisode::new(replay, &W::episode_spec(setup)))
            }
        }
    }

    /// Chooses an action, and says what the player thought; `None` after the end.
    fn act(&mut self, episode: &W) -> Option<(W::Action, PlayerExplanation)> {
        let observation = episode.observation();
        match self {
            Self::Player(player) => {
                let action = player.act(episode)?;
                let note = PlayerExplanation {
                    belief: player.belief(),
                    action_values: player.action_values().map(finite),
                    probabilities: player.probabilities(),
                    ..PlayerExplanation::default()
                };
                Some((action, note))
            }
            Self::Replay(_) if W::is_done(observation) => None,
            Self::Replay(replay) => {
                let action = replay.choose(observation);
                let Some(row) = replay.current() else {
                    let note = PlayerExplanation {
                        fallback: true,
                        ..PlayerExplanation::default()
                    };
                    return Some((action, note));
                };
                let transcript = row.transcript.as_deref();
                let note = PlayerExplanation {
                    belief: row.belief.clone(),
                    action_values: None,
                    probabilities: row.probabilities.clone(),
                    reasoning: row.action.reasoning.clone(),
                    completion: transcript.and_then(|text| text.completion.clone()),
                    fallback: transcript.is_some_and(|text| text.fallback),
                };
                Some((action, note))
            }
        }
    }
}

/// Returns the values that JSON can express.
fn finite(values: Vec<f64>) -> Vec<Option<f64>> {
    let checked = values
        .into_iter()
        .map(|value| Some(value).filter(|v| v.is_finite()));
    checked.collect()
}

/// Plays an episode and returns its report. `source` is the model or replay of policy `trained`; for
/// a language model it is a recording, and `model` names the model.
///
/// # Errors
/// Returns an error if the player chose an action that the world refuses, or the report is not JSON,
/// which neither players nor worlds of this program cause.
pub fn play<W: RewardReportable>(
    policy: EvalPolicy<W>,
    source: Option<&TrainedSource<W>>,
    model: Option<&Path>,
    origin: EpisodeSpec<W>,
) -> Result<PlayedReport, Error> {
    let setup = origin.setup();
    let mut session = Session::<W>::new(&setup);
    let hidden_truth = W::hidden_truth(&session);
    let mut actor = Actor::new(policy, source, &setup);
    let mut steps = Vec::new();
    while let Some((action, player)) = actor.act(session.episode()) {
        let step = explain_step(&mut session, action, player).map_err(|error| Error::Line {
            file: policy.name().to_owned(),
            line: steps.len() + 1,
            reason: error.to_string(),
        })?;
        steps.push(step);
    }
    let fallback_steps = steps.iter().filter(|step| step.player.fallback).count();
    let mut provenance = source.map_or_else(Provenance::new, |from| from.provenance().clone());
    add_step_fallbacks(&steps, &mut provenance);
    let replay = source
        .and_then(TrainedSource::replay)
        .filter(|_| model.is_none());
    let path = |path: &Path| path.display().to_string();
    let origin = ReportOrigin {
        format: FORMAT,
        world: W::NAME.to_owned(),
        task: origin.task.name().to_owned(),
        seed: origin.seed,
        policy: policy.name().to_owned(),
        model: model.map(path),
        replay: replay.map(|(file, _)| path(file)),
        streams: origin.streams.name().to_owned(),
        rules: origin.rules.to_string(),
        hidden_truth,
        losses: losses(&steps),
        steps,
        provenance,
    };
    let mut text = serde_json::to_string_pretty(&File {
        report: W::report(&session, &origin.steps),
        sentinel: &origin,
    })?;
    text.push('\n');
    Ok(PlayedReport {
        text,
        score: session.episode().score(),
        origin,
        fallback_steps,
    })
}

/// Takes an action and explains the step.
fn explain_step<W: RewardReportable>(
    session: &mut Session<W>,
    action: W::Action,
    player: PlayerExplanation,
) -> Result<StepExplanation, W::StepError> {
    let shown = W::visible_state(session);
    let step_count = W::step_count(session.episode().observation());
    let transition = session.act(action)?;
    let (reward, terminal) = W::reward_events(&transition);
    let step = &transition.info;
    let components = W::components(session, step).into_iter();
    Ok(StepExplanation {
        step_count,
        action: action.to_string(),
        reward: round_to(reward, 4),
        terminal_reward: terminal.map(|reward| round_to(reward, 4)),
        components: components
            .map(|(name, value)| (name.to_owned(), round_to(value, 4)))
            .collect(),
        reason: W::explain_reward(session, step),
        cause: W::loss_cause(session, step).to_owned(),
        shown,
        player,
        hidden_truth: W::step_truth(session, step),
    })
}

/// Adds the steps in which a fallback acted, counted by reason.
fn add_step_fallbacks(steps: &[StepExplanation], provenance: &mut Provenance) {
    let has_completion = |step: &&StepExplanation| step.player.completion.is_some();
    let acted = steps.iter().filter(|step| step.player.fallback);
    let (invalid, missing): (Vec<&StepExplanation>, Vec<&StepExplanation>) =
        acted.partition(has_completion);
    for (count, why) in [
        (invalid.len(), "the completion was not an action"),
        (missing.len(), "the replay has no row"),
    ] {
        if count > 0 {
            let what = format!("{count} steps are the fallback's: {why}");
            provenance.add_fallback("reward-report", what);
        }
    }
}

/// Counts the causes of lost reward, largest first.
fn losses(steps: &[StepExplanation]) -> Vec<LostReward> {
    let mut sums = BTreeMap::<&str, (usize, f64)>::new();
    for step in steps {
        let terminal = step.terminal_reward.map(|reward| (END, reward));
        for (cause, reward) in std::iter::once((&*step.cause, step.reward)).chain(terminal) {
            let (events, lost) = sums.entry(cause).or_default();
            *events += 1;
            *lost += 1.0 - reward;
        }
    }
    let mut losses: Vec<LostReward> = sums
        .into_iter()
        .map(|(cause, (events, lost))| LostReward {
            cause: cause.to_owned(),
            events,
            reward_lost: round_to(lost, 4),
        })
        .collect();
    losses.sort_by(|a, b| b.reward_lost.total_cmp(&a.reward_lost));
    losses
}
