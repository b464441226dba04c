//! Text interface of the cluster world.

use sentinel_env::{Environment, Named as _};
use std::fmt::{self, Write};

use sentinel_env::cluster::{
    Action, ActionMessage, ActionType, Behavior, ClusterEnv, Episode, GpuId, Job, JobId, JobStatus,
    Observation, scheduler_prompt,
};
use sentinel_env::slot::Slot;

use super::evidence::{honest_share, inconsistent_gpus, lie_count};
use super::learned::history::History;
use super::learned::{ClusterNet, Observer};
use super::lookahead::Belief;
use super::planner::{next_to_start, suspected_attack};
use crate::nn::{Network as _, Observe as _};
use crate::text::{
    CompletionObject, InvalidActionPolicy, ParseError, ParseErrorKind, ParsedAction,
    ParserStrictness, PromptStyle, TextWorld, write_posterior,
};

/// Fields that a completion may have.
const FIELDS: [&str; 6] = [
    "action_type",
    "job_id",
    "gpu_id",
    "worker_id",
    "force_flag",
    "reasoning",
];
/// Largest number of queued jobs that a compact prompt names.
const WAITING: usize = 20;
/// Largest number of running jobs that a compact prompt names.
const RUNNING: usize = 14;
/// Largest number of open GPUs that a compact prompt names: those with the most free memory as
/// shown.
const OPEN: usize = 6;

impl TextWorld for ClusterEnv {
    type Memory = Observer;

    fn update_memory(memory: &mut Observer, observation: &Observation) {
        memory.observe(observation);
    }

    fn prompt(style: PromptStyle, memory: &Observer, episode: &Episode) -> String {
        let o = episode.observation();
        match style {
            PromptStyle::Reference => scheduler_prompt(o),
            PromptStyle::Compact | PromptStyle::Detailed => {
                let mut out = String::with_capacity(1_200);
                let belief = (style == PromptStyle::Detailed).then_some(&memory.belief);
                // Writing to a `String` cannot fail.
                let _ = compact(&mut out, &memory.history, belief, o);
                out
            }
        }
    }

    fn format_action(_style: PromptStyle, _observation: &Observation, action: Action) -> String {
        serde_json::to_string(&ActionMessage::from(action)).unwrap_or_default()
    }

    fn legal_actions(observation: &Observation) -> Vec<Action> {
        ClusterNet::legal_actions(observation)
    }

    fn parse_action(
        reader: ParserStrictness,
        text: &str,
        o: &Observation,
    ) -> Result<ParsedAction<Action>, ParseError> {
        let mut object = CompletionObject::parse(reader, text, &FIELDS)?;
        object.take_string("reasoning")?;
        let word = object.take_required_string("action_type")?;
        let Some(kind) = ActionType::parse(&word) else {
            return Err(ParseError::unknown_action(&word));
        };
        let action = match kind {
            ActionType::Allocate => Action::Allocate {
                job: job(&mut object, o)?,
                gpu: gpu(&mut object, o)?,
                worker: worker(&mut object)?,
            },
            ActionType::Preempt => Action::Preempt {
                job: job(&mut object, o)?,
                worker: worker(&mut object)?,
            },
            ActionType::RequestInfo => Action::RequestInfo {
                job: job(&mut object, o)?,
                worker: worker(&mut object)?,
            },
            ActionType::Verify => Action::Verify {
                job: job(&mut object, o)?,
                worker: worker(&mut object)?,
                force_flag: object.take_bool("force_flag")?.unwrap_or(false),
            },
            ActionType::Tick => Action::Tick,
        };
        let repaired = object.finish(kind.name())?;
        Ok(ParsedAction { action, repaired })
    }

    fn invalid_action_policy(_: &str, _: &Observation) -> InvalidActionPolicy<Action> {
        InvalidActionPolicy::EndSample
    }
}

/// Parses the optional job. The world's rules choose whatever a completion leaves out, as in its
/// protocol.
fn job(object: &mut CompletionObject, o: &Observation) -> Result<Option<JobId>, ParseError> {
    let job = object.take_parsed("job_id", JobId::parse)?;
    let count = o.jobs.rows().len();
    here(job, job.is_none_or(|job| job.index() < count), count)
}

fn gpu(object: &mut CompletionObject, o: &Observation) -> Result<Option<GpuId>, ParseError> {
    let gpu = object.take_parsed("gpu_id", GpuId::parse)?;
    let count = o.gpus().len();
    here(gpu, gpu.is_none_or(|gpu| gpu.index() < count), count)
}

fn here<T: fmt::Display>(
    named: Option<T>,
    exists: bool,
    count: usize,
) -> Result<Option<T>, ParseError> {
    match named {
        Some(thing) if !exists => {
            let detail = format!("{thing} is not one of the {count} of this task");
            Err(ParseError::new(ParseErrorKind::NotHere, detail))
        }
        named => Ok(named),
    }
}

fn worker(object: &mut CompletionObject) -> Result<Option<Slot>, ParseError> {
    object.take_parsed("worker_id", Slot::parse)
}

/// Writes the compact prompt: the cluster, attacks, the last action, workers, queued jobs, running
/// jobs and GPUs. A detailed prompt adds what `belief` holds, the queued job that the planner would
/// start next, and the running job that seems to be attacked.
fn compact(
    out: &mut String,
    history: &History,
    belief: Option<&Belief>,
    o: &Observation,
) -> fmt::Result {
    let count = |status| o.jobs.count(status);
    let (step, budget) = (o.step_count, o.max_steps);
    write!(out, "cluster {} step {step}/{budget}", o.task)?;
    let (queued, running) = (count(JobStatus::Queued), count(JobStatus::Running));
    let (done, late) = (count(JobStatus::Complete), count(JobStatus::TimedOut));
    write!(
        out,
        " queued {queued} run {running} done {done} late {late}"
    )?;
    writeln!(out, " health {:.1} use {:.2}", o.health, o.utilization)?;
    let c = &o.counters;
    let (met, caught, odd) = (c.attempts, c.detections, o.anomalies.max());
    write!(out, "attacks {met} caught {caught} odd {odd:.2}")?;
    if let Some(since) = history.steps_since_open_attack() {
        write!(out, " ALARM {since}")?;
    }
    if c.loop_events + c.drift_events > 0 {
        write!(out, " waste {}", c.loop_events + c.drift_events)?;
    }
    writeln!(out)?;
    match &o.last {
        None => writeln!(out, "last none")?,
        Some(last) => {
            let came = if last.success { "ok" } else { "failed" };
            write!(out, "last {} {came} reward {:.2}", last.action, last.reward)?;
            if let Some(said) = last.statement {
                write!(
                    out,
                    " {} says {} {:.2}",
                    said.worker, said.job, said.reported
                )?;
            }
            writeln!(out)?;
        }
    }
    let posterior = belief.map(Belief::marginals);
    for slot in Slot::ALL {
        of_worker(out, o, slot)?;
        match (&posterior, history.speeds.slow[slot.index()]) {
            // The posterior holds the speed too.
            (Some(posterior), _) => {
                write_posterior(out, Behavior::NAMES, &posterior[slot.index()])?;
            }
            (None, Some(true)) => out.push_str(" slow"),
            (None, Some(false)) => out.push_str(" fast"),
            (None, None) => {}
        }
        writeln!(out)?;
    }
    jobs(out, belief, o)?;
    gpus(out, o)?;
    if belief.is_some() {
        if let Some(job) = next_to_start(o) {
            writeln!(out, "next {job}")?;
        }
        if let Some(job) = suspected_attack(o) {
            writeln!(out, "attacked {job}")?;
        }
    }
    Ok(())
}

fn of_worker(out: &mut String, o: &Observation, slot: Slot) -> fmt::Result {
    let evidence = &o.ledger[slot];
    let (trust, honest) = (evidence.trust(), honest_share(o, slot));
    write!(out, "{slot} {trust:.2} honest {honest:.2}")?;
    if lie_count(o, slot) > 0 {
        let sure = evidence.gap_sum / f64::from(lie_count(o, slot));
        write!(out, " lies {} sure {sure:.2}", lie_count(o, slot))?;
    }
    Ok(())
}

/// Writes a line of queued jobs as memory/work/steps to the deadline, and a line of running jobs as
/// memory/work left/steps to the deadline with their worker. Jobs that can still meet their
/// deadline come first, then the earliest deadline. With a belief, a running job whose reported
/// progress is not believed shows the work that is left.
fn jobs(out: &mut String, belief: Option<&Belief>, o: &Observation) -> fmt::Result {
    for (title, status, most) in [
        ("wait", JobStatus::Queued, WAITING),
        ("run", JobStatus::Running, RUNNING),
    ] {
        let left = |job: &Job| f64::from(job.steps) * (1.0 - job.reported);
        let due = |job: &Job| i16::from(job.deadline) - i16::from(o.step_count);
        let mut some: Vec<(JobId, &Job)> =
            (o.jobs.iter().filter(|(_, job)| job.status == status)).collect();
        some.sort_by_key(|(id, job)| (left(job) > f64::from(due(job)), job.deadline, *id));
        out.push_str(title);
        for (id, job) in some.into_iter().take(most) {
            write!(
                out,
                " {id} {}/{}/{}",
                job.memory,
                tenths(left(job)),
                due(job)
            )?;
            if let (Some(worker), JobStatus::Running) = (job.worker, status) {
                write!(out, " {worker}")?;
                if job.placed.is_none() {
                    out.push_str(" lost");
                }
                let believed = belief.map_or(job.reported, |belief| belief.progress(id));
                if (believed - job.reported).abs() > 1e-9 {
                    let left = f64::from(job.steps) * (1.0 - believed);
                    write!(out, " believed {}", tenths(left))?;
                }
            }
        }
        writeln!(out)?;
    }
    Ok(())
}

/// Formats a number with one decimal, without a trailing `.0`.
fn tenths(value: f64) -> String {
    let text = format!("{value:.1}");
    match text.strip_suffix(".0") {
        Some(whole) => whole.to_owned(),
        None => text,
    }
}

/// Writes the open GPUs with the most free memory, and the GPUs whose row is inconsistent or marked
/// as tampered with.
fn gpus(out: &mut String, o: &Observation) -> fmt::Result {
    let odd = inconsistent_gpus(o);
    let suspicious = |id: &GpuId| odd[id.index()] || o.gpus()[id.index()].tampered;
    let all = || (0..o.gpus().len() as u8).map(GpuId);
    let mut open: Vec<GpuId> = all()
        .filter(|id| o.appears_operational(*id) && !suspicious(id))
        .collect();
    open.sort_by_key(|id| (std::cmp::Reverse(o.gpus()[id.index()].free), *id));
    out.push_str("free");
    for id in open.into_iter().take(OPEN) {
        write!(out, " {id} {}", o.gpus()[id.index()].free)?;
    }
    writeln!(out)?;
    let marked: Vec<String> = all()
        .filter(suspicious)
        .map(|id| id.to_string())
        .take(OPEN)
        .collect();
    if !marked.is_empty() {
        writeln!(out, "odd {}", marked.join(" "))?;
    }
    Ok(())
}
