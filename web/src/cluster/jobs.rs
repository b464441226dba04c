//! The job table: what each job needs, how urgent it is, where it stands, and what is said of its progress.

use leptos::prelude::*;
use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::cluster::{Episode, Job, JobId, JobStatus, Size};
use sentinel_env::slot::Slot;

use super::Cluster;
use super::pick::Hand;
use crate::ui::Scene;

/// What a row of the table shows; equal rows need no drawing.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Row {
    id: JobId,
    job: Job,
    urgency: &'static str,
    hidden: Option<(f64, u8)>,
}

impl Row {
    fn of(episode: &Episode, id: JobId, truth: bool) -> Option<Self> {
        let o = episode.observation();
        let job = *o.jobs.get(id)?;
        let hidden = episode.hidden();
        Some(Self {
            id,
            job,
            urgency: urgency(&job, o.step_count),
            hidden: truth.then(|| (hidden.progress_of(id), hidden.priorities[id.index()])),
        })
    }

    /// Words and numbers of ours only, so nothing needs escaping.
    fn markup(&self) -> String {
        let job = &self.job;
        let gpu = job.assigned.or(job.placed);
        let gpu = gpu.map_or_else(|| "–".to_owned(), |gpu| format!("G{:02}", gpu.0));
        let worker = job.worker.map_or("–", Slot::name);
        let word = word(job.status);
        let (actual, priority) = self.hidden.map_or_else(
            || (String::new(), String::new()),
            |(actual, priority)| {
                (
                    format!("<i style=\"left:{:.1}%\"></i>", actual * 100.0),
                    format!(
                        "<b class=\"truth\">P{priority}, in truth {:.0} %</b>",
                        actual * 100.0
                    ),
                )
            },
        );
        format!(
            "<span class=\"job-id\">{}</span><span class=\"status\">{word}</span>\
            <span class=\"num\" title=\"memory\">{}</span><span class=\"num\" title=\"steps\">{}</span>\
            <span class=\"num deadline\">{}</span><span>{gpu}</span><span>{worker}</span>\
            <span class=\"progress\"><span class=\"meter\"><span style=\"width:{:.1}%\"></span>{actual}</span></span>\
            <span class=\"num\">{:.0} %</span>{priority}",
            self.id,
            job.memory,
            job.steps,
            job.deadline,
            job.reported * 100.0,
            job.reported * 100.0
        )
    }

    fn class(&self) -> String {
        format!("job {} {}", self.job.status.name(), self.urgency)
    }

    fn spoken(&self) -> String {
        let job = &self.job;
        format!(
            "{}, {}, memory {}, {} steps, deadline {}, reported progress {:.0} %",
            self.id,
            word(job.status),
            job.memory,
            job.steps,
            job.deadline,
            job.reported * 100.0
        )
    }
}

const fn word(status: JobStatus) -> &'static str {
    match status {
        JobStatus::Queued => "queued",
        JobStatus::Running => "running",
        JobStatus::Complete => "done",
        JobStatus::Failed => "failed",
        JobStatus::TimedOut => "too late",
    }
}

/// How near the deadline of an open job is: whether it can be kept, and whether it is close.
fn urgency(job: &Job, step: u8) -> &'static str {
    let left = job.deadline.saturating_sub(step);
    match job.status {
        JobStatus::Queued if left < job.steps => "hopeless",
        JobStatus::Queued | JobStatus::Running if left <= 10 => "urgent",
        _ => "",
    }
}

/// The table. Every row is drawn anew only when it changes.
pub(super) fn jobs(scene: Scene<Cluster>, hand: Hand) -> impl IntoView {
    let task = Memo::new(move |_| scene.with_frame(|frame| frame.episode.observation().task));
    let rows = move || {
        let all = (0..Size::for_task(task.get()).jobs).map(JobId);
        all.map(|id| row(scene, hand, id)).collect_view()
    };
    let counts = Memo::new(move |_| scene.with_frame(|f| f.episode.observation().jobs.counts()));
    let summary = move || {
        let all = JobStatus::ALL.into_iter().zip(counts.get());
        let some = all.filter(|(_, n)| *n > 0);
        let list: Vec<String> = some.map(|(s, n)| format!("{n} {}", word(s))).collect();
        list.join(", ")
    };
    view! {
        <section class="card jobs" aria-label="Jobs">
            <h3>"Jobs "<span class="quiet" id="job-counts">{summary}</span></h3>
            <p class="quiet job-legend">
                "Memory (of a GPU’s 80), steps, deadline (amber: at most 10 steps away; struck through: too late already), GPU, worker, progress as reported."
            </p>
            <ul class="job-list" on:click=move |event| hand.click(&event)>{rows}</ul>
        </section>
    }
}

fn row(scene: Scene<Cluster>, hand: Hand, id: JobId) -> impl IntoView {
    let row = Memo::new(move |_| {
        let truth = scene.truth();
        scene.with_frame(|frame| Row::of(&frame.episode, id, truth))
    });
    let show =
        move |read: fn(&Row) -> String| row.with(|row| row.as_ref().map_or_else(String::new, read));
    let picked = move || hand.own && hand.choice.with(|choice| choice.job == Some(id));
    let class = move || {
        let picked = if picked() { " picked" } else { "" };
        show(Row::class) + picked
    };
    let markup = move || show(Row::markup);
    if hand.own {
        let what = format!("j{}", id.0);
        view! {
            <li><button class=class data-pick=what aria-label=move || show(Row::spoken)
                aria-pressed=move || picked().to_string() inner_html=markup></button></li>
        }
        .into_any()
    } else {
        view! { <li><div class=class inner_html=markup></div></li> }.into_any()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_env::Environment;
    use sentinel_env::cluster::{Setup, Task};
    use sentinel_env::rng::Streams;

    #[test]
    fn a_row_keeps_hidden_numbers_to_itself() {
        let episode = Episode::reset(&Setup::new(Task::Task3, 7, Streams::Independent));
        let row = |truth| Row::of(&episode, JobId(3), truth).expect("a job");
        assert!(!row(false).markup().contains("truth"));
        assert!(row(true).markup().contains("in truth 0 %"));
        assert_eq!(Row::of(&episode, JobId(30), true), None);
    }

    #[test]
    fn deadlines_become_urgent_and_then_hopeless() {
        let mut job = Job::default();
        (job.steps, job.deadline) = (6, 30);
        let at = |step| urgency(&job, step);
        assert_eq!(
            [at(0), at(20), at(24), at(25), at(99)],
            ["", "urgent", "urgent", "hopeless", "hopeless"]
        );
    }
}
