//! The problem statement and one mission per task, as data (spec trust §13).

use serde::Serialize;

use crate::task::Task;

/// The problem statement of the world.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §13"
)]
pub struct ProblemStatement {
    pub problem: Problem,
    pub bridge: [BridgeStage; 6],
    pub tasks: Missions,
    pub judge_demo: Demo,
}

/// The problems without oversight, and the behavior that is learned instead.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §13"
)]
pub struct Problem {
    pub one_line: &'static str,
    pub not_a_simple_prompt_solver: &'static str,
    pub real_user_prompt_example: &'static str,
    pub failure_without_sentinel: [&'static str; 4],
    pub behavior_after_training: [&'static str; 4],
    pub what_is_trainable: &'static str,
}

/// A stage on the way from a user's request to a reward.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §13"
)]
pub struct BridgeStage {
    pub stage: &'static str,
    pub what_happens: &'static str,
    pub sentinel_abstraction: &'static str,
}

/// The missions of the three tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustMissions")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §13"
)]
pub struct Missions {
    pub task1: Mission,
    pub task2: Mission,
    pub task3: Mission,
}

/// The mission of a task: a story that explains its purpose.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(
    feature = "schema",
    derive(schemars::JsonSchema),
    schemars(rename = "TrustMission")
)]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §13"
)]
pub struct Mission {
    pub name: &'static str,
    pub judge_friendly_story: &'static str,
    pub real_life_example: &'static str,
    pub what_the_model_learns: [&'static str; 3],
    pub why_it_exists: &'static str,
}

/// The intended effect of training, in three sentences.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[allow(
    missing_docs,
    reason = "the field names are the protocol, spec trust §13"
)]
pub struct Demo {
    pub before: &'static str,
    pub after: &'static str,
    pub killer_moment: &'static str,
}

impl Mission {
    /// Returns the mission of the task called `name`, or that of task3 if the name is unknown, as
    /// in the reference.
    #[must_use]
    pub fn from_name(name: &str) -> &'static Self {
        Self::for_task(Task::parse(name).unwrap_or(Task::Task3))
    }

    /// Returns the mission of a task.
    #[must_use]
    pub const fn for_task(task: Task) -> &'static Self {
        match task {
            Task::Task1 => &PROBLEM.tasks.task1,
            Task::Task2 => &PROBLEM.tasks.task2,
            Task::Task3 => &PROBLEM.tasks.task3,
        }
    }
}

const fn stage(
    stage: &'static str,
    what_happens: &'static str,
    sentinel_abstraction: &'static str,
) -> BridgeStage {
    BridgeStage {
        stage,
        what_happens,
        sentinel_abstraction,
    }
}

/// The complete problem statement.
pub const PROBLEM: ProblemStatement = ProblemStatement {
    problem: Problem {
        one_line: "An orchestrator must learn which helpers to believe, from evidence alone.",
        not_a_simple_prompt_solver: "The answer to one prompt is not the point. What is rewarded is \
            a sequence of decisions: whom to call, when to check, when to do it oneself.",
        real_user_prompt_example: "Bring release 4.2 to production by tonight and roll back if \
            anything looks wrong.",
        failure_without_sentinel: [
            "A confident helper is believed although it is wrong four times in ten.",
            "A helper that was right all day turns against the mission when the stakes are high.",
            "A tired helper is called again and again because it used to be good.",
            "A specialist is asked outside its field.",
        ],
        behavior_after_training: [
            "Probes each helper while mistakes are cheap.",
            "Checks answers where being wrong is costly.",
            "Notices when a helper gets worse and moves on.",
            "Sends work to whoever is good at that kind of work.",
        ],
        what_is_trainable: "The orchestrator's policy. The five specialists are scripted.",
    },
    bridge: [
        stage("wish", "A person states a goal.", "a scenario"),
        stage(
            "plan",
            "The goal becomes steps.",
            "subtasks with domain and stakes",
        ),
        stage(
            "route",
            "Each step goes to a helper.",
            "delegate, verify, solve or skip",
        ),
        stage(
            "result",
            "The helper answers, rightly or not.",
            "outcome and confidence",
        ),
        stage(
            "trust",
            "The answer changes what is believed of the helper.",
            "the ledger",
        ),
        stage(
            "lesson",
            "The decision is judged.",
            "the reward and its components",
        ),
    ],
    tasks: Missions {
        task1: Mission {
            name: "First day",
            judge_friendly_story: "Ten small errands, five strangers. Nothing can go badly wrong.",
            real_life_example: "Sorting a backlog of tickets with new assistants.",
            what_the_model_learns: [
                "that a first impression is one sample",
                "that cheap errors buy knowledge",
                "that some helpers are good at some things only",
            ],
            why_it_exists: "To learn who is who while it is cheap.",
        },
        task2: Mission {
            name: "Busy week",
            judge_friendly_story: "Fifteen steps on a tight budget: slow and right, or fast and wrong?",
            real_life_example: "Preparing a quarterly report from several sources.",
            what_the_model_learns: [
                "to weigh cost against accuracy",
                "to stop calling a helper that wears out",
                "to keep beliefs calibrated",
            ],
            why_it_exists: "To learn that time is part of the reward.",
        },
        task3: Mission {
            name: "Launch night",
            judge_friendly_story: "Twenty steps, the last ones critical, and one helper waits for them.",
            real_life_example: "A production rollout with one compromised tool.",
            what_the_model_learns: [
                "to expect betrayal where the stakes are highest",
                "to spend checks where they matter",
                "to use a known liar by checking it",
            ],
            why_it_exists: "To learn oversight when a good record is no guarantee.",
        },
    },
    judge_demo: Demo {
        before: "The untrained orchestrator believes the helper with the best record, and the \
            episode ends in poison.",
        after: "The trained one has spread its calls, checks the suspect and finishes.",
        killer_moment: "Swap the identities: a policy that learned names fails, one that reads \
            evidence does not.",
    },
};
