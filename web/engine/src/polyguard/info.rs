//! Menus, help texts and glossary of the PolyGuard world.

use sentinel_env::polyguard::{Difficulty, FormularyName, Split, SubEnvironment, TaskSpec};
use sentinel_page_protocol::{Axis, Choice, TaskInfo, WorldInfo};

use super::display_text;

/// Adds texts, menus and tasks to the description of the world.
pub(super) fn complete(info: &mut WorldInfo) {
    info.title = "PolyGuard".to_owned();
    info.tagline =
        "Make a simulated medication regimen safer, step by step, while values are missing and not every interaction is flagged."
            .to_owned();
    info.help = [
        "A made-up patient takes three to fourteen medicines of made-up archetypes. Some interact, some are no longer needed, some are dosed wrong, and part of the information that would show this is missing.",
        "Each step offers up to ten candidates. Choose one by a click or by its number, 0 for the tenth. A verifier refuses what is not allowed, and thirteen components grade the step.",
        "What must be put right depends on the case and is hidden: pairs that interact but are not flagged, medicines that are no longer needed, doses that do not fit. The verifier alone ends an episode as a safe resolution.",
        "The score is the mean of the step values over the whole step budget. Steps saved by a good end still earn almost full points; any other end costs most of the score. Until the end, the mean reward so far is shown instead.",
        "You can choose a candidate at any step, even in a player’s episode; a branch starts there.",
    ]
    .map(str::to_owned)
    .to_vec();
    info.glossary = GLOSSARY
        .map(|(term, text)| (term.to_owned(), text.to_owned()))
        .to_vec();
    info.axes = axes();
    info.tasks = tasks().map(task).collect();
}

const GLOSSARY: [(&str, &str); 14] = [
    (
        "Archetype",
        "A made-up medicine that stands for a whole class. Its traits are public; its numbers have no clinical authority.",
    ),
    (
        "Regimen",
        "All medicines that the patient takes or that are paused, with their doses: low, medium or high.",
    ),
    (
        "Candidate",
        "An act that can be chosen in this step. Candidates that the verifier would refuse are not shown, so the numbering may have gaps.",
    ),
    (
        "Visible risk",
        "Weights of flagged pairs, broken rules and kidney alerts, as x / (1 + x). What is not flagged or not known is not in it.",
    ),
    (
        "Flagged pair",
        "An interaction of two medicines that the chart shows. Moderate, major, or contraindicated, which means never together; the last two are serious.",
    ),
    (
        "Suspected pair",
        "Two medicines whose public traits suggest an interaction. About a third of the suspected pairs are real, and pairs that are not flagged may be among them.",
    ),
    (
        "Uncertainty",
        "How little is known: missing values, disagreement, unknown products, medicines under review. From .60 on, handing the case over is justified once evidence was tried.",
    ),
    (
        "Burden",
        "How heavy the regimen is: the number of medicines, their anticholinergic points, and how many act on the brain.",
    ),
    (
        "Anticholinergic points",
        "0 to 3 for each medicine; 3 or more together break a rule.",
    ),
    (
        "Taper",
        "To lower a dose by one level a step until the medicine is out. Some medicines may not be stopped at once.",
    ),
    (
        "Level and window",
        "The measured effect of a dose, 1 in the middle of its window. Below the window a medicine does too little, above it too much.",
    ),
    (
        "eGFR",
        "How much the kidneys filter, in mL/min. Some medicines are unsafe below a limit.",
    ),
    (
        "Symptom",
        "In the case “Find the culprit”, how strong the symptom is, measured with noise. It moves toward .8 while the culprit is taken, and toward .2 otherwise.",
    ),
    (
        "Verifier",
        "The part of the environment that refuses what is not allowed and ends an episode as resolved. Its refusals reveal nothing hidden.",
    ),
];

fn axes() -> Vec<Axis> {
    let axis = |label: &str, help: &str, choices: Vec<Choice>| Axis {
        label: label.to_owned(),
        help: help.to_owned(),
        choices,
    };
    let choice = |name: &str, (label, help): (&str, &str)| Choice {
        name: name.to_owned(),
        label: label.to_owned(),
        help: help.to_owned(),
    };
    let subs = SubEnvironment::ALL.iter();
    let difficulties = Difficulty::ALL.iter();
    let splits = Split::ALL.iter();
    let formularies = FormularyName::ALL.iter();
    vec![
        axis(
            "Case",
            "The kind of problem that must be put right",
            subs.map(|sub| choice(sub.name(), display_text::sub(*sub)))
                .collect(),
        ),
        axis(
            "Difficulty",
            "How many medicines there are, and how much is hidden",
            difficulties
                .map(|difficulty| choice(difficulty.name(), display_text::difficulty(*difficulty)))
                .collect(),
        ),
        axis(
            "Split",
            "Which medicines and pairs may occur, to measure generalization",
            splits
                .map(|split| choice(split.name(), display_text::split(*split)))
                .collect(),
        ),
        axis(
            "Formulary",
            "The tables of medicines and pairs",
            formularies
                .map(|name| choice(name.name(), display_text::formulary(*name)))
                .collect(),
        ),
    ]
}

/// Returns every task: first those of the world's own list, in its order, then those of other
/// splits and formularies.
fn tasks() -> impl Iterator<Item = TaskSpec> {
    // No task has a higher number: 24 cells in three splits, and 24 more of the reference.
    let others = (0..96).filter_map(TaskSpec::from_number);
    let others = others.filter(|task| !TaskSpec::ALL.contains(task));
    TaskSpec::ALL.into_iter().chain(others)
}

/// Returns the readable name of a task.
pub(crate) fn task_label(task: TaskSpec) -> String {
    let sub = display_text::sub(task.sub_environment()).0;
    let mut label = format!("{sub}, {}", task.difficulty().name());
    if task.split() != Split::All {
        label += &format!(", {}", task.split().name());
    }
    if task.formulary() != FormularyName::Extended {
        label += &format!(", {} formulary", task.formulary().name());
    }
    label
}

fn task(task: TaskSpec) -> TaskInfo {
    TaskInfo {
        name: task.name().to_owned(),
        label: task_label(task),
        help: display_text::sub(task.sub_environment()).1.to_owned(),
        coordinates: vec![
            task.sub_environment() as u8,
            task.difficulty() as u8,
            task.split() as u8,
            task.formulary() as u8,
        ],
    }
}
