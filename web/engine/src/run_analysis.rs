//! The analysis of a run, and its messages.

use std::sync::Arc;

use sentinel_page_protocol::{
    ActionValue, AnalysisUpdate, Bar, Chart, DeferredReply, Line, StepAnalysis, Strip, Tone, decode,
};
use sentinel_policy::analysis::{
    Analysis, AnalysisConfig, StateSource, StateSourceReport, StepEstimates, StepReport, Trajectory,
};
use sentinel_policy::nn::{Model, TrainedPolicy};

use crate::run::{Run, encoded};
use crate::world::PageWorld;

/// Number of messages that report the progress of an analysis.
const UPDATES: u64 = 20;
/// The loss at which a bar of the chart is full.
const LOSS_MAX: f64 = 0.1;

/// Results in a message between engines: the digest of the run, and estimates of its steps.
type SentResults = (String, Vec<StepEstimates>);

/// The analysis of a run in progress. Several engines may divide its steps; engine 0 gathers the
/// results, which do not depend on the division.
pub struct RunAnalysis<W: PageWorld> {
    analysis: Analysis<W>,
    share: (u32, u32),
    digest: String,
    /// Code and words of the actions at each step, in the order of the analysis.
    names: Vec<Vec<(String, String)>>,
    /// Number of rollouts of the latest message about each source of states.
    sent: [u64; 2],
}

impl<W: PageWorld> RunAnalysis<W> {
    /// Creates the analysis of a run whose episode the policy of `model` continues. `share` is the
    /// part of the steps that this engine evaluates, and the number of parts.
    #[must_use]
    pub fn new(run: &Run<W>, model: &Arc<Model<W::Net>>, share: (u32, u32)) -> Self {
        let frames = run.frames();
        let states = frames.iter().map(|frame| frame.episode.clone()).collect();
        let taken = frames.iter().filter_map(|frame| frame.taken.as_ref());
        let trajectory = Trajectory::from_states(states, taken.map(|taken| taken.action).collect());
        let policy = TrainedPolicy::new(Arc::clone(model));
        let config = AnalysisConfig {
            rollouts: W::ANALYSIS_ROLLOUTS,
            hindsight: false,
            share: (share.0 as usize, share.1.max(1) as usize),
            ..AnalysisConfig::default()
        };
        let analysis = Analysis::new(&trajectory, &policy, config);
        let names = |(step, state): (StepReport<W::Action>, &W)| {
            let observation = state.observation();
            let name = |action: &W::Action| {
                let mut code = String::new();
                W::write_code(W::code(observation, *action), &mut code);
                (code, W::describe_action(observation, *action))
            };
            step.actions.iter().map(name).collect()
        };
        let steps = analysis.report().steps.into_iter();
        Self {
            names: steps.zip(trajectory.states()).map(names).collect(),
            analysis,
            share,
            digest: run.digest(),
            sent: [0; 2],
        }
    }

    /// Returns the part of the steps that this engine evaluates, and the number of parts.
    #[must_use]
    pub const fn share(&self) -> (u32, u32) {
        self.share
    }

    /// Returns `true` if another engine gathers the results.
    #[must_use]
    pub const fn is_part(&self) -> bool {
        self.share.0 > 0
    }

    /// Returns `true` if a rollout of this part is left.
    #[must_use]
    pub fn has_work(&self) -> bool {
        self.analysis.has_work()
    }

    /// Does the next rollout of this part; returns `false` if none is left.
    pub fn advance(&mut self) -> bool {
        self.analysis.advance()
    }

    /// Returns messages with the results of this part, if there is enough news.
    pub fn partial_results(&mut self, run: u32) -> Vec<DeferredReply> {
        let with_news = StateSource::ALL.map(|source| self.take_update(source).then_some(source));
        let message = |source| {
            let estimates: Vec<_> = self.analysis.estimates(source).collect();
            let results: SentResults = (self.digest.clone(), estimates);
            DeferredReply::PartialResults {
                run,
                results: encoded(&results),
            }
        };
        with_news.into_iter().flatten().map(message).collect()
    }

    /// Returns a message with all results of other parts, for the analysis of the same run from its
    /// start.
    #[must_use]
    pub fn received(&self) -> Vec<u8> {
        let results: SentResults = (self.digest.clone(), self.analysis.received().collect());
        encoded(&results)
    }

    /// Takes results of another part. Those of a run that was played with other files are dropped.
    pub fn receive(&mut self, results: &[u8]) {
        let results = decode::<SentResults>(results).ok();
        let results = results.filter(|(digest, _)| *digest == self.digest);
        for step in results.into_iter().flat_map(|(_, steps)| steps) {
            self.analysis.receive(step);
        }
    }

    /// Chooses whether the actions are compared in the true hidden state too.
    pub const fn set_hindsight(&mut self, on: bool) {
        self.analysis.set_hindsight(on);
    }

    /// Returns `true`, and counts it as sent, if there is enough news of a source of states for a
    /// message.
    pub fn take_update(&mut self, source: StateSource) -> bool {
        let progress = self.analysis.progress_of(source);
        let sent = &mut self.sent[source as usize];
        let step = (progress.total / UPDATES).max(1);
        let is_last = !self.analysis.has_work_on(source);
        let news = progress.done != *sent && (progress.done >= *sent + step || is_last);
        if news {
            *sent = progress.done;
        }
        news
    }

    /// Returns what is known so far from one source of states.
    #[must_use]
    pub fn update(&self, run: u32, source: StateSource) -> AnalysisUpdate {
        let count = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        let report = self.analysis.report();
        let progress = self.analysis.progress_of(source);
        let steps = report.steps.iter().zip(&self.names);
        let steps: Vec<StepAnalysis> = steps
            .map(|(step, names)| {
                step.of(source).map_or_else(StepAnalysis::default, |found| {
                    compared(found, names, step.chosen)
                })
            })
            .collect();
        AnalysisUpdate {
            run,
            done: count(progress.done),
            total: count(progress.total),
            accuracy: report.accuracy.filter(|_| source == StateSource::Belief),
            chart: chart(&steps),
            steps,
        }
    }
}

fn compared(source: &StateSourceReport, names: &[(String, String)], chosen: usize) -> StepAnalysis {
    let all = names.iter().zip(&source.values).zip(&source.errors);
    let all = all.enumerate();
    let mut actions: Vec<ActionValue> = all
        .map(|(index, (((code, label), value), error))| ActionValue {
            code: code.clone(),
            label: label.clone(),
            value: *value,
            error: *error,
            is_chosen: index == chosen,
        })
        .collect();
    // The chosen action comes first among equals.
    let key = |action: &ActionValue| action.value + if action.is_chosen { 1e-12 } else { 0.0 };
    sentinel_policy::insertion_sort::sort(&mut actions, |a, b| key(a) > key(b));
    StepAnalysis {
        actions,
        loss: source.loss,
        interval: source.interval,
        is_mistake: source.mistake,
        luck: source.luck,
    }
}

/// Returns the chart of expected scores with a strip of losses.
fn chart(steps: &[StepAnalysis]) -> Chart {
    let value = |of: fn(&StepAnalysis) -> Option<f64>| -> Vec<f32> {
        let value = |step| of(step).map_or(f32::NAN, |value| value as f32);
        steps.iter().map(value).collect()
    };
    let taken = value(|step| {
        let taken = step.actions.iter().find(|action| action.is_chosen);
        taken.map(|action| action.value)
    });
    let best = value(|step| step.actions.first().map(|action| action.value));
    let known = || taken.iter().chain(&best).copied().filter(|v| v.is_finite());
    let (low, high) = (
        known().fold(f32::INFINITY, f32::min),
        known().fold(f32::NEG_INFINITY, f32::max),
    );
    let line = |name: &str, style, y| Line {
        name: name.to_owned(),
        style,
        x: (1..=steps.len()).map(|action| action as f32).collect(),
        y,
        half_width: Vec::new(),
    };
    let bar = |step: &StepAnalysis| Bar {
        value: (step.loss / LOSS_MAX).clamp(0.0, 1.0) as f32,
        tone: if step.is_mistake {
            Tone::Bad
        } else {
            Tone::Quiet
        },
        sign: if step.is_mistake { "?" } else { "" }.to_owned(),
        text: format!("−{:.3}", step.loss),
    };
    Chart {
        id: "expected-score".to_owned(),
        title: "Expected final score".to_owned(),
        subtitle: "If the trained policy takes over after this action; the bars below are the points lost by it"
            .to_owned(),
        x_label: "action".to_owned(),
        y_label: "final score".to_owned(),
        range: if low < high { [low, high] } else { [0.0, 1.0] },
        lines: vec![line("taken", 0, taken), line("best", 4, best)],
        strips: vec![Strip {
            label: "loss".to_owned(),
            bars: steps.iter().map(bar).collect(),
        }],
    }
}
