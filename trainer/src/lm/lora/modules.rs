//! Names of modules, as PEFT's `adapter_config.json` has them.

use fancy_regex::Regex;

/// Names of modules, as `target_modules` and `exclude_modules` have them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModuleNames {
    /// Full names, such as `model.layers.0.self_attn.q_proj`, or their ends after a dot, such as `q_proj`.
    List(Vec<String>),
    /// A regular expression that full names match as a whole.
    Pattern(String),
}

impl ModuleNames {
    /// Returns a list of names, sorted and each once.
    pub fn list(names: impl IntoIterator<Item = impl Into<String>>) -> Self {
        let mut names: Vec<String> = names.into_iter().map(Into::into).collect();
        names.sort_unstable();
        names.dedup();
        Self::List(names)
    }

    /// Returns `true` if no module has such a name.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        match self {
            Self::List(names) => names.is_empty(),
            Self::Pattern(pattern) => pattern.is_empty(),
        }
    }

    pub(super) fn contains(&self, module: &str) -> Result<bool, String> {
        match self {
            Self::List(names) => Ok(names.iter().any(|name| is_end_of(name, module))),
            Self::Pattern(pattern) => matches(pattern, module),
        }
    }
}

/// Returns `true` if `name` is a module's full name, or its end after a dot.
fn is_end_of(name: &str, module: &str) -> bool {
    let rest = module.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns whether a regular expression matches all of `text`.
pub(super) fn matches(pattern: &str, text: &str) -> Result<bool, String> {
    let wrong = |error: fancy_regex::Error| format!("{pattern:?} cannot be used: {error}");
    let regex = Regex::new(&format!("^(?:{pattern})$")).map_err(wrong)?;
    regex.is_match(text).map_err(wrong)
}
