//! Replay rows of what was asked and said.
//!
//! An episode must go on after a completion that is no action, where the world has none for that:
//! the replay's own fallback acts then, and the row says so with the completion that it stands for.

use sentinel_env::World;
use sentinel_policy::replay::{EpisodeKey, RecordedAction, ReplayRow, Spoken};
use sentinel_policy::text::{Consequence, Situation, TextWorld};

use super::rollout::{Asked, RolloutError, Speaker, Terms};
use crate::Progress;

/// What was recorded.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Recording {
    /// In the order of the setups, step by step.
    pub rows: Vec<ReplayRow>,
    /// Score of each episode.
    pub scores: Vec<f64>,
    /// Rows whose completion was read only after a repair.
    pub repaired: usize,
    /// Rows whose completion was no action, so that the fallback acted.
    pub fallbacks: usize,
}

/// Plays episodes side by side and writes down what was asked, said and done.
///
/// # Errors
/// If a speaker does not complete each prompt.
pub fn record_spoken<W: TextWorld>(
    setups: &[W::Setup],
    terms: Terms,
    model_source: &str,
    speaker: &mut dyn Speaker<W>,
    progress: Progress<'_>,
) -> Result<Recording, RolloutError> {
    let mut situations: Vec<Situation<W>> = setups.iter().map(Situation::new).collect();
    let mut rows: Vec<Vec<ReplayRow>> = vec![Vec::new(); setups.len()];
    loop {
        let open = |(_, s): &(usize, &Situation<W>)| !s.done();
        let asked: Vec<Asked<'_, W>> = (situations.iter().enumerate().filter(open))
            .map(|(episode, situation)| Asked { episode, situation })
            .collect();
        if asked.is_empty() {
            break;
        }
        let prompts: Vec<String> = (asked.iter())
            .map(|asked| asked.situation.prompt(terms.style))
            .collect();
        let said = super::rollout::ask(speaker, &prompts, &asked)?;
        let open: Vec<usize> = asked.iter().map(|asked| asked.episode).collect();
        for (at, (prompt, completion)) in open.into_iter().zip(prompts.into_iter().zip(said)) {
            let situation = &mut situations[at];
            let (action, text) = heard(situation, terms, prompt, completion);
            rows[at].push(row(situation, model_source, action, text));
            let refused = |error: W::StepError| RolloutError::Refused(error.to_string());
            situation.step(action).map_err(refused)?;
            if situation.done() {
                progress();
            }
        }
    }
    let rows: Vec<ReplayRow> = rows.into_iter().flatten().collect();
    let count = |is: fn(&Spoken) -> bool| {
        rows.iter()
            .filter(|row| row.text.as_deref().is_some_and(is))
            .count()
    };
    Ok(Recording {
        repaired: count(|text| text.repaired),
        fallbacks: count(|text| text.fallback),
        scores: situations.iter().map(|s| W::score(s.episode())).collect(),
        rows,
    })
}

/// The action that a completion stands for, and how it came to it.
fn heard<W: TextWorld>(
    situation: &Situation<W>,
    terms: Terms,
    prompt: String,
    completion: String,
) -> (W::Action, Box<Spoken>) {
    let observation = situation.observation();
    let (action, repaired, fallback) = match W::hear(terms.reader, &completion, observation) {
        Ok(heard) => (heard.action, heard.repaired, false),
        Err(_) => match W::consequence(&completion, observation) {
            Consequence::Step(action) => (action, false, false),
            Consequence::Ends => (W::fallback(observation), false, true),
        },
    };
    let text = Spoken {
        prompt: Some(prompt),
        completion: Some(completion),
        repaired,
        fallback,
    };
    (action, Box::new(text))
}

fn row<W: TextWorld>(
    situation: &Situation<W>,
    model_source: &str,
    action: W::Action,
    text: Box<Spoken>,
) -> ReplayRow {
    let episode = situation.episode();
    let key = EpisodeKey::made_by::<W>(<W as World>::setup_of(episode));
    ReplayRow {
        task_type: key.task,
        seed: key.seed,
        step: W::steps_used(situation.observation()),
        action: RecordedAction::from(W::widen(action)),
        scenario_id: W::scenario_id(episode),
        model_source: model_source.to_owned(),
        world: key.world,
        streams: key.streams,
        rules: key.rules,
        probabilities: None,
        belief: None,
        text: Some(text),
    }
}
