//! The episode of the PolyGuard world: reset and step.

use super::dynamics::{self, StepFacts};
use super::model::action::Action;
use super::model::candidate::{Act, ActArg, ActKind, Candidates};
use super::model::hidden::{Hidden, Issue, WithheldCandidates};
use super::model::history::{EndReason, PastStep, Violation};
use super::model::observation::Observation;
use super::model::setup::{Change, Setup};
use super::model::state::State;
use super::model::step::{Reward, Step, StepError};
use super::reward::grading::{StateBefore, grade};
use super::reward::terminal_reward;
use super::reward::verdict::{Verdict, verify};
use crate::environment::{Environment, PrivilegedState, Transition};
use crate::rng::PcgRandom;

/// Maximum amount that a step without progress counts towards the score.
const IDLE_MAX: f64 = 0.8;

/// An episode of the PolyGuard world, as a plain value.
#[derive(Clone, Debug)]
pub struct Episode {
    pub(super) state: State,
}

impl Environment for Episode {
    type Setup = Setup;
    type Action = Action;
    type Observation = Observation;
    type Info = Step;
    type StepError = StepError;

    /// Generates a patient and chooses the first candidates.
    fn reset(setup: &Setup) -> Self {
        let mut state = dynamics::generate_patient(setup);
        dynamics::refresh_observation(&mut state);
        Self { state }
    }

    fn step(&mut self, action: Action) -> Result<Transition<Step>, StepError> {
        if self.state.observation.done() {
            return Err(StepError::Over);
        }
        let state = &mut self.state;
        let verdict = verify(state, action);
        let before = StateBefore::new(state, action, verdict.act);
        let act = verdict.carried_out();
        let arrived = state.deliver_labs();
        let found = act.is_some_and(|act| state.apply_act(act));
        let gained = found || arrived && act.is_some();
        count_step(state, action, &verdict);
        state.update_truth(act);
        let reward = grade(state, action, &verdict, gained, &before);
        let (total, counted, progress) = record(state, &verdict, &reward, gained);
        let end = dynamics::termination(
            state,
            &StepFacts {
                kind: act.map(|act| act.kind),
                exploit: verdict.exploit,
                justified: act.is_some() && before.justified,
            },
        );
        let score = match end {
            Some(end) => Some(close(state, end)),
            None => {
                dynamics::refresh_observation(state);
                None
            }
        };
        let (o, h) = (&state.observation, &state.hidden);
        let info = Step {
            action,
            act: verdict.act,
            violation: verdict.violation,
            exploit: verdict.exploit,
            reward,
            total,
            counted,
            risk: [before.risk, h.risk],
            burden: [before.burden, h.burden],
            stability: [before.stability, h.stability],
            resolved: [before.resolved, h.resolved.0],
            gained,
            progress,
            end: o.end,
            score,
        };
        let truncated = end.is_some_and(EndReason::is_truncated);
        Ok(Transition {
            reward: total,
            terminated: end.is_some() && !truncated,
            truncated,
            info,
        })
    }

    #[inline]
    fn observation(&self) -> &Observation {
        &self.state.observation
    }

    fn setup(&self) -> &Setup {
        &self.state.setup
    }

    #[inline]
    fn is_done(observation: &Observation) -> bool {
        observation.done()
    }

    #[inline]
    fn step_count(observation: &Observation) -> u32 {
        u32::from(observation.step_count)
    }

    /// Returns the score; while the episode is running, the score it would have if the steps ran
    /// out now.
    fn score(&self) -> f64 {
        match self.state.observation.end {
            Some(_) => self.state.hidden.tally.score,
            None => terminal_reward::score(&self.state, EndReason::StepBudgetExhausted),
        }
    }
}

impl PrivilegedState for Episode {
    type Hidden = Hidden;

    fn hidden(&self) -> &Hidden {
        &self.state.hidden
    }
}

/// An act that stands for a candidate whose act is not known.
const KEEP: Act = Act {
    kind: ActKind::KeepRegimen,
    drug: None,
    arg: ActArg::None,
};
/// Maximum number of patients that [`Episode::sample_from_history`] draws.
const BELIEF_TRIES: u64 = 256;
/// Number of further patients, which may contradict the chart, if none of the others fits it.
const LENIENT_TRIES: u64 = 16;
/// Tag of the stream of future draws of a sampled episode.
const FUTURE_STREAM: u64 = 1 << 32;

/// Updates the counts of steps, refusals and critic fallbacks.
fn count_step(state: &mut State, action: Action, verdict: &Verdict) {
    let o = &mut state.observation;
    o.step_count += 1;
    o.invalid_count += u8::from(verdict.violation.is_some());
    o.last_violation = verdict.violation;
    if let Action::Choose(choice) = action {
        state.hidden.tally.vetoes += u8::from(choice.fallback);
    }
}

/// Records a step in the history and the totals. Returns its reward, the part that counts towards
/// the score, and whether it made progress.
fn record(state: &mut State, verdict: &Verdict, reward: &Reward, gained: bool) -> (f64, f64, bool) {
    let (o, h) = (&mut state.observation, &mut state.hidden);
    let kind = verdict.carried_out().map(|act| act.kind);
    let progress = kind.is_some_and(|kind| {
        gained || h.risk < h.best_risk || h.resolved.0 > h.tally.resolved || kind.is_taper()
    });
    let total = if state.setup.rules.has(Change::Gated) {
        reward.gated
    } else {
        reward.additive
    };
    let counted = if progress { total } else { total.min(IDLE_MAX) };
    h.progressed |= u16::from(progress) << o.history.len();
    o.history.push(PastStep {
        act: verdict.act,
        violation: verdict.violation,
        gained,
    });
    h.best_risk = h.best_risk.min(h.risk);
    h.best_burden = h.best_burden.min(h.burden);
    h.tally.counted += counted;
    h.tally.returned += total;
    h.tally.resolved = h.tally.resolved.max(h.resolved.0);
    (total, counted, progress)
}

/// Samples patients until one agrees with all observations. Returns the number of observations that
/// the best one agrees with, and its state after the last step; `None` if no chart fits.
fn best_match(
    first: &Observation,
    past: &[(Action, Observation)],
    seed: u64,
) -> Option<(usize, State)> {
    let now = past.last().map_or(first, |(_, now)| now);
    let mut best: Option<(usize, State)> = None;
    for number in 0..BELIEF_TRIES + LENIENT_TRIES {
        let stream = PcgRandom::new(seed, &[number]);
        let lenient = number >= BELIEF_TRIES;
        if lenient && best.is_some() {
            break;
        }
        let Some(state) = dynamics::sample_patient(first, now, stream, lenient) else {
            continue;
        };
        let (agreed, state) = retrace(state, past);
        if best.as_ref().is_none_or(|(most, _)| agreed > *most) {
            best = Some((agreed, state));
        }
        if agreed == past.len() + 1 {
            break;
        }
    }
    best
}

/// Takes the steps of a public history again from a sampled start. Returns the number of
/// observations that agree with it, and the state after the last step.
fn retrace(start: State, past: &[(Action, Observation)]) -> (usize, State) {
    let mut episode = Episode { state: start };
    let mut agreed = usize::from(episode.state.could_show(&episode.state.observation));
    let mut is_possible = agreed == 1;
    for (action, shown) in past {
        let state = &mut episode.state;
        // Candidates that are not shown are not known either; a choice of one reveals it.
        if let (Action::Choose(choice), Some(why)) = (action, shown.last_violation)
            && state.observation.candidates.get(choice.id).is_none()
            && why != Violation::UnknownCandidate
        {
            state.hidden.withheld[choice.id.index()] = Some((KEEP, why));
        }
        if episode.step(*action).is_err() {
            break;
        }
        let state = &mut episode.state;
        is_possible &= state.observation.end.is_none() && state.could_show(shown);
        agreed += usize::from(is_possible);
        state.observation = shown.clone();
        state.hidden.withheld = WithheldCandidates::default();
    }
    (agreed, episode.state)
}

/// Ends the episode and returns its score.
fn close(state: &mut State, end: EndReason) -> f64 {
    let o = &mut state.observation;
    o.update_estimates();
    o.candidates = Candidates::default();
    o.end = Some(end);
    let score = terminal_reward::score(state, end);
    state.hidden.tally.score = score;
    score
}

impl Episode {
    /// Samples an episode that agrees with a public history: `first` is the observation at the
    /// start, and `past` holds each action so far with the observation that it led to.
    ///
    /// Hidden values are drawn from the generator's distributions given what was shown, the steps
    /// are taken again, and a patient that could not have led to the history is rejected. If all of
    /// 256 patients are rejected, the one that agreed with the most steps is used.
    /// Equal seeds give equal episodes.
    #[must_use]
    pub fn sample_from_history(
        first: &Observation,
        past: &[(Action, Observation)],
        seed: u64,
    ) -> Self {
        let now = past.last().map_or(first, |(_, now)| now);
        let mut state = match best_match(first, past, seed) {
            Some((_, state)) => state,
            // Only a patient without planted problems, which the generator falls back to, has a
            // chart that no draw fits.
            None => {
                dynamics::generate_patient(&Setup::new(first.task, seed).with_rules(first.rules))
            }
        };
        state.observation = now.clone();
        Self { state }.with_outcome_seed(seed)
    }

    /// Returns the same episode with new random draws from here on, those of the stream `seed`.
    #[must_use]
    pub fn with_outcome_seed(mut self, seed: u64) -> Self {
        self.state.hidden.stream = PcgRandom::new(seed, &[FUTURE_STREAM]);
        self
    }

    /// Ends the episode because a time limit has passed: that of the step if `step`, else that of
    /// the episode. Returns the score, or `None` if the episode has ended already.
    pub(super) fn time_out(&mut self, step: bool) -> Option<f64> {
        let end = if step {
            EndReason::StepTimeout
        } else {
            EndReason::WallClockTimeout
        };
        (!self.state.observation.done()).then(|| close(&mut self.state, end))
    }

    /// Returns the same episode with another hidden state, to show what would be observed from here
    /// on. True risk, burden and resolved issues follow from the new state, and are those of the
    /// start if no step has been taken.
    #[cfg(feature = "testing")]
    #[must_use]
    pub fn with_hidden(mut self, hidden: Hidden) -> Self {
        let state = &mut self.state;
        state.hidden = hidden;
        state.hidden.stability_target = state.condition_control();
        state.update_truth(None);
        if state.observation.step_count == 0 {
            let serious = state.serious_pairs();
            let h = &mut state.hidden;
            h.stability = h.stability_target;
            (h.best_risk, h.best_burden) = (h.risk, h.burden);
            (h.start.risk, h.start.burden, h.start.stability) = (h.risk, h.burden, h.stability);
            h.start.serious = serious;
        }
        self
    }

    /// Returns the number of issues that are resolved after the last step, and the number of all
    /// issues.
    #[must_use]
    pub const fn count_resolved(&self) -> (u8, u8) {
        self.state.hidden.resolved
    }

    /// Returns `true` if an issue is resolved (spec polyguard §3).
    #[must_use]
    pub fn is_resolved(&self, issue: Issue) -> bool {
        self.state.is_resolved(issue)
    }

    /// Returns the steady-state exposure of a row at its dose (spec polyguard §6.2).
    #[must_use]
    pub fn steady_state_exposure(&self, place: usize) -> f64 {
        self.state.steady_state_exposure(place)
    }

    /// Returns the number of needed conditions that no active medicine treats.
    #[must_use]
    pub fn count_untreated(&self) -> u32 {
        self.state.count_untreated()
    }

    /// Returns the serious pairs that are taken together, as bits of `PairId`.
    #[must_use]
    pub fn serious_pairs(&self) -> u64 {
        self.state.serious_pairs()
    }

    /// Returns the outcome value of the current state, 0..=1 (spec polyguard §7).
    #[must_use]
    pub fn outcome_value(&self) -> f64 {
        terminal_reward::outcome_value(&self.state)
    }

    /// Returns the two terms with which `end` would enter the score now: the factor of the whole
    /// score, and the amount that each remaining step counts (spec polyguard §7).
    #[must_use]
    pub fn score_terms(&self, end: EndReason) -> (f64, f64) {
        terminal_reward::score_terms(&self.state, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::model::action::Choice;
    use crate::polyguard::model::task_spec::TaskSpec;

    /// Checks that a sampled patient agrees with nearly every history of random choices.
    #[test]
    fn sampled_patients_agree_with_history() {
        let (mut all, mut fitting) = (0, 0);
        for case in TaskSpec::ALL {
            for seed in 0..12 {
                let mut episode = Episode::reset(&Setup::new(case, seed));
                let mut stream = PcgRandom::new(seed, &[77]);
                let first = episode.observation().clone();
                let mut past = Vec::new();
                while !episode.observation().done() {
                    let found = best_match(&first, &past, 3);
                    fitting += usize::from(found.is_some_and(|(n, _)| n == past.len() + 1));
                    all += 1;
                    let o = episode.observation();
                    let shown: Vec<_> = o.candidates.iter().map(|c| c.id).collect();
                    let id = shown[stream.below(shown.len())];
                    let action = Action::Choose(Choice::with_grounded_rationale(o, id));
                    episode.step(action).expect("running");
                    past.push((action, episode.observation().clone()));
                }
            }
        }
        assert!(fitting * 100 >= all * 98, "{fitting} of {all}");
    }
}
