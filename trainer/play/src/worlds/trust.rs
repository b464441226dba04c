//! The evaluation of the trust world (spec evaluation §1).

use std::path::PathBuf;

use sentinel_base::Error;
use sentinel_env::Environment as _;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{
    Scenario, Session, Setup, Step, Task, TraceFinal, TraceReset, TraceStep, TrustEnv,
};
use sentinel_policy::rollout::EpisodeRun;
use sentinel_policy::trust::{EpisodeRow, ScoreBound};
use serde::Serialize;

use super::{is_reference, mean};
use crate::analyze::Analyzed;
use crate::bound::{self, Bounded, Bounds, Computation};
use crate::eval::{
    Difficulty, DifficultyState, Evaluated, Evaluation, OrderedMap, ReplayUse, or_empty,
};
use crate::trace::Traced;

/// Means over the episodes of a policy, of the rounded values of their rows, to four decimals.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[allow(
    missing_docs,
    reason = "the field names are the format, spec evaluation §1.4"
)]
pub struct PolicySummary {
    pub episodes: usize,
    pub avg_score: f64,
    pub avg_completion_rate: f64,
    pub avg_detection_rate: f64,
    pub avg_trust_calibration: f64,
    pub avg_steps: f64,
}

#[derive(Serialize)]
struct File<'a> {
    task: &'a str,
    tasks: &'a [&'static str],
    episodes_per_policy: u64,
    adaptive: bool,
    #[serde(serialize_with = "or_empty")]
    difficulty_controller: Difficulty,
    difficulty_controller_by_task_policy: &'a OrderedMap<OrderedMap<DifficultyState>>,
    summary: &'a OrderedMap<PolicySummary>,
    by_task: &'a OrderedMap<OrderedMap<PolicySummary>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Streams>,
    #[serde(skip_serializing_if = "is_reference")]
    rules: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: &'a Option<ReplayUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: &'a Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adversary_threshold: Option<f64>,
    episodes: &'a [EpisodeRow],
}

impl Evaluated for TrustEnv {
    type Row = EpisodeRow;
    type Summary = PolicySummary;
    const DEFAULT_POLICIES: &'static str = "random,heuristic,oracle_lite";
    const DEFAULT_TASK: Option<&'static str> = Some("task3");
    const TABLE_COLUMNS: &'static [&'static str] =
        &["score", "completion", "detection", "calibration", "steps"];

    fn episode_row(policy: &str, run: &EpisodeRun<Self>) -> EpisodeRow {
        EpisodeRow::from_run(policy, run)
    }

    fn summarize(rows: &[&EpisodeRow]) -> PolicySummary {
        PolicySummary {
            episodes: rows.len(),
            avg_score: mean(rows, |row| row.score),
            avg_completion_rate: mean(rows, |row| row.completion_rate),
            avg_detection_rate: mean(rows, |row| row.detection_rate),
            avg_trust_calibration: mean(rows, |row| row.trust_calibration),
            avg_steps: mean(rows, |row| f64::from(row.steps)),
        }
    }

    fn table_cells(s: &PolicySummary) -> (usize, Vec<f64>) {
        let cells = vec![
            s.avg_score,
            s.avg_completion_rate,
            s.avg_detection_rate,
            s.avg_trust_calibration,
            s.avg_steps,
        ];
        (s.episodes, cells)
    }

    fn file_content(e: &Evaluation<Self>) -> impl Serialize {
        File {
            task: &e.task,
            tasks: &e.tasks,
            episodes_per_policy: e.episodes_per_policy,
            adaptive: e.adaptive,
            difficulty_controller: e.difficulty,
            difficulty_controller_by_task_policy: &e.difficulty_by_task_policy,
            summary: &e.summary,
            by_task: &e.by_task,
            streams: Some(e.streams).filter(|streams| *streams != Streams::Reference),
            rules: &e.rules,
            replay: &e.replay,
            model: &e.model,
            adversary_threshold: e.adversary_threshold,
            episodes: &e.episodes,
        }
    }
}

impl Analyzed for TrustEnv {}

impl Traced for TrustEnv {
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

impl Bounded for TrustEnv {
    const CASE: &'static str = "scenario";

    /// Returns one computation for all scenarios that are equal to it, the long tasks first.
    fn computations(
        plan: &bound::Plan<Self>,
        _episodes: &[(Task, u64)],
    ) -> Result<Vec<Computation>, Error> {
        let mut kinds: Vec<(ScoreBound, Vec<(&'static str, String)>)> = Vec::new();
        for scenario in Scenario::all().filter(|one| plan.tasks.contains(&one.task)) {
            let bound = ScoreBound::new(&scenario, plan.rules);
            let case = (scenario.task.name(), scenario.id());
            match kinds.iter_mut().find(|(known, _)| *known == bound) {
                Some((_, cases)) => cases.push(case),
                None => kinds.push((bound, vec![case])),
            }
        }
        let computation = |(bound, cases): (ScoreBound, _)| Computation {
            cases,
            compute: Box::new(move || (bound.compute(), None)),
        };
        Ok(kinds.into_iter().rev().map(computation).collect())
    }

    fn case_of(task: Task, seed: u64) -> String {
        let setup = Setup::new(task, seed, Streams::Independent);
        Self::reset(&setup).scenario().id()
    }

    fn describe(bounds: &Bounds) -> String {
        format!(
            "No policy that sees observations only has a higher expected score under the {} rules, with \
             independent\nstreams and the default difficulty.",
            bounds.rules
        )
    }
}
