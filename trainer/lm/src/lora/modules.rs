//! The modules that an adapter changes, by the names and regular expressions of PEFT's `adapter_config.json`.

use fancy_regex::{Captures, Regex};
use serde_json::Value;

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
}

/// A key of an adapter's configuration whose value cannot be used.
#[derive(Clone, Debug)]
pub(super) struct WrongKey {
    pub(super) key: &'static str,
    /// Text that follows the value of the key in a message; can be empty.
    pub(super) problem: String,
    pub(super) allowed: &'static str,
}

/// The rules by which PEFT chooses modules, ranks and alphas, with compiled expressions.
pub(super) struct ModuleRules<'a> {
    pub(super) targets: CompiledNames<'a>,
    pub(super) excluded: CompiledNames<'a>,
    pub(super) saved: Vec<Pattern>,
    pub(super) layers: &'a [usize],
    pub(super) layers_pattern: Vec<Pattern>,
    pub(super) ranks: Vec<(Pattern, usize)>,
    pub(super) alphas: Vec<(Pattern, f64)>,
}

impl ModuleRules<'_> {
    /// Returns whether an adapter has matrices for a module.
    pub(super) fn adapts(&self, module: &str) -> Result<bool, WrongKey> {
        if self.excluded.contains(module)? {
            return Ok(false);
        }
        for saved in &self.saved {
            if saved.matches(module)? {
                return Ok(false);
            }
        }
        let is_target = self.targets.contains(module)?;
        // Layers are selected among modules that the end of a name lists.
        let CompiledNames::List(names) = &self.targets else {
            return Ok(is_target);
        };
        if !is_target || self.layers.is_empty() || names.iter().any(|name| name == module) {
            return Ok(is_target);
        }
        for pattern in &self.layers_pattern {
            if let Some(found) = pattern.captures(module)? {
                let layer = found.name("layer").and_then(|n| n.as_str().parse().ok());
                return Ok(layer.is_some_and(|layer| self.layers.contains(&layer)));
            }
        }
        Ok(false)
    }

    /// Returns whether `ensure_weight_tying` gives a tied head the matrices of the embedding.
    pub(super) fn ties_head(&self) -> Result<bool, WrongKey> {
        let tables = ["embed_tokens", "lm_head"];
        match &self.targets {
            CompiledNames::List(names) => Ok(names.iter().any(|name| {
                let last = name.rsplit('.').next();
                last.is_some_and(|last| tables.contains(&last))
            })),
            CompiledNames::Pattern(pattern) => {
                Ok(pattern.matches(tables[0])? || pattern.matches(tables[1])?)
            }
        }
    }

    /// Returns the rank that a pattern gives a module.
    pub(super) fn rank(&self, module: &str) -> Result<Option<usize>, WrongKey> {
        first_match(&self.ranks, module)
    }

    /// Returns the alpha that a pattern gives a module.
    pub(super) fn alpha(&self, module: &str) -> Result<Option<f64>, WrongKey> {
        first_match(&self.alphas, module)
    }
}

/// Names of modules, with a compiled expression.
pub(super) enum CompiledNames<'a> {
    List(&'a [String]),
    Pattern(Pattern),
}

impl<'a> CompiledNames<'a> {
    pub(super) fn new(key: &'static str, names: &'a ModuleNames) -> Result<Self, WrongKey> {
        match names {
            ModuleNames::List(names) => Ok(Self::List(names)),
            ModuleNames::Pattern(pattern) => {
                Pattern::new(key, pattern, "(?:", ")$").map(Self::Pattern)
            }
        }
    }

    fn contains(&self, module: &str) -> Result<bool, WrongKey> {
        match self {
            Self::List(names) => Ok(names.iter().any(|name| is_end_of(name, module))),
            Self::Pattern(pattern) => pattern.matches(module),
        }
    }
}

/// Returns `true` if `name` is a module's full name, or its end after a dot.
fn is_end_of(name: &str, module: &str) -> bool {
    let rest = module.strip_suffix(name);
    rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// A regular expression in the value of a key.
pub(super) struct Pattern {
    key: &'static str,
    source: String,
    regex: Regex,
}

impl Pattern {
    /// Compiles a pattern between two others, for names from their beginning on.
    fn new(key: &'static str, source: &str, before: &str, after: &str) -> Result<Self, WrongKey> {
        // Python's name of the end.
        let source = source.replace(r"\Z", r"\z");
        let whole = Regex::new(&format!("^(?:{before}{source}{after})"));
        let regex = whole.map_err(|error| {
            // Without the others, it has the place of the error.
            wrong_pattern(key, &source, &Regex::new(&source).err().unwrap_or(error))
        })?;
        Ok(Self { key, source, regex })
    }

    fn matches(&self, module: &str) -> Result<bool, WrongKey> {
        let found = self.regex.is_match(module);
        found.map_err(|error| wrong_pattern(self.key, &self.source, &error))
    }

    fn captures<'t>(&self, module: &'t str) -> Result<Option<Captures<'t>>, WrongKey> {
        let found = self.regex.captures(module);
        found.map_err(|error| wrong_pattern(self.key, &self.source, &error))
    }
}

fn wrong_pattern(key: &'static str, source: &str, error: &fancy_regex::Error) -> WrongKey {
    WrongKey {
        key,
        problem: format!(", in which {} cannot be used: {error}", Value::from(source)),
        allowed: "a regular expression",
    }
}

/// Compiles the names of `modules_to_save`, which match any part of a name between dots.
pub(super) fn saved_modules(names: &[String]) -> Result<Vec<Pattern>, WrongKey> {
    let saved = names.iter();
    saved
        .map(|name| Pattern::new("modules_to_save", name, r"(^|.*\.)", r"($|\..*)"))
        .collect()
}

/// Compiles the expressions of `layers_pattern`, each before the number of a layer; any name if there
/// are none.
pub(super) fn layer_patterns(patterns: &[String]) -> Result<Vec<Pattern>, WrongKey> {
    let layers = |pattern: &str| {
        let number = r"\.(?P<layer>\d+)\.";
        Pattern::new("layers_pattern", pattern, r"(?:^|.*?\.)", number)
    };
    if patterns.is_empty() {
        return Ok(vec![layers("[^.]*")?]);
    }
    patterns.iter().map(|pattern| layers(pattern)).collect()
}

/// Compiles the expressions of a key that gives values to modules.
pub(super) fn by_pattern<T: Copy>(
    key: &'static str,
    patterns: &[(String, T)],
) -> Result<Vec<(Pattern, T)>, WrongKey> {
    let compiled = patterns.iter();
    let compiled =
        compiled.map(|(p, value)| Ok((Pattern::new(key, p, r"(.*\.)?(", ")$")?, *value)));
    compiled.collect()
}

/// Returns the value of the first pattern that a module's name, or its end after a dot, matches.
fn first_match<T: Copy>(patterns: &[(Pattern, T)], module: &str) -> Result<Option<T>, WrongKey> {
    for (pattern, value) in patterns {
        if pattern.matches(module)? {
            return Ok(Some(*value));
        }
    }
    Ok(None)
}
