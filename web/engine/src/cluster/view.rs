//! A frame of the cluster world as the agent sees it: sentences, bars and the narrow column.

use sentinel_env::cluster::{ActionType, Change, ClusterEnv, JobStatus, Observation, Size};
use sentinel_page_protocol::{AgentView, Card, Layout, Meter, Panel, Tone};

use super::display_text::{agent, job_counts, verb};
use super::{attacks, board, workers};
use crate::format::percent;
use crate::run::PublicFrame;

/// Anomaly score from which a verification serves the goal.
const SUSPICIOUS: f64 = 0.60;

const TERMS_NOTE: &str = "The reward terms are shown only with the truth: calibration compares trust with the true quality of the workers, and waste counts the true states of GPUs whose reports may be forged.";

/// Returns the frame as the agent sees it.
pub(super) fn agent_view(frame: &PublicFrame<'_, ClusterEnv>) -> AgentView {
    let o = frame.observation;
    let [headline, detail] = sentences(frame);
    let size = Size::for_task(o.task);
    let panels = [
        Some(board::gpus(frame)),
        Some(board::jobs(frame)),
        Some(workers::workers(frame)),
        likely(frame),
        Some(counters(o, size.adversary)),
        size.adversary.then(|| attacks::attacks(frame)),
        Some(audit(o)),
    ];
    AgentView {
        headline,
        detail,
        standing: standing(o),
        terms_note: TERMS_NOTE.to_owned(),
        status: status(o),
        panels: panels.into_iter().flatten().collect(),
        ..AgentView::default()
    }
}

fn standing(o: &Observation) -> String {
    let (done, all) = (o.jobs.count(JobStatus::Complete), o.jobs.rows().len());
    format!("{done} of {all} jobs done")
}

/// Returns headline and detail.
fn sentences(frame: &PublicFrame<'_, ClusterEnv>) -> [String; 2] {
    let o = frame.observation;
    let Some(step) = frame.step else {
        let (jobs, gpus) = (o.jobs.rows().len(), o.gpus().len());
        return [
            format!(
                "{jobs} jobs wait for {gpus} idle GPUs. Nothing is known about the workers yet."
            ),
            format!(
                "The scheduler has {} steps to get the jobs done before their deadlines.",
                o.max_steps
            ),
        ];
    };
    let mut headline = step.action_sentence();
    let mut events = step.events();
    if step.attacked || step.believed || step.missed || !step.done.is_empty() {
        headline = format!("{headline} {}", events.remove(0));
    }
    events.push(situation(frame));
    [headline, events.join(" ")]
}

/// Returns where the episode stands.
fn situation(frame: &PublicFrame<'_, ClusterEnv>) -> String {
    let o = frame.observation;
    if o.done() {
        let all = o.jobs.count(JobStatus::Complete) as usize == o.jobs.rows().len();
        let reason = match (all, o.health <= 0.0) {
            (true, _) => "all jobs are done",
            (_, true) => "more than 60 % of the GPUs are down",
            _ => "all steps are used",
        };
        return format!(
            "The episode has ended because {reason}. Score {:.3}.",
            frame.score
        );
    }
    format!("Jobs: {}.", job_counts(o))
}

fn status(o: &Observation) -> Vec<Meter> {
    let lost = if o.rules.has(Change::Health) {
        "down"
    } else {
        "idle or down"
    };
    vec![
        Meter {
            label: format!("Step {} of {}", o.step_count, o.max_steps),
            help: "Every action takes one step. The episode ends with the last step, when all jobs are done, or when health is 0.".to_owned(),
            value: f32::from(o.step_count) / f32::from(o.max_steps),
            ..Meter::default()
        },
        Meter {
            label: format!("Health {:.1}", o.health),
            help: format!(
                "Multiplies the reward: 1 when most GPUs work, .5 when over 30 % are {lost} or over 25 % overloaded, 0 when over 60 % are down."
            ),
            value: o.health as f32,
            tone: match o.health {
                full if full >= 1.0 => Tone::Good,
                half if half > 0.0 => Tone::Warn,
                _ => Tone::Bad,
            },
            ..Meter::default()
        },
        Meter {
            label: format!("Memory in use {}", percent(o.utilization)),
            help: "Share of the working GPUs’ memory that jobs hold".to_owned(),
            value: o.utilization as f32,
            ..Meter::default()
        },
    ]
}

/// Returns the chances that the player gives each kind of action; `None` if it has none.
fn likely(frame: &PublicFrame<'_, ClusterEnv>) -> Option<Panel> {
    let chances = frame.policy_output.probabilities.as_ref()?;
    let next = frame.next.as_ref().map(|next| next.action.action_type());
    let cards = ActionType::ALL.into_iter().zip(chances).map(|(kind, p)| {
        let chosen = next == Some(kind);
        Card {
            key: kind.name().to_owned(),
            title: verb(kind).to_owned(),
            state: if chosen { "next" } else { "" }.to_owned(),
            meters: vec![Meter {
                label: percent(*p),
                value: *p as f32,
                ..Meter::default()
            }],
            ..Card::default()
        }
    });
    Some(Panel {
        id: "likely".to_owned(),
        title: "What comes next".to_owned(),
        help: "The probability that the player gives each kind of action. It takes the most probable one, and then the most probable job, GPU and worker.".to_owned(),
        cards: cards.collect(),
        aside: true,
        ..Panel::default()
    })
}

fn counters(o: &Observation, adversary: bool) -> Panel {
    let c = &o.counters;
    let jobs = |status| u16::from(o.jobs.count(status));
    let attacked = |key| !matches!(key, "attacks" | "missed") || adversary;
    let keeps_open = [Change::Answers, Change::Detections, Change::Escalation];
    let keeps_open = keeps_open.into_iter().any(|change| o.rules.has(change));
    let all = [
        ("done", "Done", "Completed jobs", jobs(JobStatus::Complete)),
        (
            "late",
            "Timed out",
            "Jobs that passed their deadline",
            jobs(JobStatus::TimedOut),
        ),
        ("attacks", "Attacks", "Attacks of the adversary", c.attempts),
        (
            "detections",
            "Detections",
            if o.rules.has(Change::Detections) {
                "Attacks that a verification found"
            } else {
                "Verifications that caught a wrong report or an attack"
            },
            c.detections,
        ),
        (
            "missed",
            "Missed",
            "Attacks that were not found in time",
            c.missed,
        ),
        (
            "poisonings",
            "Poisonings",
            "Wrong claims of completion that were believed",
            c.poisonings,
        ),
        (
            "checks",
            "Verifications",
            "Reports that were verified",
            c.verifications,
        ),
        (
            "alarms",
            "False alarms",
            "Verifications that could not be made, or that flagged a correct report",
            c.false_positives,
        ),
        (
            "loops",
            "Repeats",
            "Actions taken for the third time within seven steps without getting a job done",
            c.loop_events,
        ),
        (
            "drift",
            "Off goal",
            "Actions that failed, or that brought nothing forward",
            c.drift_events,
        ),
    ];
    let cards = all
        .into_iter()
        .filter(|(key, ..)| attacked(key) && (*key != "missed" || keeps_open))
        .map(|(key, title, help, count)| Card {
            key: key.to_owned(),
            title: title.to_owned(),
            help: help.to_owned(),
            state: count.to_string(),
            ..Card::default()
        });
    Panel {
        id: "counters".to_owned(),
        title: "So far".to_owned(),
        layout: Layout::Counters,
        cards: cards.collect(),
        aside: true,
        ..Panel::default()
    }
}

/// Returns the anomaly score of each agent's claims.
fn audit(o: &Observation) -> Panel {
    let cards = o.anomalies.iter().map(|(who, score)| Card {
        key: who.name().to_owned(),
        title: agent(who).to_owned(),
        meters: vec![Meter {
            label: format!("{score:.3}"),
            value: score as f32,
            mark: Some(SUSPICIOUS as f32),
            tone: if score >= SUSPICIOUS {
                Tone::Warn
            } else {
                Tone::Quiet
            },
            ..Meter::default()
        }],
        ..Card::default()
    });
    Panel {
        id: "audit".to_owned(),
        title: "Audit".to_owned(),
        help: "How odd the claims look that each agent made, 0 to 1: claims that were refuted, claims of .90 or more, a high mean, and spread. From .60 on, verifying serves the goal.".to_owned(),
        cards: cards.collect(),
        empty: "No claims yet.".to_owned(),
        aside: true,
        folded: true,
        ..Panel::default()
    }
}
