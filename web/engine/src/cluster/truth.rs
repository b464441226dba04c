//! Hidden state of the cluster world, shown only while the Truth layer is on.

use sentinel_env::cluster::{
    Attack, AttackType, Behavior, Change, ClusterEnv, GPU_MEMORY, Gpu, GpuId, GpuView, Hidden,
    JobStatus, MAX_ATTACK_LEVEL, Observation, Size, Step,
};
use sentinel_env::slot::Slot;
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_protocol::{Card, Note, Panel, StepLine, Tone, Truth, TruthNote};

use super::display_text::state;
use super::terms::{step_terms, terminal_terms};
use super::workers::short;
use super::{GPUS, JOBS, WORKERS};
use crate::format::{capitalized, counted, percent};
use crate::run::Frame;

/// Returns the description of a behavior.
const fn describe(behavior: Behavior) -> &'static str {
    match behavior {
        Behavior::Reliable => "Reports what is true",
        Behavior::Overreporter => "Reports 40 points more than is true",
        Behavior::Slow => "Reports what is true, and works at half speed",
        Behavior::Adversarial => "Claims completion once the stakes reach its threshold",
        Behavior::Degrading => {
            "Reports what is true five times; each later report is 12 points further off"
        }
    }
}

/// Returns the kind and target of an attack in words, such as `a false completion of JOB-004`.
pub(super) fn attack_words(attack: &Attack) -> String {
    match attack.kind {
        AttackType::FalseCompletion => format!("a false completion of {}", attack.job),
        AttackType::FalseMemoryReport => format!("a false memory report of {}", attack.gpu),
        AttackType::CascadePanic => "a report that the whole cluster is down".to_owned(),
        AttackType::FabricateJob => format!("the invented job FAB-{}", attack.forged),
        AttackType::CoordinatedMultiReport => {
            format!("false reports of {} and {} at once", attack.gpu, attack.job)
        }
    }
}

/// Returns the name of a kind of attack.
const fn kind_name(kind: AttackType) -> &'static str {
    match kind {
        AttackType::FalseCompletion => "false completion",
        AttackType::FalseMemoryReport => "false memory report",
        AttackType::CascadePanic => "cascade panic",
        AttackType::FabricateJob => "invented job",
        AttackType::CoordinatedMultiReport => "coordinated reports",
    }
}

/// Returns a sentence about the effect of a kind of attack.
fn effect(kind: AttackType, o: &Observation) -> &'static str {
    let every_level = o.rules.has(Change::Escalation);
    match kind {
        AttackType::FalseCompletion => "The job shows 100 %",
        AttackType::FalseMemoryReport => "The GPU is shown as idle with 40 free",
        AttackType::CascadePanic if every_level => "No job advances until it is found",
        AttackType::FabricateJob if every_level => "Takes 72 of a GPU’s memory until it is found",
        AttackType::CoordinatedMultiReport if every_level => {
            "The GPU is shown as idle, the job shows 100 %, and no job advances until it is found"
        }
        _ => "Has no effect under these rules",
    }
}

/// Returns the line of a step with the kind of an attack.
pub(super) fn step_line(frame: &Frame<ClusterEnv>, mut line: StepLine) -> StepLine {
    let Some(step) = frame.info() else {
        return line;
    };
    if let Some(attack) = &step.attack {
        let kind = kind_name(attack.kind);
        line.result = match line.sign.as_str() {
            "!" => format!("attacked: {kind}"),
            _ => format!("{}, attacked: {kind}", line.result),
        };
        line.notable = true;
    }
    line
}

/// Returns the hidden state of frame `index`.
pub(super) fn truth(frames: &[Frame<ClusterEnv>], index: usize) -> Truth {
    let frame = &frames[index];
    let (o, hidden) = (frame.episode.observation(), frame.episode.hidden());
    let mut notes = jobs(o, hidden);
    notes.extend(gpus(o, hidden));
    notes.extend(Slot::ALL.map(|slot| worker(hidden, slot)));
    let mut terms = Vec::new();
    if let Some(step) = frame.info() {
        terms = step_terms(&step.grades, &o.counters, hidden.pool.counts());
        terms.extend(
            step.terminal
                .iter()
                .flat_map(|end| terminal_terms(o.task, end)),
        );
    }
    let attacked = Size::for_task(o.task).adversary;
    Truth {
        headline: frame.info().map_or_else(String::new, headline),
        notes,
        panels: attacked
            .then(|| adversary(&frames[..=index]))
            .into_iter()
            .collect(),
        terms,
    }
}

fn headline(step: &Step) -> String {
    let mut sentences = Vec::new();
    if let Some(report) = &step.report {
        let (job, actual) = (report.job, percent(report.actual));
        let differs = (report.actual - report.reported).abs() > 5e-3;
        sentences.push(match (report.honest, differs) {
            (false, _) => format!("{} lies: {job} is at {actual}.", report.worker),
            (true, true) => {
                format!("{job} is at {actual}, so the report counts as honest.")
            }
            (true, false) => format!("The report of {} is honest.", report.worker),
        });
    }
    if let Some(attack) = &step.attack {
        sentences.push(format!(
            "The attack has level {}: {}.",
            attack.level,
            attack_words(attack)
        ));
    }
    sentences.join(" ")
}

fn jobs(o: &Observation, hidden: &Hidden) -> Vec<TruthNote> {
    let open = o.jobs.iter().filter(|(_, job)| {
        let status = job.status;
        matches!(status, JobStatus::Queued | JobStatus::Running)
    });
    open.map(|(id, job)| {
        let actual = hidden.progress_of(id);
        let priority = hidden.priorities.get(id.index()).copied().unwrap_or(0);
        let overstated = job.reported > actual + 5e-3;
        TruthNote {
            panel: JOBS.to_owned(),
            card: format!("j{}", id.0),
            text: format!("truly {}, priority {priority}", percent(actual)),
            help: String::new(),
            tone: if overstated { Tone::Bad } else { Tone::Neutral },
            value: Some(actual as f32),
            unmask: false,
        }
    })
    .collect()
}

fn gpus(o: &Observation, hidden: &Hidden) -> Vec<TruthNote> {
    let both = (0..)
        .map(GpuId)
        .zip(o.gpus().iter().zip(hidden.pool.gpus()));
    let notes = both.filter_map(|(id, (view, real))| {
        let (text, tone) = gpu(view, real)?;
        Some(TruthNote {
            panel: GPUS.to_owned(),
            card: format!("g{}", id.0),
            text,
            help: String::new(),
            tone,
            value: None,
            unmask: false,
        })
    });
    notes.collect()
}

/// Returns the hidden facts about a GPU; `None` if its row shows everything.
fn gpu(view: &GpuView, real: &Gpu) -> Option<(String, Tone)> {
    let free = GPU_MEMORY.saturating_sub(real.used);
    let forged = view.tampered || view.state != real.state || view.free != free;
    let mut facts = Vec::new();
    if forged {
        facts.push(format!("truly {}, {free} free", state(real.state)));
    }
    if real.invented > 0 {
        facts.push(format!("{} taken by an invented job", real.invented));
    }
    if real.recovery > 0 {
        let steps = counted(usize::from(real.recovery), "step", "steps");
        facts.push(format!("back in {steps}"));
    }
    let tone = if forged || real.invented > 0 {
        Tone::Bad
    } else {
        Tone::Neutral
    };
    (!facts.is_empty()).then(|| (facts.join(", "), tone))
}

fn worker(hidden: &Hidden, slot: Slot) -> TruthNote {
    let behavior = hidden.assignment[slot];
    let adversary = behavior == Behavior::Adversarial;
    TruthNote {
        panel: WORKERS.to_owned(),
        card: slot.name().to_owned(),
        text: format!(
            "{}, reliability {:.2}",
            short(behavior),
            behavior.reliability()
        ),
        help: describe(behavior).to_owned(),
        tone: if adversary { Tone::Bad } else { Tone::Neutral },
        value: Some(behavior.reliability() as f32),
        unmask: adversary,
    }
}

/// Returns the adversary's level and all its attacks up to the last frame, the latest first.
fn adversary(frames: &[Frame<ClusterEnv>]) -> Panel {
    let Some(last) = frames.last() else {
        return Panel::default();
    };
    let (o, attacker) = (last.episode.observation(), &last.episode.hidden().attacker);
    let open = attacker.undetected().map(|open| usize::from(open.since));
    let attacks = frames
        .iter()
        .enumerate()
        .filter_map(|(index, frame)| Some((index, frame.info()?.attack?)));
    let mut cards: Vec<Card> = attacks
        .map(|(index, attack)| Card {
            key: format!("a{index}"),
            title: format!("Step {index}"),
            state: format!("level {}", attack.level),
            tone: match (open == Some(index), attack.detected) {
                (true, _) => Tone::Open,
                (_, true) => Tone::Good,
                _ => Tone::Neutral,
            },
            notes: vec![Note {
                text: if open == Some(index) {
                    format!("{}, open", capitalized(&attack_words(&attack)))
                } else {
                    capitalized(&attack_words(&attack))
                },
                help: effect(attack.kind, o).to_owned(),
                tone: Tone::Neutral,
            }],
            ..Card::default()
        })
        .collect();
    cards.reverse();
    Panel {
        id: "adversary".to_owned(),
        title: "The adversary".to_owned(),
        help: "Level, kind and target of every attack. The level rises when attacks are found."
            .to_owned(),
        summary: format!(
            "level {} of {MAX_ATTACK_LEVEL}, next: {}",
            attacker.level(),
            kind_name(attacker.attack_type())
        ),
        cards,
        empty: "No attacks yet.".to_owned(),
        aside: true,
        ..Panel::default()
    }
}
