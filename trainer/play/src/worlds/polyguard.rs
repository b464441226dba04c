//! The evaluation of the polyguard world.

use sentinel_base::Error;
use sentinel_env::polyguard::{
    EndReason, PolyguardEnv, Session, Setup, Step, StepError, TaskSpec, TraceFinal, TraceReset,
    TraceStep,
};
use sentinel_env::rng::Streams;
use sentinel_env::{Environment as _, World as _};
use sentinel_policy::polyguard::{EpisodeBound, EpisodeRow, LmEpisode};
use sentinel_policy::rollout::EpisodeRun;
use sentinel_policy::text::{PromptState, PromptStyle};
use serde::Serialize;

use super::{is_reference, mean};
use crate::PlayError;
use crate::analyze::Analyzed;
use crate::bound::{self, Bounded, Bounds, CaseBound, Computation};
use crate::eval::{Evaluated, Evaluation, OrderedMap, ReplayUse};
use crate::rollout::{EpisodeSlot, RolloutError};
use crate::trace::Traced;

/// Means over the episodes of a policy, of the rounded values of their rows, to four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(missing_docs, reason = "the field names are the format")]
pub struct PolyguardSummary {
    pub episodes: usize,
    pub avg_score: f64,
    pub safe_resolution_rate: f64,
    pub justified_review_rate: f64,
    pub exploit_rate: f64,
    pub invalid_rate: f64,
    pub avg_step_reward: f64,
    pub avg_risk_reduction: f64,
    pub fallback_rate: f64,
    pub avg_steps: f64,
}

#[derive(Serialize)]
struct File<'a> {
    environment: &'static str,
    research_only: bool,
    tasks: &'a [&'static str],
    episodes_per_policy: u64,
    summary: &'a OrderedMap<PolyguardSummary>,
    by_task: &'a OrderedMap<OrderedMap<PolyguardSummary>>,
    streams: Streams,
    #[serde(skip_serializing_if = "is_reference")]
    rules: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: &'a Option<ReplayUse>,
    episodes: &'a [EpisodeRow],
}

/// Returns 1 if `holds`, else 0.
fn rate(holds: bool) -> f64 {
    if holds { 1.0 } else { 0.0 }
}

impl Evaluated for PolyguardEnv {
    type Row = EpisodeRow;
    type Summary = PolyguardSummary;
    const DEFAULT_POLICIES: &'static str = "random,no_change,greedy_regimen,rules_only,oracle";
    const DEFAULT_TASK: Option<&'static str> = None;
    const TABLE_COLUMNS: &'static [&'static str] = &[
        "score", "safe", "review", "exploit", "invalid", "reward", "risk cut", "steps",
    ];

    fn episode_row(policy: &str, run: &EpisodeRun<Self>) -> EpisodeRow {
        EpisodeRow::from_run(policy, run)
    }

    fn summarize(rows: &[&EpisodeRow]) -> PolyguardSummary {
        let ended = |end: EndReason| mean(rows, |row| rate(row.ended(end)));
        PolyguardSummary {
            episodes: rows.len(),
            avg_score: mean(rows, |row| row.score),
            safe_resolution_rate: ended(EndReason::SafeResolution),
            justified_review_rate: ended(EndReason::JustifiedReview),
            exploit_rate: ended(EndReason::ExploitDetection),
            invalid_rate: mean(rows, |row| row.invalid_rate),
            avg_step_reward: mean(rows, |row| {
                row.rewards.iter().sum::<f64>() / row.rewards.len().max(1) as f64
            }),
            avg_risk_reduction: mean(rows, |row| row.risk[0] - row.risk[1]),
            fallback_rate: mean(rows, |row| {
                f64::from(row.fallbacks) / f64::from(row.steps.max(1))
            }),
            avg_steps: mean(rows, |row| f64::from(row.steps)),
        }
    }

    fn table_cells(s: &PolyguardSummary) -> (usize, Vec<f64>) {
        let cells = vec![
            s.avg_score,
            s.safe_resolution_rate,
            s.justified_review_rate,
            s.exploit_rate,
            s.invalid_rate,
            s.avg_step_reward,
            s.avg_risk_reduction,
            s.avg_steps,
        ];
        (s.episodes, cells)
    }

    fn file_content(e: &Evaluation<Self>) -> impl Serialize {
        File {
            environment: "polyguard",
            research_only: true,
            tasks: &e.tasks,
            episodes_per_policy: e.episodes_per_policy,
            summary: &e.summary,
            by_task: &e.by_task,
            streams: e.streams,
            rules: &e.rules,
            replay: &e.replay,
            episodes: &e.episodes,
        }
    }
}

impl Analyzed for PolyguardEnv {
    const RESEARCH_ONLY: bool = true;
}

impl Traced for PolyguardEnv {
    fn reset_row(session: &Session) -> impl Serialize {
        TraceReset::new(session)
    }

    fn step_row(session: &Session, step: &Step) -> impl Serialize {
        TraceStep::new(session, step)
    }

    fn final_row(session: &Session, random_next: Option<f64>) -> Option<impl Serialize> {
        TraceFinal::new(session, random_next)
    }
}

impl EpisodeSlot<PolyguardEnv> for LmEpisode {
    fn next_prompt(&mut self, style: PromptStyle) -> Option<String> {
        (!Self::prompt_state(self).done()).then(|| Self::prompt(self, style))
    }

    fn prompt_state(&self) -> &PromptState<PolyguardEnv> {
        Self::prompt_state(self)
    }

    fn apply_completion(&mut self, _prompt: String, said: String) -> Result<bool, RolloutError> {
        let refused = |error: StepError| RolloutError::Refused(error.to_string());
        Self::step_with_completion(self, &said).map_err(refused)?;
        Ok(Self::prompt_state(self).done())
    }
}

impl Bounded for PolyguardEnv {
    const CASE: &'static str = "episode";

    fn computations(
        plan: &bound::Plan<Self>,
        episodes: &[(TaskSpec, u64)],
    ) -> Result<Vec<Computation>, Error> {
        if episodes.is_empty() {
            return Err(PlayError::NoEpisodesToBound { world: Self::NAME }.into());
        }
        let (rules, steps) = (plan.rules, plan.search_steps);
        let computation = |(task, seed): &(TaskSpec, u64)| {
            let setup = Setup::new(*task, *seed).with_rules(rules);
            Computation {
                cases: vec![(task.name(), seed.to_string())],
                compute: Box::new(move || {
                    let found = EpisodeBound::new(&Self::reset(&setup), steps);
                    (found.score, Some(found.is_reached))
                }),
            }
        };
        Ok(episodes.iter().map(computation).collect())
    }

    fn case_of(_task: TaskSpec, seed: u64) -> String {
        seed.to_string()
    }

    fn describe(bounds: &Bounds) -> String {
        let reached = |case: &&CaseBound| case.is_reached == Some(true);
        format!(
            "No answers to these episodes have a higher score under the {} rules, even with everything \
             known.\nA research simulation, never for the care of a patient. In {} of {} episodes some \
             answers have the\nscore of the bound; in the others, more --search-steps may lower it.",
            bounds.rules,
            bounds.cases.iter().filter(reached).count(),
            bounds.cases.len(),
        )
    }
}
