//! Who completes prompts, and how episodes ask side by side.

use sentinel_policy::text::{PromptStyle, Situation, TextWorld};

use crate::Progress;

/// Why a rollout stopped.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RolloutError {
    /// Not one completion for each prompt.
    #[error("{asked} prompts were completed by {said} completions: there must be one for each")]
    Count {
        /// Prompts.
        asked: usize,
        /// Completions.
        said: usize,
    },
    /// A fallback that the episode does not take, which no world has.
    #[error("the world refuses its own fallback: {0}")]
    Refused(String),
    /// A group of one is no group.
    #[error("a group of {0}: it needs at least 2 members, as it is its own baseline")]
    Group(usize),
}

/// One prompt, and where it comes from.
#[derive(Debug)]
pub struct Asked<'a, W: TextWorld> {
    /// Which of the episodes it belongs to, by their order at the start.
    pub episode: usize,
    /// Where that episode stands; a model has no business here, a script has.
    pub situation: &'a Situation<W>,
}

/// Completes prompts.
pub trait Speaker<W: TextWorld> {
    /// One completion for each prompt, in their order.
    fn speak(&mut self, prompts: &[String], asked: &[Asked<'_, W>]) -> Vec<String>;

    /// From now on the best answer each time, or a drawn one again. Who does not draw has one anyway.
    fn greedily(&mut self, _on: bool) {}
}

/// A script in a model's place: it chooses an action and says it.
#[derive(Debug)]
pub struct Script<F> {
    /// The form in which actions are said.
    pub style: PromptStyle,
    /// The action for the episode of this number.
    pub choose: F,
}

impl<W: TextWorld, F: FnMut(usize, &Situation<W>) -> W::Action> Speaker<W> for Script<F> {
    fn speak(&mut self, _prompts: &[String], asked: &[Asked<'_, W>]) -> Vec<String> {
        let say = |asked: &Asked<'_, W>| {
            let action = (self.choose)(asked.episode, asked.situation);
            W::say(self.style, asked.situation.observation(), action)
        };
        asked.iter().map(say).collect()
    }
}

/// An episode that asks in words.
pub(crate) trait Seat<W: TextWorld> {
    /// What it asks next; nothing once it is over.
    fn ask(&mut self, style: PromptStyle) -> Option<String>;

    /// Where it stands.
    fn situation(&self) -> &Situation<W>;

    /// Takes in the answer to what it asked, and says whether it is over.
    ///
    /// # Errors
    /// If the world refuses what stands for an unreadable answer.
    fn answer(&mut self, prompt: String, said: String) -> Result<bool, RolloutError>;
}

/// Plays all to their ends, one prompt of each at a time, so that a model completes them as one
/// batch.
///
/// # Errors
/// If a speaker does not complete each prompt, or a seat fails.
pub(crate) fn side_by_side<W: TextWorld, S: Seat<W>>(
    seats: &mut [S],
    style: PromptStyle,
    speaker: &mut dyn Speaker<W>,
    progress: Progress<'_>,
) -> Result<(), RolloutError> {
    loop {
        let (open, prompts): (Vec<usize>, Vec<String>) = (seats.iter_mut().enumerate())
            .filter_map(|(at, seat)| Some((at, seat.ask(style)?)))
            .unzip();
        if open.is_empty() {
            return Ok(());
        }
        let asked: Vec<Asked<'_, W>> = (open.iter())
            .map(|at| Asked {
                episode: *at,
                situation: seats[*at].situation(),
            })
            .collect();
        let said = ask(speaker, &prompts, &asked)?;
        for (at, (prompt, said)) in open.into_iter().zip(prompts.into_iter().zip(said)) {
            if seats[at].answer(prompt, said)? {
                progress();
            }
        }
    }
}

/// Asks, and sees that everybody answered.
pub(crate) fn ask<W: TextWorld>(
    speaker: &mut dyn Speaker<W>,
    prompts: &[String],
    asked: &[Asked<'_, W>],
) -> Result<Vec<String>, RolloutError> {
    let said = speaker.speak(prompts, asked);
    if said.len() == prompts.len() {
        Ok(said)
    } else {
        Err(RolloutError::Count {
            asked: prompts.len(),
            said: said.len(),
        })
    }
}
