//! What all worlds' tasks have in common: names, an order, and how a command line chooses some.

use std::fmt::{Debug, Display};
use std::hash::Hash;

/// A task of a world; each world has a type of its own.
pub trait TaskName: Copy + Eq + Ord + Hash + Debug + Display + Send + Sync + 'static {
    /// The tasks that `all` means, in order. A world may know further ones by name.
    const ALL: &'static [Self];

    /// The word used in files, addresses and on the command line.
    fn name(self) -> &'static str;

    /// The task with this name; also one that is not in [`TaskName::ALL`].
    fn parse(name: &str) -> Option<Self>;

    /// Without the world that it belongs to; ordered as the tasks are.
    fn bits(self) -> TaskBits;

    /// What [`TaskName::bits`] was made from; none when the world has no such task.
    fn of(bits: TaskBits) -> Option<Self>;

    /// The same task without what a world holds out for measuring. A world overrides it where a task
    /// shows that, too, unless its name says otherwise.
    #[must_use]
    fn to_learn_from(self) -> Self {
        self
    }

    /// The tasks that a command line chooses. A world overrides it where its tasks are cells of a
    /// grid, which can be chosen by row and column.
    ///
    /// # Errors
    /// Names the word or the option that the world does not know, and what there is.
    fn select(selection: &Selection<'_>) -> Result<Vec<Self>, String> {
        match selection.of_cells().next() {
            None => selection.by_name(),
            Some((option, _)) => Err(format!("--{option} belongs to world polyguard")),
        }
    }
}

/// A task of a world that is known from elsewhere, for places where tasks of several worlds meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TaskBits(pub(crate) u16);

/// What a command line says about tasks, each as it was typed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Selection<'a> {
    /// Tasks by name with commas between, or `all`.
    pub tasks: Option<&'a str>,
    /// Sub-environments with commas between.
    pub sub_environment: Option<&'a str>,
    /// Difficulties with commas between.
    pub difficulty: Option<&'a str>,
    /// A formulary.
    pub formulary: Option<&'a str>,
    /// A part of the tasks that was set aside for training or for testing.
    pub split: Option<&'a str>,
}

impl<'a> Selection<'a> {
    /// What was typed of the options that name rows and columns of a grid of tasks.
    pub fn of_cells(&self) -> impl Iterator<Item = (&'static str, &'a str)> + use<'a> {
        let options = [
            ("sub-environment", self.sub_environment),
            ("difficulty", self.difficulty),
            ("formulary", self.formulary),
            ("split", self.split),
        ];
        options
            .into_iter()
            .filter_map(|(option, text)| Some((option, text?)))
    }

    /// The tasks that are named, in the order given; all where none is.
    ///
    /// # Errors
    /// Names what is unknown, with what there is, or what is named twice.
    pub fn by_name<T: TaskName>(&self) -> Result<Vec<T>, String> {
        let text = match self.tasks {
            None | Some("all") => return Ok(T::ALL.to_vec()),
            Some(text) => text,
        };
        let mut found = Vec::new();
        for word in text.split(',').map(str::trim) {
            let task = T::parse(word).ok_or_else(|| {
                let known = known::<T>(", ");
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

/// The names of [`TaskName::ALL`] for a message, with `last` before the last one.
#[must_use]
pub fn known<T: TaskName>(last: &str) -> String {
    let names: Vec<&str> = T::ALL.iter().map(|task| task.name()).collect();
    match names.split_last() {
        Some((end, [])) => (*end).to_owned(),
        Some((end, rest)) => format!("{}{last}{end}", rest.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trust::Task;

    fn select(tasks: Option<&str>) -> Result<Vec<Task>, String> {
        Task::select(&Selection {
            tasks,
            ..Selection::default()
        })
    }

    #[test]
    fn tasks_come_in_the_order_in_which_they_are_named() {
        assert_eq!(select(None), Ok(Task::ALL.to_vec()));
        assert_eq!(select(Some("all")), Ok(Task::ALL.to_vec()));
        let named = select(Some("task3, task1"));
        assert_eq!(named, Ok(vec![Task::Task3, Task::Task1]));
    }

    #[test]
    fn what_is_unknown_or_named_twice_is_said() {
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
    fn a_world_without_a_grid_refuses_its_options_by_name() {
        let with = |option: &str| {
            let given = |name| (name == option).then_some("x");
            Task::select(&Selection {
                tasks: Some("all"),
                sub_environment: given("sub-environment"),
                difficulty: given("difficulty"),
                formulary: given("formulary"),
                split: given("split"),
            })
        };
        for option in ["sub-environment", "difficulty", "formulary", "split"] {
            let error = with(option).expect_err("no such option here");
            assert_eq!(error, format!("--{option} belongs to world polyguard"));
        }
        assert!(with("none of them").is_ok());
    }

    #[test]
    fn bits_keep_the_order_and_come_back() {
        let bits: Vec<TaskBits> = Task::ALL.into_iter().map(TaskName::bits).collect();
        assert!(bits.is_sorted_by(|a, b| a < b), "{bits:?}");
        for (task, bits) in Task::ALL.into_iter().zip(bits) {
            assert_eq!(Task::of(bits), Some(task));
        }
        assert_eq!(Task::of(TaskBits(3)), None);
        assert_eq!(known::<Task>(" or "), "task1, task2 or task3");
    }
}
