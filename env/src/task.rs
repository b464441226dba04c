//! Tasks: the common interface of all worlds' tasks, the three numbered tasks that several worlds
//! share, and the selection of tasks on a command line.

use std::fmt::{Debug, Display};
use std::hash::Hash;

use crate::named_enum;

named_enum! {
    /// The three numbered tasks, in order of difficulty. Each world defines their contents.
    pub enum Task {
        /// The easy task, the shortest of the three.
        Task1 = "task1",
        /// The task of medium difficulty.
        Task2 = "task2",
        /// The hard task; in the cluster, the only one with attacks.
        Task3 = "task3",
    }
}

impl Task {
    /// Returns the reference's word for the difficulty: `easy`, `medium` or `hard`.
    #[must_use]
    pub const fn difficulty(self) -> &'static str {
        match self {
            Self::Task1 => "easy",
            Self::Task2 => "medium",
            Self::Task3 => "hard",
        }
    }
}

impl TaskName for Task {
    const ALL: &'static [Self] = &Self::ALL;

    fn name(self) -> &'static str {
        Self::name(self)
    }

    fn parse(name: &str) -> Option<Self> {
        Self::parse(name)
    }
}

/// The only task of a world that has a single one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SingleTask;

impl TaskName for SingleTask {
    const ALL: &'static [Self] = &[Self];

    fn name(self) -> &'static str {
        "default"
    }

    fn parse(name: &str) -> Option<Self> {
        (name == Self.name()).then_some(Self)
    }
}

impl Display for SingleTask {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// A task of a world; each world has a type of its own.
pub trait TaskName: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// The tasks that `all` selects, in order. A world may accept further tasks by name.
    const ALL: &'static [Self];

    /// Returns the name used in files, addresses and on the command line.
    fn name(self) -> &'static str;

    /// Returns the task with this name, which may be one that is not in [`TaskName::ALL`].
    fn parse(name: &str) -> Option<Self>;

    /// Returns the variant of the task to train on. Worlds that hold out part of their content for
    /// evaluation override this method to exclude it, unless the task's name explicitly includes
    /// it.
    #[must_use]
    fn training_variant(self) -> Self {
        self
    }

    /// Returns the tasks that a command line selects. Worlds whose tasks form a grid, in which they
    /// can be selected along each [`TaskAxis`], override this method.
    ///
    /// # Errors
    /// Returns a message that names the unknown word or option and the valid ones.
    fn select(selection: &TaskSelection<'_>) -> Result<Vec<Self>, String> {
        match selection.axes().next() {
            None => selection.by_name(),
            Some((TaskAxis { option, world }, _)) => {
                Err(format!("--{option} belongs to world {world}"))
            }
        }
    }
}

/// An axis of a world's grid of tasks, as an option of the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TaskAxis {
    /// Name of the option, without its dashes.
    pub option: &'static str,
    /// Name of the world that has this axis.
    pub world: &'static str,
}

/// The selection of tasks on a command line, as typed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TaskSelection<'a> {
    /// Task names separated by commas, or `all`.
    pub tasks: Option<&'a str>,
    axes: Vec<(TaskAxis, &'a str)>,
}

impl<'a> TaskSelection<'a> {
    /// Creates a selection of tasks by name; `None` selects all.
    #[must_use]
    pub const fn new(tasks: Option<&'a str>) -> Self {
        Self {
            tasks,
            axes: Vec::new(),
        }
    }

    /// Returns the same selection restricted along `axis`; `None` leaves it unchanged.
    #[must_use]
    pub fn with_axis(mut self, axis: TaskAxis, text: Option<&'a str>) -> Self {
        self.axes.extend(text.map(|text| (axis, text)));
        self
    }

    /// Returns the text given for `axis`, if any.
    #[must_use]
    pub fn axis(&self, axis: TaskAxis) -> Option<&'a str> {
        let found = self.axes().find(|(given, _)| *given == axis);
        found.map(|(_, text)| text)
    }

    /// Iterates over the given axes and their texts, in the order given.
    pub fn axes(&self) -> impl Iterator<Item = (TaskAxis, &'a str)> {
        self.axes.iter().copied()
    }

    /// Returns the named tasks in the order given, or all tasks if none is named.
    ///
    /// # Errors
    /// Returns a message that names the unknown task and the valid ones, or the task that is named
    /// twice.
    pub fn by_name<T: TaskName>(&self) -> Result<Vec<T>, String> {
        let text = match self.tasks {
            None | Some("all") => return Ok(T::ALL.to_vec()),
            Some(text) => text,
        };
        let mut found = Vec::new();
        for word in text.split(',').map(str::trim) {
            let task = T::parse(word).ok_or_else(|| {
                let known = joined_task_names::<T>(", ");
                format!("unknown task {word:?}: use {known} or all")
            })?;
            if found.contains(&task) {
                return Err(format!("task {word} is named twice: name it once"));
            }
            found.push(task);
        }
        Ok(found)
    }
}

/// Returns the names of [`TaskName::ALL`] for a message, with `last` before the last one.
#[must_use]
pub fn joined_task_names<T: TaskName>(last: &str) -> String {
    let names: Vec<&str> = T::ALL.iter().map(|task| task.name()).collect();
    join_names(&names, last)
}

/// Joins names for a message: commas between them, and `last` before the last one.
#[must_use]
pub fn join_names(names: &[&str], last: &str) -> String {
    match names.split_last() {
        Some((end, [])) => (*end).to_owned(),
        Some((end, rest)) => format!("{}{last}{end}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::polyguard::AXES;

    fn select(tasks: Option<&str>) -> Result<Vec<Task>, String> {
        Task::select(&TaskSelection::new(tasks))
    }

    #[test]
    fn task_selection_keeps_given_order() {
        assert_eq!(select(None), Ok(Task::ALL.to_vec()));
        assert_eq!(select(Some("all")), Ok(Task::ALL.to_vec()));
        let named = select(Some("task3, task1"));
        assert_eq!(named, Ok(vec![Task::Task3, Task::Task1]));
    }

    #[test]
    fn unknown_or_duplicate_task_is_refused() {
        let error = select(Some("task1,task9")).expect_err("no such task");
        assert_eq!(
            error,
            "unknown task \"task9\": use task1, task2, task3 or all"
        );
        let error = select(Some("task1,task1")).expect_err("named twice");
        assert!(error.contains("twice"), "{error}");
        for bad in ["", "task1,", "all,task1"] {
            assert!(select(Some(bad)).is_err(), "{bad}");
        }
    }

    #[test]
    fn world_without_grid_refuses_grid_options() {
        let with = |option: &str| {
            let named = AXES.into_iter().find(|axis| axis.option == option);
            let all = TaskSelection::new(Some("all"));
            Task::select(&match named {
                Some(axis) => all.with_axis(axis, Some("x")),
                None => all,
            })
        };
        for option in ["sub-environment", "difficulty", "formulary", "split"] {
            let error = with(option).expect_err("no such option here");
            assert_eq!(error, format!("--{option} belongs to world polyguard"));
        }
        assert!(with("none of them").is_ok());
    }

    #[test]
    fn known_task_names_are_joined_for_messages() {
        assert_eq!(joined_task_names::<Task>(" or "), "task1, task2 or task3");
    }
}
