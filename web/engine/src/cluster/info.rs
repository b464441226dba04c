//! Menus, help texts and glossary of the cluster world.

use sentinel_env::cluster::{Size, Task};
use sentinel_page_protocol::{Axis, Choice, Slot, Verb, WorldInfo};

use super::{GPUS, JOBS, WORKERS};

const HELP: [&str; 4] = [
    "In each step the scheduler takes one action: it allocates a job to a GPU and a worker, preempts a job, asks a worker for a report, verifies a report, or waits. What an action leaves out is chosen by a fixed rule; under hardened rules it must be named.",
    "Behind the slots S0 to S4 are five behaviors, shuffled in every episode. One reports what is true, one reports 40 points too much, one works at half speed, one claims completion when the stakes are high, and one gets worse with every report. In task 1 all five report what is true.",
    "In task 3 an adversary attacks the reports of jobs and GPUs. The counters show that an attack happened, not what it did. Each attack that is found makes the next ones harder to see, up to level 5.",
    "The reward of a step is the weighted sum of four roles, times the health of the cluster, times how steadily the scheduler works. The score is the mean of all rewards, the final one included.",
];

const GLOSSARY: [(&str, &str); 11] = [
    (
        "Job",
        "Work that needs memory on a GPU for a number of steps, before its deadline.",
    ),
    (
        "GPU",
        "Holds 80 units of memory. Jobs may ask for more together, which overloads it. A GPU that holds jobs may fail; it is back four steps later.",
    ),
    (
        "Worker",
        "Runs a job and reports its progress. Its behavior is hidden and reshuffled in every episode.",
    ),
    (
        "Report",
        "A worker’s statement of a job’s progress. The record then counts it as right or wrong.",
    ),
    (
        "Trust",
        "The share of right reports that a worker’s record suggests. Reports at high stakes weigh more.",
    ),
    (
        "Stakes",
        "What is at risk in a report, 0 to 1: more for jobs of high priority and near their deadline. Priorities are hidden.",
    ),
    (
        "Health",
        "1 while most GPUs work, ½ when too many are idle, overloaded or down, and 0 when over 60 % are down, which ends the episode. It multiplies the reward. Under hardened rules idle GPUs do no harm.",
    ),
    (
        "Verify",
        "Asks for a report and checks it. A wrong report is not believed, and an attack on the job is found.",
    ),
    (
        "Attack",
        "The adversary forges a report: of a job’s progress, of a GPU’s state and memory, of the whole cluster, or of a job that does not exist.",
    ),
    (
        "Poisoning",
        "A wrong claim of completion that was believed, or an attack that counts as believed.",
    ),
    (
        "Anomaly score",
        "How odd the claims look that an agent made, 0 to 1. From .60 on, verifying serves the goal.",
    ),
];

/// Adds texts, menus and verbs to the description of the world.
pub(super) fn complete_info(info: &mut WorldInfo) {
    info.title = "GPU cluster".to_owned();
    info.tagline =
        "A scheduler runs jobs on GPUs that fail. Some workers overstate progress, and an adversary forges reports."
            .to_owned();
    info.help = HELP.map(str::to_owned).to_vec();
    info.glossary = GLOSSARY
        .map(|(term, text)| (term.to_owned(), text.to_owned()))
        .to_vec();
    for (number, (task, listed)) in (1..).zip(Task::ALL.into_iter().zip(&mut info.tasks)) {
        let size = Size::for_task(task);
        let attacks = if size.adversary { ", with attacks" } else { "" };
        listed.label = format!("Task {number}");
        listed.help = format!(
            "{} jobs on {} GPUs in {} steps{attacks}",
            size.jobs, size.gpus, size.max_steps
        );
    }
    let choices = info.tasks.iter().map(|task| Choice {
        name: task.name.clone(),
        label: task.label.clone(),
        help: task.help.clone(),
    });
    info.axes = vec![Axis {
        label: "Task".to_owned(),
        help: "Larger and harder from 1 to 3".to_owned(),
        choices: choices.collect(),
    }];
    info.verbs = verbs();
}

fn verbs() -> Vec<Verb> {
    let slot = |letter: char, label: &str, panel: &str| Slot {
        letter,
        label: label.to_owned(),
        panel: panel.to_owned(),
        // One worker is likely given several jobs.
        is_kept: letter == 'w',
    };
    let job = || slot('j', "Job", JOBS);
    let worker = || slot('w', "Worker", WORKERS);
    let verb = |code: &str, label: &str, help: &str, slots: Vec<Slot>| Verb {
        code: code.to_owned(),
        label: label.to_owned(),
        help: help.to_owned(),
        slots,
        flag: None,
    };
    vec![
        verb(
            "a",
            "Allocate",
            "Starts a queued job on a GPU; the worker reports on it at once",
            vec![job(), slot('g', "GPU", GPUS), worker()],
        ),
        verb(
            "p",
            "Preempt",
            "Takes a job off its GPU; it waits again and keeps its progress",
            vec![job(), worker()],
        ),
        verb(
            "r",
            "Ask",
            "Asks a worker how far a running job is, and believes the answer",
            vec![job(), worker()],
        ),
        Verb {
            flag: Some(Choice {
                name: "f".to_owned(),
                label: "flag it".to_owned(),
                help: "A report that turns out right then counts as a false alarm".to_owned(),
            }),
            ..verb(
                "v",
                "Verify",
                "Asks a worker how far a running job is, and checks the answer",
                vec![job(), worker()],
            )
        },
        verb("t", "Wait", "Lets one step pass", Vec::new()),
    ]
}
