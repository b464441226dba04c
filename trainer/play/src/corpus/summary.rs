//! A summary of a corpus, displayed as one line.

use std::collections::BTreeMap;
use std::fmt;

use serde::Serialize;

/// The contents of a corpus in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CorpusSummary {
    /// The policy whose actions are the labels.
    pub policy: &'static str,
    /// The number of episodes.
    pub episodes: u64,
    /// The number of rows: steps of all episodes.
    pub rows: u64,
    /// The number of steps that took a random action in place of the label.
    pub explored: u64,
    /// The number of rows with replacement names.
    pub renamed: u64,
    /// The number of characters of all prompts.
    pub prompt_characters: u64,
    /// The number of characters of the longest prompt.
    pub longest_prompt: u64,
    /// The number of characters of all completions.
    pub completion_characters: u64,
    /// The number of rows labeled with each action.
    pub actions: BTreeMap<String, u64>,
}

impl CorpusSummary {
    pub(super) fn add(&mut self, prompt: &str, completion: &str, action: &str) {
        let length = prompt.chars().count() as u64;
        self.rows += 1;
        self.prompt_characters += length;
        self.longest_prompt = self.longest_prompt.max(length);
        self.completion_characters += completion.chars().count() as u64;
        *self.actions.entry(action.to_owned()).or_default() += 1;
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.episodes += other.episodes;
        self.rows += other.rows;
        self.explored += other.explored;
        self.renamed += other.renamed;
        self.prompt_characters += other.prompt_characters;
        self.longest_prompt = self.longest_prompt.max(other.longest_prompt);
        self.completion_characters += other.completion_characters;
        for (action, count) in other.actions {
            *self.actions.entry(action).or_default() += count;
        }
    }

    /// Returns the share in `[0, 1]` of each kind of action among the labels; the kind is the first
    /// word.
    #[must_use]
    pub fn shares(&self) -> BTreeMap<&str, f64> {
        let mut shares = BTreeMap::new();
        for (action, count) in &self.actions {
            let kind = action.split(' ').next().unwrap_or_default();
            *shares.entry(kind).or_default() += *count as f64 / self.rows as f64;
        }
        shares
    }
}

impl fmt::Display for CorpusSummary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows.max(1) as f64;
        let mean = self.prompt_characters as f64 / rows;
        let said = self.completion_characters as f64 / rows;
        let renamed = match self.renamed {
            0 => String::new(),
            rows => format!(", {rows} rows with replacement names"),
        };
        write!(
            f,
            "{} rows of {} episodes by the policy {}, {} random steps{renamed}; \
             prompts of {mean:.0} characters, at most {}; completions of {said:.0}; {} distinct actions:",
            self.rows,
            self.episodes,
            self.policy,
            self.explored,
            self.longest_prompt,
            self.actions.len()
        )?;
        for (kind, share) in self.shares() {
            write!(f, " {kind} {share:.3}")?;
        }
        Ok(())
    }
}
