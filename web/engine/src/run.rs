//! An episode that is played frame by frame.

use sentinel_env::TrajectoryDigest;
use sentinel_page_protocol::number_format::percent;
use sentinel_page_protocol::{AgentView, Answer, Guess, StepLine, Tone, encode};

use crate::actor::{Actor, PolicyOutput, Recording};
use crate::world::{PageWorld, SetupOf};

/// Probability from which a player counts as sure of a suspect.
pub const SURE: f32 = 0.8;

/// The episode after a number of actions, with hidden state.
pub struct Frame<W: PageWorld> {
    /// The episode.
    pub episode: W,
    /// The action that led here; `None` in the first frame.
    pub taken: Option<TakenAction<W>>,
    /// The player's assessment of the state.
    pub policy_output: PolicyOutput,
    /// The watcher's assessment of the state; `None` if nobody watches.
    pub watcher_output: Option<PolicyOutput>,
}

impl<W: PageWorld> Frame<W> {
    /// Returns the details of the action that led here, with hidden ones.
    #[must_use]
    pub fn info(&self) -> Option<&W::Info> {
        self.taken.as_ref().map(|taken| &taken.info)
    }

    /// Returns the public part of the action that led here.
    #[must_use]
    pub fn step(&self) -> Option<&W::PublicStep> {
        self.taken.as_ref().map(|taken| &taken.step)
    }

    /// Returns the assessment of who watches or, if nobody does, of the player.
    #[must_use]
    pub fn suspicions(&self) -> &PolicyOutput {
        self.watcher_output.as_ref().unwrap_or(&self.policy_output)
    }

    /// Returns the reward of the action that led here.
    #[must_use]
    pub fn reward(&self) -> Option<f64> {
        self.taken.as_ref().map(|taken| taken.reward)
    }

    /// Returns `true` if a replay has no row for the action that led here.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.taken.as_ref().is_some_and(|taken| taken.missed)
    }
}

/// An action that was taken, with its results.
pub struct TakenAction<W: PageWorld> {
    /// The action.
    pub action: W::Action,
    /// The action in the form that the address writes.
    pub code: W::Code,
    /// The details of the step, with hidden ones.
    pub info: W::Info,
    /// The public part of the step.
    pub step: W::PublicStep,
    /// The reward, without a terminal reward that the world pays separately.
    pub reward: f64,
    /// `true` if a replay has no row for the step, so that its fallback acted.
    pub missed: bool,
    /// `true` if the visitor chose the action.
    pub own: bool,
}

/// The next action of a run.
#[derive(Clone, Debug, PartialEq)]
pub struct NextAction<W: PageWorld> {
    /// The action as the environment takes it.
    pub action: W::Action,
    /// The action as the address writes it.
    pub code: W::Code,
    /// `true` if the visitor chose it.
    pub own: bool,
}

/// The public part of a frame, from which a view for the agent is made.
pub struct PublicFrame<'a, W: PageWorld> {
    /// Number of actions taken so far.
    pub index: usize,
    /// Observation after these actions.
    pub observation: &'a W::Observation,
    /// Public part of the last action; `None` before the first.
    pub step: Option<&'a W::PublicStep>,
    /// Reward of the last action; `None` before the first.
    pub reward: Option<f64>,
    /// Mean reward so far.
    pub score: f64,
    /// `true` if a replay had no row for the last action.
    pub missed: bool,
    /// The player's assessment of the state.
    pub policy_output: &'a PolicyOutput,
    /// The assessment of who watches or, if nobody does, of the player.
    pub suspicions: &'a PolicyOutput,
    /// The next action, if there is one.
    pub next: Option<NextAction<W>>,
    /// The frames up to here. Private, since they hold hidden state; see [`PublicFrame::history`].
    frames: &'a [Frame<W>],
}

impl<'a, W: PageWorld> PublicFrame<'a, W> {
    /// Returns the public steps up to here, oldest first.
    pub fn history(&self) -> impl Iterator<Item = &'a W::PublicStep> {
        self.frames.iter().filter_map(Frame::step)
    }

    /// Returns the observations up to here, oldest first, with the player's assessments of them.
    pub fn assessments(&self) -> impl Iterator<Item = (&'a W::Observation, &'a PolicyOutput)> {
        let frames = self.frames.iter();
        frames.map(|frame| (frame.episode.observation(), &frame.policy_output))
    }

    /// Returns the observation before the last action; `None` before the first.
    #[must_use]
    pub fn before(&self) -> Option<&'a W::Observation> {
        let before = self.frames.get(self.index.checked_sub(1)?)?;
        Some(before.episode.observation())
    }

    /// Returns `true` if the last step is a match and no step before it was.
    pub fn is_first(&self, is_match: impl Fn(&W::PublicStep) -> bool) -> bool {
        self.step.is_some_and(&is_match)
            && self.history().filter(|step| is_match(step)).count() == 1
    }
}

/// The visitor's own actions in a run.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnActions<W: PageWorld> {
    /// Number of actions that the player takes first.
    pub at: usize,
    /// Codes of the visitor's actions, in order.
    pub codes: Vec<W::Code>,
    /// `true` if the player continues after them.
    pub resume: bool,
}

/// An episode from its start on, with all frames played so far.
pub struct Run<W: PageWorld> {
    episode: W,
    trajectory: TrajectoryDigest,
    actor: Option<Box<dyn Actor<W>>>,
    watcher: Option<Box<dyn Actor<W>>>,
    branch: Option<OwnActions<W>>,
    frames: Vec<Frame<W>>,
    complete: bool,
    refused: String,
}

impl<W: PageWorld> Run<W> {
    /// Starts an episode. Without an actor it stops at the visitor's next action. A watcher assesses
    /// every state, and never acts.
    #[must_use]
    pub fn new(
        setup: &SetupOf<W>,
        actor: Option<Box<dyn Actor<W>>>,
        branch: Option<OwnActions<W>>,
        watcher: Option<Box<dyn Actor<W>>>,
    ) -> Self {
        Self::from_episode(W::reset(setup), actor, branch, watcher)
    }

    /// Starts from an episode that has already begun, or whose hidden state differs from its
    /// setup's.
    #[must_use]
    pub fn from_episode(
        episode: W,
        actor: Option<Box<dyn Actor<W>>>,
        branch: Option<OwnActions<W>>,
        watcher: Option<Box<dyn Actor<W>>>,
    ) -> Self {
        let mut run = Self {
            episode,
            trajectory: TrajectoryDigest::default(),
            actor,
            watcher,
            branch,
            frames: Vec::new(),
            complete: false,
            refused: String::new(),
        };
        run.push(None);
        run
    }

    fn push(&mut self, taken: Option<TakenAction<W>>) {
        let mut policy_output = PolicyOutput::default();
        if let Some(actor) = &mut self.actor {
            actor.observe(&self.episode);
            policy_output = actor.policy_output(&self.episode);
        }
        let watcher_output = self.watcher.as_mut().map(|watcher| {
            watcher.observe(&self.episode);
            watcher.policy_output(&self.episode)
        });
        self.frames.push(Frame {
            episode: self.episode.clone(),
            taken,
            policy_output,
            watcher_output,
        });
        self.complete = W::is_done(self.episode.observation());
    }

    /// Plays one more action; returns `false` when there is none.
    pub fn advance(&mut self) -> bool {
        if self.complete {
            return false;
        }
        let taken = self.frames.len() - 1;
        let own = self
            .branch
            .as_ref()
            .and_then(|branch| Some((branch, taken.checked_sub(branch.at)?)));
        let observation = self.episode.observation();
        let (action, missed, own) = match own {
            Some((branch, index)) if index < branch.codes.len() => (
                Some(W::action(observation, branch.codes[index])),
                false,
                true,
            ),
            Some((branch, _)) if !branch.resume => (None, false, false),
            _ => {
                let chosen = self.actor.as_mut().map(|actor| actor.choose(&self.episode));
                let (action, missed) = chosen.unwrap_or((None, false));
                if let (Some(frame), Some(actor), Some(_)) =
                    (self.frames.last_mut(), &self.actor, action)
                {
                    actor.add_values(&mut frame.policy_output);
                }
                (action, missed, false)
            }
        };
        let Some(action) = action else {
            self.complete = true;
            return false;
        };
        let before = self.episode.observation().clone();
        match self.episode.step(action) {
            Ok(transition) => {
                self.trajectory.push(&self.episode, &transition.info);
                let after = self.episode.observation();
                let step = W::public_step(&before, &transition.info, after);
                let reward = W::reward_events(&transition).0;
                self.push(Some(TakenAction {
                    action,
                    code: W::code(&before, action),
                    info: transition.info,
                    step,
                    reward,
                    missed,
                    own,
                }));
            }
            // An action of the address may not fit; what was played before it stands.
            Err(error) => {
                self.refused = error.to_string();
                self.complete = true;
            }
        }
        !self.complete
    }

    /// Returns the frames so far; never empty.
    #[must_use]
    pub fn frames(&self) -> &[Frame<W>] {
        &self.frames
    }

    /// Returns `true` if no more frames follow.
    #[must_use]
    pub const fn is_complete(&self) -> bool {
        self.complete
    }

    /// Returns the reason why the last action was refused; empty if none was.
    #[must_use]
    pub fn refused(&self) -> &str {
        &self.refused
    }

    /// Returns `true` if the episode has ended.
    #[must_use]
    pub fn is_done(&self) -> bool {
        W::is_done(self.episode.observation())
    }

    /// Returns number of actions and hash of the trajectory.
    #[must_use]
    pub fn digest(&self) -> String {
        self.trajectory.digest().to_string()
    }

    /// Returns how well a replay fits the episode; `None` for other players.
    #[must_use]
    pub fn recording(&self) -> Option<Recording> {
        let mut recording = self.actor.as_ref()?.recording(&self.episode)?;
        // Rows that the visitor's own actions cut off, or that are still to come, are not faults.
        if self.branch.is_some() || !self.is_done() {
            recording.unused = 0;
        }
        Some(recording)
    }

    /// Returns the public part of frame `index`.
    #[must_use]
    pub fn public_frame(&self, index: usize) -> PublicFrame<'_, W> {
        let frame = &self.frames[index];
        let observation = frame.episode.observation();
        let next = self.frames.get(index + 1).and_then(|next| {
            let next = next.taken.as_ref()?;
            Some(NextAction {
                action: W::action(observation, next.code),
                code: next.code,
                own: next.own,
            })
        });
        PublicFrame {
            index,
            observation,
            step: frame.step(),
            reward: frame.reward(),
            score: W::public_score(&frame.episode),
            missed: frame.is_missed(),
            policy_output: &frame.policy_output,
            suspicions: frame.suspicions(),
            next,
            frames: &self.frames[..=index],
        }
    }

    /// Returns the public parts of all frames.
    #[must_use]
    pub fn public_frames(&self) -> Vec<PublicFrame<'_, W>> {
        (0..self.frames.len())
            .map(|index| self.public_frame(index))
            .collect()
    }

    /// Returns the view of frame `index`, including the fields that no world fills in.
    #[must_use]
    pub fn view(&self, index: usize) -> AgentView {
        let frame = self.public_frame(index);
        let mut view = W::agent_view(&frame);
        view.score = frame.score;
        view.reward = frame.reward;
        view.done = W::is_done(frame.observation);
        if let Some(next) = &frame.next {
            view.next = W::describe_action(frame.observation, next.action);
        }
        view.suspects = W::suspects(&frame);
        view.remark = W::remark(&frame);
        view
    }

    /// Returns the line of the action that led to frame `index`; `None` for the first frame.
    #[must_use]
    pub fn step_line(&self, index: usize) -> Option<StepLine> {
        let frame = &self.frames[index];
        let taken = frame.taken.as_ref()?;
        let mut line = W::step_line(&taken.step);
        W::write_code(taken.code, &mut line.code);
        line.reward = taken.reward;
        (line.own, line.missed) = (taken.own, taken.missed);
        line.notable |= taken.missed;
        let frame = self.public_frame(index);
        line.board_sign = W::board_sign(&frame);
        line.suspicion = W::suspicion(&frame);
        Some(line)
    }

    /// Returns the answer to the world's question with the guess of who watches. `None` before the end,
    /// and if the question is not posed.
    #[must_use]
    pub fn answer(&self) -> Option<Answer> {
        if !self.is_done() {
            return None;
        }
        let mut answer = W::answer(&self.frames)?;
        answer.guess = self.guess();
        Some(answer)
    }

    /// Returns the guess of who watches: its likeliest suspect at the end, and the step from which on it
    /// was sure of it, or else the last step. Everything in it is public.
    fn guess(&self) -> Option<Guess> {
        let last = self.frames.len() - 1;
        let suspicion = |index| W::suspicion(&self.public_frame(index));
        let at_end = suspicion(last);
        let ranked = (0u8..).zip(&at_end);
        let (suspect, probability) = ranked.max_by(|a, b| a.1.total_cmp(b.1))?;
        let given = |index| {
            let given = suspicion(index).get(usize::from(suspect)).copied();
            given.unwrap_or_default()
        };
        let is_sure = |index: &usize| given(*index) >= SURE;
        let sure = (1..=last).rev().take_while(is_sure).last();
        let step = sure.unwrap_or(last);
        let mut reason = W::public_record(&self.public_frame(step), suspect);
        reason += &match sure {
            Some(step) => format!(
                " At step {step} the network’s estimate went from {} to {}.",
                percent(given(step - 1)),
                percent(given(step)),
            ),
            None => format!(
                " The network’s estimate is {} at the end.",
                percent(*probability)
            ),
        };
        if sure.is_some() {
            reason += &self.first_sign(step, suspect);
        }
        Some(Guess {
            suspect,
            step: u32::try_from(step).unwrap_or(u32::MAX),
            probability: *probability,
            reason,
        })
    }

    /// Returns a sentence about the sign of a step on the board, if it is the first of its kind about a
    /// suspect and not a good one; empty otherwise.
    fn first_sign(&self, step: usize, suspect: u8) -> String {
        let tone = |index| {
            let sign = W::board_sign(&self.public_frame(index));
            let sign = sign.filter(|sign| sign.suspects & 1 << suspect != 0);
            sign.map(|sign| sign.tone)
                .filter(|tone| *tone != Tone::Good)
        };
        let shown = tone(step);
        match shown.is_some() && (1..step).all(|index| tone(index) != shown) {
            true => format!(
                " A visitor could notice it, too: it is the first sign {} this suspect on the board.",
                if shown == Some(Tone::Bad) {
                    "against"
                } else {
                    "about"
                },
            ),
            false => String::new(),
        }
    }

    /// Returns the line of the action that led to frame `index`, with its true result.
    #[must_use]
    pub fn true_step_line(&self, index: usize) -> Option<StepLine> {
        let line = self.step_line(index)?;
        let mut line = W::true_step_line(&self.frames[index], line);
        line.notable |= line.missed;
        Some(line)
    }
}

/// Encodes a part of a message. The types of the protocol can always be encoded.
#[must_use]
pub fn encoded<T: serde::Serialize>(part: &T) -> Vec<u8> {
    encode(part).unwrap_or_default()
}
