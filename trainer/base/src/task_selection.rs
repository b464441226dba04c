//! Tasks and stream modes that a command line selects, once the world is known.

use sentinel_env::World;
use sentinel_env::polyguard::AXES;
use sentinel_env::rng::Streams;
use sentinel_env::task::{TaskName as _, TaskSelection};
use sentinel_options::tasks::parse_selection;

use crate::Error;

pub use sentinel_options::tasks::{TasksError, TypedSelection, shell_quote};

/// The options that select tasks by row and column, in a world whose tasks are the cells of a grid.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, clap::Args, serde::Serialize, serde::Deserialize,
)]
pub struct CellArgs {
    /// Tasks of these sub-environments, separated by commas (world polyguard)
    #[arg(long, value_name = "LIST")]
    pub sub_environment: Option<String>,
    /// Tasks of these difficulties, separated by commas (world polyguard)
    #[arg(long, value_name = "LIST")]
    pub difficulty: Option<String>,
    /// Tasks with this formulary: reference or extended (world polyguard)
    #[arg(long, value_name = "NAME")]
    pub formulary: Option<String>,
    /// Tasks with this part of the formulary: all, train or holdout (world polyguard)
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
}

impl CellArgs {
    /// Returns the selection of these cells and of tasks by name.
    #[must_use]
    pub fn selection<'a>(&'a self, tasks: Option<&'a str>) -> TaskSelection<'a> {
        let [sub_environment, difficulty, formulary, split] = AXES;
        TaskSelection::new(tasks)
            .with_axis(sub_environment, self.sub_environment.as_deref())
            .with_axis(difficulty, self.difficulty.as_deref())
            .with_axis(formulary, self.formulary.as_deref())
            .with_axis(split, self.split.as_deref())
    }
}

/// Returns the tasks that a command line selects, in its order; all tasks of the world if it
/// selects none.
///
/// # Errors
/// Returns an error if the world has no such task or option, or the options select no task.
pub fn selected_tasks<W: World>(
    tasks: Option<&str>,
    cells: &CellArgs,
) -> Result<Vec<W::Task>, Error> {
    Ok(parse_selection::<W>(&cells.selection(tasks))?)
}

/// Returns the selected tasks for training: unless `cells` names a split, each becomes its variant
/// without anything that is held out.
///
/// # Errors
/// Returns the errors of [`selected_tasks`].
pub fn training_tasks<W: World>(
    tasks: Option<&str>,
    cells: &CellArgs,
) -> Result<Vec<W::Task>, Error> {
    let mut found = selected_tasks::<W>(tasks, cells)?;
    if cells.split.is_none() {
        found
            .iter_mut()
            .for_each(|task| *task = task.training_variant());
    }
    Ok(found)
}

/// Returns the stream mode to play with: the given one, else `usual` or the world's own default.
///
/// # Errors
/// Returns an error if the world lacks the given mode.
pub fn streams_or_default<W: World>(
    given: Option<Streams>,
    usual: Streams,
) -> Result<Streams, Error> {
    match given {
        None => Ok(W::streams_or_default(usual)),
        Some(mode) if W::STREAMS.contains(&mode) => Ok(mode),
        Some(mode) => {
            let (world, mode) = (W::NAME, mode.name());
            let known: Vec<&str> = W::STREAMS.iter().map(|mode| mode.name()).collect();
            let known = known.join(" or ");
            let reason = format!("world {world} has no {mode} streams: use {known}");
            Err(Error::argument("--streams", reason))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cell_selection_is_written_as_options() {
        let none = CellArgs::default();
        let some = CellArgs {
            difficulty: Some("easy,hard".to_owned()),
            split: Some("hold out".to_owned()),
            ..CellArgs::default()
        };
        let typed =
            |cells: &CellArgs, tasks| TypedSelection("task", cells.selection(tasks)).to_string();
        assert_eq!(typed(&none, None), "--task all");
        assert_eq!(typed(&none, Some("task1")), "--task task1");
        assert_eq!(
            typed(&some, None),
            "--difficulty easy,hard --split 'hold out'"
        );
        assert_eq!(
            typed(&some, Some("a")),
            "--task a --difficulty easy,hard --split 'hold out'"
        );
    }
}
