//! Examples that stand before every prompt (few-shot).

use std::path::Path;

use sentinel_base::provenance::Provenance;
use sentinel_lm::Message;
use sentinel_play::corpus::read_corpus;
use serde_json::{Value, json};

use crate::training::RunError;

/// Largest number of examples before a prompt.
const MAX: usize = 64;

/// Questions with their answers, which stand before every prompt as earlier messages of the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Examples(Vec<(String, String)>);

impl Examples {
    /// Reads the rows of a corpus, of whose prompts the last turn counts, and adds its digest to `provenance`;
    /// none without a file.
    ///
    /// # Errors
    /// If the file cannot be read, or has too many rows.
    pub(crate) fn load(file: Option<&Path>, provenance: &mut Provenance) -> Result<Self, RunError> {
        let Some(file) = file else {
            return Ok(Self::default());
        };
        provenance.add_file("examples", file)?;
        let rows = read_corpus(file)?;
        if rows.len() > MAX {
            return Err(RunError::option("examples", "a file of at most 64 rows"));
        }
        let pair = |row: sentinel_play::corpus::Example| {
            (row.prompt.question().to_owned(), row.completion)
        };
        Ok(Self(rows.into_iter().map(pair).collect()))
    }

    /// Returns the number of examples.
    pub(crate) const fn count(&self) -> usize {
        self.0.len()
    }

    /// Returns the suffix of the name of a policy that sees the examples; empty for none.
    pub(crate) fn suffix(&self) -> String {
        match self.count() {
            0 => String::new(),
            count => format!("+{count}-shot"),
        }
    }

    /// Returns role and text of each message of a conversation that ends with `prompt`.
    fn turns<'a>(&'a self, prompt: &'a str) -> impl Iterator<Item = (&'static str, &'a str)> {
        let pair = |(question, answer): &'a (String, String)| {
            [("user", question.as_str()), ("assistant", answer.as_str())]
        };
        let earlier = self.0.iter().flat_map(pair);
        earlier.chain(std::iter::once(("user", prompt)))
    }

    /// Returns the conversation that ends with `prompt`, for a chat template.
    pub(crate) fn messages(&self, prompt: &str) -> Vec<Message> {
        let message = |(role, text)| Message::new(role, text);
        self.turns(prompt).map(message).collect()
    }

    /// Returns the conversation that ends with `prompt`, for a request.
    pub(crate) fn json(&self, prompt: &str) -> Value {
        let message = |(role, content)| json!({"role": role, "content": content});
        self.turns(prompt).map(message).collect()
    }
}
