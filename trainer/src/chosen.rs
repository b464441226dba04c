//! Tasks and stream modes that a command line chooses, once the world is known.

use std::fmt;

use sentinel_env::World;
use sentinel_env::polyguard::AXES;
use sentinel_env::rng::Streams;
use sentinel_env::task::{Selection, TaskName as _};

use crate::Error;

/// Options that choose tasks by row and column, for a world whose tasks are the cells of a grid.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, clap::Args, serde::Serialize, serde::Deserialize,
)]
pub struct Cells {
    /// Tasks of these sub-environments, with commas between (world polyguard)
    #[arg(long, value_name = "LIST")]
    pub sub_environment: Option<String>,
    /// Tasks of these difficulties, with commas between (world polyguard)
    #[arg(long, value_name = "LIST")]
    pub difficulty: Option<String>,
    /// Tasks with this formulary: reference or extended (world polyguard)
    #[arg(long, value_name = "NAME")]
    pub formulary: Option<String>,
    /// Tasks with this part of the formulary: all, train or holdout (world polyguard)
    #[arg(long, value_name = "NAME")]
    pub split: Option<String>,
}

impl Cells {
    /// These with tasks by name.
    #[must_use]
    pub fn selection<'a>(&'a self, tasks: Option<&'a str>) -> Selection<'a> {
        let [sub_environment, difficulty, formulary, split] = AXES;
        Selection::new(tasks)
            .with_axis(sub_environment, self.sub_environment.as_deref())
            .with_axis(difficulty, self.difficulty.as_deref())
            .with_axis(formulary, self.formulary.as_deref())
            .with_axis(split, self.split.as_deref())
    }
}

/// The options as they are typed; nothing where none was given.
pub(crate) struct Typed<'a>(pub(crate) &'static str, pub(crate) Selection<'a>);

impl fmt::Display for Typed<'_> {
    /// Tasks under the name that the command has for them. Without any option: all tasks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(option, selection) = self;
        let of_cells = || selection.axes().map(|(axis, text)| (axis.option, text));
        let usual = of_cells().next().is_none().then_some("all");
        let tasks = selection.tasks.or(usual).map(|tasks| (*option, tasks));
        for (place, (option, text)) in tasks.into_iter().chain(of_cells()).enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}--{option} {}", quoted(text))?;
        }
        Ok(())
    }
}

/// The tasks that a command line chooses, in its order; all of the world where it chooses none.
///
/// # Errors
/// If the world has no such task or option.
pub fn selected<W: World>(tasks: Option<&str>, cells: &Cells) -> Result<Vec<W::Task>, Error> {
    of_selection::<W>(&cells.selection(tasks))
}

/// The same for training: where nobody says which part of a world's tasks, nothing that is held out
/// is shown.
///
/// # Errors
/// As [`selected`].
pub(crate) fn to_learn_from<W: World>(
    tasks: Option<&str>,
    cells: &Cells,
) -> Result<Vec<W::Task>, Error> {
    let mut found = selected::<W>(tasks, cells)?;
    if cells.split.is_none() {
        found
            .iter_mut()
            .for_each(|task| *task = task.to_learn_from());
    }
    Ok(found)
}

pub(crate) fn of_selection<W: World>(selection: &Selection<'_>) -> Result<Vec<W::Task>, Error> {
    let refused = |reason| Error::Tasks {
        reason,
        world: W::NAME,
    };
    let found = W::Task::select(selection).map_err(refused)?;
    if found.is_empty() {
        return Err(refused("the options choose no task".to_owned()));
    }
    Ok(found)
}

/// The stream mode to play with: what was given, else `usual` or the world's own default.
///
/// # Errors
/// If the world lacks the mode that was given.
pub fn streams<W: World>(given: Option<Streams>, usual: Streams) -> Result<Streams, Error> {
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

/// A word as a shell takes it.
pub(crate) fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,".contains(c);
    if word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_written_as_they_are_typed() {
        let none = Cells::default();
        let some = Cells {
            difficulty: Some("easy,hard".to_owned()),
            split: Some("hold out".to_owned()),
            ..Cells::default()
        };
        let typed = |cells: &Cells, tasks| Typed("task", cells.selection(tasks)).to_string();
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
