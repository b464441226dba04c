//! The GPUs and jobs of the cluster world as the agent sees them.

use sentinel_env::cluster::{
    ClusterEnv, GPU_MEMORY, GpuId, GpuState, GpuView, Job, JobId, JobStatus,
};
use sentinel_page_protocol::{Card, Chip, Column, Layout, Meter, Panel, Tone};

use super::display_text::{job_counts, state, state_tone, status};
use super::{GPUS, JOBS};
use crate::format::{counted, percent};
use crate::run::PublicFrame;

/// Number of steps before its deadline from which a job counts as urgent.
const SOON: u8 = 10;

/// Returns the panel of the GPUs, each with its jobs.
pub(super) fn gpus(frame: &PublicFrame<'_, ClusterEnv>) -> Panel {
    let o = frame.observation;
    let held = o.jobs.memory_by_gpu();
    let views = (0..).map(GpuId).zip(o.gpus()).zip(held);
    let cards = views.map(|((id, view), held)| gpu(frame, id, view, held));
    let down = o.gpus().iter().filter(|gpu| !gpu.state.is_operational());
    let idle = o.gpus().iter().filter(|gpu| gpu.state == GpuState::Idle);
    Panel {
        id: GPUS.to_owned(),
        title: "GPUs".to_owned(),
        help: "Each GPU has 80 units of memory; more may be put on it, which overloads it. A GPU that holds jobs may fail and is back four steps later. A row that does not add up, or that is marked as tampered, was forged by an attack: its state and free memory may be anything.".to_owned(),
        summary: format!("{} idle, {} down", idle.count(), down.count()),
        layout: Layout::Tiles,
        cards: cards.collect(),
        ..Panel::default()
    }
}

fn gpu(frame: &PublicFrame<'_, ClusterEnv>, id: GpuId, view: &GpuView, held: u16) -> Card {
    let on_it = frame.observation.jobs.iter();
    let on_it = on_it.filter(|(_, job)| job.placed == Some(id));
    let mut chips: Vec<Chip> = on_it.map(|(id, job)| job_chip(id, job)).collect();
    if view.tampered {
        chips.push(chip("tampered with", Tone::Bad));
    } else if !adds_up(view, held) {
        chips.push(chip("does not add up", Tone::Warn));
    }
    let over = view.used > GPU_MEMORY;
    // Shows free memory only if it differs from total minus used, which is evidence of an attack.
    let left = GPU_MEMORY.saturating_sub(view.used);
    let subtitle = match view.state.is_operational() {
        true if view.free == left => String::new(),
        true => format!("{} free", view.free),
        false => "takes no jobs".to_owned(),
    };
    let is_empty = view.state == GpuState::Idle && view.used == 0;
    Card {
        key: format!("g{}", id.0),
        title: id.to_string(),
        subtitle,
        state: state(view.state).to_owned(),
        tone: state_tone(view.state),
        active: frame.step.is_some_and(|step| step.names.gpu == Some(id)),
        meters: match is_empty {
            true => Vec::new(),
            false => vec![Meter {
                label: format!("{} of {GPU_MEMORY}", view.used),
                value: (f32::from(view.used) / f32::from(GPU_MEMORY)).min(1.0),
                tone: if over { Tone::Bad } else { Tone::Neutral },
                ..Meter::default()
            }],
        },
        chips,
        pick: Some(format!("g{}", id.0)),
        ..Card::default()
    }
}

/// Returns `false` if a row contradicts the jobs on the GPU, so that an attack must have forged it.
const fn adds_up(view: &GpuView, held: u16) -> bool {
    view.used == held && !(matches!(view.state, GpuState::Idle) && held > 0)
}

fn chip(text: &str, tone: Tone) -> Chip {
    Chip {
        text: text.to_owned(),
        help: String::new(),
        tone,
    }
}

fn job_chip(id: JobId, job: &Job) -> Chip {
    let late = job.status == JobStatus::TimedOut;
    Chip {
        text: id.to_string(),
        help: if late {
            "Timed out, and still holds its memory".to_owned()
        } else {
            String::new()
        },
        tone: if late { Tone::Warn } else { Tone::Neutral },
    }
}

/// Returns the panel of the jobs.
pub(super) fn jobs(frame: &PublicFrame<'_, ClusterEnv>) -> Panel {
    let o = frame.observation;
    let column = |title: &str, help: &str, numeric| Column {
        title: title.to_owned(),
        help: help.to_owned(),
        numeric,
    };
    let columns = vec![
        column("Memory", "Memory that the job needs, of a GPU’s 80", true),
        column("Steps", "Steps that the job takes at full speed", true),
        column("Deadline", "Last step in which the job may run", true),
        column("GPU", "The GPU that the job runs on", false),
        column("Worker", "The worker that runs the job", false),
    ];
    let cards = o.jobs.iter().map(|(id, row)| job(frame, id, row));
    Panel {
        id: JOBS.to_owned(),
        title: "Jobs".to_owned(),
        help: "The bar is the progress as reported, which an attack may have forged. A job that reaches 100 % is done in the same step: one that shows 100 % and is not done was forged. Its color is that of the worker.".to_owned(),
        summary: job_counts(o),
        layout: Layout::Table(columns),
        cards: cards.collect(),
        ..Panel::default()
    }
}

fn job(frame: &PublicFrame<'_, ClusterEnv>, id: JobId, job: &Job) -> Card {
    let or_none = |text: Option<String>| text.unwrap_or_else(|| "–".to_owned());
    let gpu = job.assigned.or(job.placed);
    let tone = match job.status {
        JobStatus::Queued => Tone::Open,
        JobStatus::Running => Tone::Neutral,
        JobStatus::Complete => Tone::Good,
        JobStatus::Failed | JobStatus::TimedOut => Tone::Bad,
    };
    Card {
        key: format!("j{}", id.0),
        title: id.to_string(),
        slot: job.worker.map(|slot| slot.index() as u8),
        state: status(job.status).to_owned(),
        tone,
        active: frame.step.is_some_and(|step| step.names.job == Some(id)),
        cells: vec![
            job.memory.to_string(),
            job.steps.to_string(),
            job.deadline.to_string(),
            or_none(gpu.map(|gpu| gpu.to_string())),
            or_none(job.worker.map(|slot| slot.name().to_owned())),
        ],
        meters: vec![Meter {
            label: percent(job.reported),
            value: job.reported as f32,
            ..Meter::default()
        }],
        chips: job_chips(job, frame.observation.step_count),
        pick: Some(format!("j{}", id.0)),
        ..Card::default()
    }
}

/// Returns chips for everything about a job that needs attention.
fn job_chips(job: &Job, step: u8) -> Vec<Chip> {
    let mut chips = Vec::new();
    let running = job.status == JobStatus::Running;
    let open = running || job.status == JobStatus::Queued;
    match time(job, step) {
        Time::Enough => {}
        Time::Soon(left) => {
            chips.push(chip(
                &format!("{} left", counted(usize::from(left), "step", "steps")),
                Tone::Warn,
            ));
        }
        Time::TooLittle => chips.push(chip("too late to finish", Tone::Bad)),
    }
    if open && job.reported >= 1.0 {
        chips.push(chip("progress forged", Tone::Bad));
    }
    if running && job.placed.is_none() {
        chips.push(chip("lost its GPU", Tone::Warn));
    }
    chips
}

/// Time that an open job has until its deadline.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Time {
    Enough,
    /// Few steps are left; this is their number.
    Soon(u8),
    /// Fewer steps are left than the job takes at full speed, going by its reported progress.
    TooLittle,
}

fn time(job: &Job, step: u8) -> Time {
    let left = job.deadline.saturating_sub(step);
    // Sums of shares may have rounding errors.
    let needed = (f64::from(job.steps) * (1.0 - job.reported) - 1e-6).ceil();
    match job.status {
        JobStatus::Queued | JobStatus::Running if f64::from(left) < needed => Time::TooLittle,
        JobStatus::Queued | JobStatus::Running if left <= SOON => Time::Soon(left),
        _ => Time::Enough,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deadlines_come_near_and_pass_out_of_reach() {
        let mut job = Job::default();
        (job.steps, job.deadline) = (6, 30);
        let at = |job: &Job, step| time(job, step);
        assert_eq!(
            [0, 20, 24, 25, 99].map(|step| at(&job, step)),
            [
                Time::Enough,
                Time::Soon(10),
                Time::Soon(6),
                Time::TooLittle,
                Time::TooLittle
            ]
        );
        job.reported = 1.0 / 3.0;
        assert_eq!(at(&job, 26), Time::Soon(4), "two of six steps are made");
        job.status = JobStatus::Complete;
        assert_eq!(at(&job, 99), Time::Enough);
    }

    #[test]
    fn rows_that_contradict_their_jobs_do_not_add_up() {
        let view = |state, used| GpuView {
            state,
            used,
            free: 0,
            tampered: false,
        };
        assert!(adds_up(&view(GpuState::Idle, 0), 0));
        assert!(adds_up(&view(GpuState::Failed, 30), 30));
        assert!(!adds_up(&view(GpuState::Idle, 30), 30));
        assert!(!adds_up(&view(GpuState::Allocated, 72), 0));
    }
}
