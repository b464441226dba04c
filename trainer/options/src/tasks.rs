//! The tasks that options select, once the world is known.

use std::fmt;

use sentinel_env::World;
use sentinel_env::task::{TaskName as _, TaskSelection};

/// The error for tasks, or an option that selects them, that the selected world does not know.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason} (world {world})")]
pub struct TasksError {
    /// The fault and the allowed values.
    pub reason: String,
    /// The name of the selected world.
    pub world: &'static str,
}

/// A selection of tasks that is displayed as the options that give it, such as `--task all`.
pub struct TypedSelection<'a>(pub &'static str, pub TaskSelection<'a>);

impl fmt::Display for TypedSelection<'_> {
    /// Writes the tasks under the option name of the command, then the axes; with neither, all
    /// tasks.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(option, selection) = self;
        let of_cells = || selection.axes().map(|(axis, text)| (axis.option, text));
        let usual = of_cells().next().is_none().then_some("all");
        let tasks = selection.tasks.or(usual).map(|tasks| (*option, tasks));
        for (place, (option, text)) in tasks.into_iter().chain(of_cells()).enumerate() {
            let space = if place == 0 { "" } else { " " };
            write!(f, "{space}--{option} {}", shell_quote(text))?;
        }
        Ok(())
    }
}

/// Returns the tasks that a selection names.
///
/// # Errors
/// Returns an error if the world does not know them, or there is none.
pub fn parse_selection<W: World>(
    selection: &TaskSelection<'_>,
) -> Result<Vec<W::Task>, TasksError> {
    let refused = |reason| TasksError {
        reason,
        world: W::NAME,
    };
    let found = W::Task::select(selection).map_err(refused)?;
    if found.is_empty() {
        return Err(refused("the options choose no task".to_owned()));
    }
    Ok(found)
}

/// Returns `word` as a shell reads it back: quoted if it needs quotes, as an empty word does.
pub fn shell_quote(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=@:,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_for_shell() {
        assert_eq!(shell_quote("Qwen/Qwen2.5-0.5B"), "Qwen/Qwen2.5-0.5B");
        assert_eq!(shell_quote("a b"), "'a b'");
        assert_eq!(shell_quote("$(rm -rf x); 'y'"), r"'$(rm -rf x); '\''y'\'''");
        assert_eq!(shell_quote(""), "''");
    }
}
