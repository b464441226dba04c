//! The evaluation of the cluster world (spec cluster §11).

use sentinel_base::Error;
use sentinel_env::cluster::{
    ClusterEnv, Session, Setup, Step, Task, TraceFinal, TraceReset, TraceStep,
};
use sentinel_env::rng::Streams;
use sentinel_env::{Environment as _, World as _};
use sentinel_policy::cluster::{EpisodeBound, EpisodeRow};
use sentinel_policy::rollout::EpisodeRun;
use serde::Serialize;

use super::{is_reference, mean};
use crate::PlayError;
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
    reason = "the field names are the format, spec cluster §11"
)]
pub struct ClusterSummary {
    pub episodes: usize,
    pub avg_score: f64,
    pub avg_cluster_health: f64,
    pub avg_utilization_rate: f64,
    pub avg_completion_rate: f64,
    pub avg_detection_rate: f64,
    pub avg_ai_reliability_modifier: f64,
    pub avg_steps: f64,
}

#[derive(Serialize)]
struct File<'a> {
    environment: &'static str,
    tasks: &'a [&'static str],
    episodes_per_policy: u64,
    adaptive: bool,
    #[serde(serialize_with = "or_empty")]
    difficulty_controller: Difficulty,
    /// The means over all tasks by policy, sorted.
    summary: OrderedMap<ClusterSummary>,
    /// The means by task, only if there are several tasks; the reference does not have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    by_task: Option<&'a OrderedMap<OrderedMap<ClusterSummary>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    difficulty_controller_by_task_policy: Option<&'a OrderedMap<OrderedMap<DifficultyState>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    streams: Option<Streams>,
    #[serde(skip_serializing_if = "is_reference")]
    rules: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    replay: &'a Option<ReplayUse>,
    #[serde(skip_serializing_if = "Option::is_none")]
    adversary_threshold: Option<f64>,
    episodes: &'a [EpisodeRow],
}

impl Evaluated for ClusterEnv {
    type Row = EpisodeRow;
    type Summary = ClusterSummary;
    const DEFAULT_POLICIES: &'static str = "random,blind,trust,oracle_lite";
    const DEFAULT_TASK: Option<&'static str> = Some("task3");
    const TABLE_COLUMNS: &'static [&'static str] = &[
        "score",
        "health",
        "utilization",
        "completion",
        "detection",
        "reliability",
        "steps",
    ];

    fn episode_row(policy: &str, run: &EpisodeRun<Self>) -> EpisodeRow {
        EpisodeRow::from_run(policy, run)
    }

    fn summarize(rows: &[&EpisodeRow]) -> ClusterSummary {
        ClusterSummary {
            episodes: rows.len(),
            avg_score: mean(rows, |row| row.score),
            avg_cluster_health: mean(rows, |row| row.cluster_health),
            avg_utilization_rate: mean(rows, |row| row.utilization_rate),
            avg_completion_rate: mean(rows, |row| row.completion_rate),
            avg_detection_rate: mean(rows, |row| row.detection_rate),
            avg_ai_reliability_modifier: mean(rows, |row| row.ai_reliability_modifier),
            avg_steps: mean(rows, |row| f64::from(row.steps)),
        }
    }

    fn table_cells(s: &ClusterSummary) -> (usize, Vec<f64>) {
        let cells = vec![
            s.avg_score,
            s.avg_cluster_health,
            s.avg_utilization_rate,
            s.avg_completion_rate,
            s.avg_detection_rate,
            s.avg_ai_reliability_modifier,
            s.avg_steps,
        ];
        (s.episodes, cells)
    }

    fn file_content(e: &Evaluation<Self>) -> impl Serialize {
        let mut summary = e.summary.clone();
        summary.0.sort_by(|a, b| a.0.cmp(&b.0));
        File {
            environment: "cluster",
            tasks: &e.tasks,
            episodes_per_policy: e.episodes_per_policy,
            adaptive: e.adaptive,
            difficulty_controller: e.difficulty,
            summary,
            by_task: (e.tasks.len() > 1).then_some(&e.by_task),
            difficulty_controller_by_task_policy: e
                .adaptive
                .then_some(&e.difficulty_by_task_policy),
            streams: Some(e.streams).filter(|streams| *streams != Streams::Reference),
            rules: &e.rules,
            replay: &e.replay,
            adversary_threshold: e.adversary_threshold,
            episodes: &e.episodes,
        }
    }
}

impl Analyzed for ClusterEnv {}

impl Traced for ClusterEnv {
    fn reset_row(session: &Session) -> impl Serialize {
        TraceReset::new(session.episode())
    }

    fn step_row(session: &Session, step: &Step) -> impl Serialize {
        TraceStep::new(session.episode(), step)
    }

    fn final_row(session: &Session, random_next: Option<f64>) -> Option<impl Serialize> {
        let last = session.steps().last()?;
        TraceFinal::new(session.episode(), last, random_next)
    }
}

impl Bounded for ClusterEnv {
    const CASE: &'static str = "episode";

    fn computations(
        plan: &bound::Plan<Self>,
        episodes: &[(Task, u64)],
    ) -> Result<Vec<Computation>, Error> {
        if episodes.is_empty() {
            return Err(PlayError::NoEpisodesToBound { world: Self::NAME }.into());
        }
        let rules = plan.rules;
        let computation = |(task, seed): &(Task, u64)| {
            let setup = Setup::new(*task, *seed, Streams::Independent).with_rules(rules);
            Computation {
                cases: vec![(task.name(), seed.to_string())],
                compute: Box::new(move || (EpisodeBound::new(&Self::reset(&setup)).score, None)),
            }
        };
        Ok(episodes.iter().map(computation).collect())
    }

    fn case_of(_task: Task, seed: u64) -> String {
        seed.to_string()
    }

    fn describe(bounds: &Bounds) -> String {
        format!(
            "No actions in these episodes have a higher score under the {} rules, even with everything known. \
             The\nhighest score may be lower: the components of the reward are bounded one by one.",
            bounds.rules
        )
    }
}
