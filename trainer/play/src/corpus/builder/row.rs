//! A row of a corpus with its provenance, as the sources make it and as the file holds it.

use sentinel_base::files;
use sentinel_env::named_enum;
use sentinel_env::rng::Streams;
use sentinel_policy::text::PromptStyle;
use serde::Serialize;
use sha2::{Digest, Sha256};

named_enum! {
    /// A source of rows. The order is that of the rows in the file, and of precedence among
    /// duplicates.
    pub enum SourceName {
        /// The tables of a world.
        Local = "local",
        /// Episodes that scripted policies play.
        Synthetic = "synthetic",
        /// A dataset of the Hugging Face Hub.
        Hf = "hf",
        /// An API of drug interactions.
        DdiApi = "ddi_api",
        /// A document that stands in for the API.
        WebFallback = "web_fallback",
    }
}

/// A message of a chat.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Message {
    /// The role of the author: `system`, `user` or `assistant`.
    pub role: &'static str,
    /// The text of the message.
    pub content: String,
}

impl Message {
    /// Returns a message of the user.
    #[must_use]
    pub fn user(content: impl Into<String>) -> Self {
        Self {
            role: "user",
            content: content.into(),
        }
    }
}

/// The place that a row comes from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RowOrigin {
    /// A line of a table of this repository.
    Table {
        /// The path of the table.
        table: &'static str,
        /// The number of the line, from 1 on.
        line: usize,
        /// The sources that the line cites.
        cites: &'static str,
    },
    /// A step of an episode.
    Step(StepOrigin),
    /// An answer of a server.
    Url {
        /// The address that gives the row.
        url: String,
        /// The row of the dataset, from 0 on; `None` if the server has no stable order.
        #[serde(skip_serializing_if = "Option::is_none")]
        row: Option<u64>,
    },
}

/// The step of an episode that a row shows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepOrigin {
    /// The name of the world.
    pub world: &'static str,
    /// The name of the task.
    pub task: &'static str,
    /// The seed of the episode.
    pub seed: u64,
    /// The step count of the observation.
    pub step: u32,
    /// The policy that plays.
    pub policy: &'static str,
    /// The rules in force.
    pub rules: String,
    /// The mode of the random streams.
    pub streams: Streams,
    /// The style of the prompt.
    pub style: PromptStyle,
}

/// A row before it is checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CorpusRow {
    /// The messages before the completion.
    pub prompt: Vec<Message>,
    /// The completion, which is trained; empty in a prompt for GRPO.
    pub completion: String,
    /// The place that the row comes from.
    pub origin: RowOrigin,
    /// The license, as an SPDX identifier or an address.
    pub license: String,
    /// The position among the rows of its source. Rows of the same position are ordered by their
    /// texts.
    pub position: u64,
}

impl CorpusRow {
    /// Returns the text of the prompt and the completion.
    #[must_use]
    pub fn text(&self) -> String {
        let turns = self.prompt.iter().map(|message| message.content.as_str());
        let parts: Vec<&str> = turns.chain([self.completion.as_str()]).collect();
        parts.join("\n")
    }

    /// Returns the SHA-256 of prompt and completion, as hexadecimal digits.
    #[must_use]
    pub fn digest(&self) -> String {
        self.hash(str::to_owned)
    }

    /// Returns a digest that is the same for rows that differ only in case, white space and the
    /// punctuation at the end of a message.
    #[must_use]
    pub fn normalized_digest(&self) -> String {
        self.hash(normalized)
    }

    fn hash(&self, form: impl Fn(&str) -> String) -> String {
        let mut hash = Sha256::new();
        let mut part = |text: &str| {
            hash.update((text.len() as u64).to_le_bytes());
            hash.update(text);
        };
        for message in &self.prompt {
            part(message.role);
            part(&form(&message.content));
        }
        part(&form(&self.completion));
        files::hex(&hash.finalize())
    }
}

/// Returns the SHA-256 of bytes, as hexadecimal digits.
#[must_use]
pub(super) fn sha256(bytes: &[u8]) -> String {
    files::hex(&Sha256::digest(bytes))
}

fn normalized(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split_whitespace().collect();
    let joined = words.join(" ");
    joined
        .trim_end_matches(['.', '!', '?', ';', ':', ','])
        .trim_end()
        .to_owned()
}

/// A row as `sft.jsonl` and `grpo_prompts.jsonl` hold it.
#[derive(Debug, Serialize)]
pub(super) struct WrittenRow<'a> {
    prompt: &'a [Message],
    #[serde(skip_serializing_if = "Option::is_none")]
    completion: Option<[Message; 1]>,
    source: &'static str,
    #[serde(flatten)]
    origin: &'a RowOrigin,
    license: &'a str,
    digest: String,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    fallback: bool,
}

impl<'a> WrittenRow<'a> {
    /// Returns the form of a row of `source`.
    #[must_use]
    pub(super) fn new(source: SourceName, row: &'a CorpusRow) -> Self {
        let completion = (!row.completion.is_empty()).then(|| {
            [Message {
                role: "assistant",
                content: row.completion.clone(),
            }]
        });
        Self {
            prompt: &row.prompt,
            completion,
            source: source.name(),
            origin: &row.origin,
            license: &row.license,
            digest: format!("sha256:{}", row.digest()),
            fallback: source == SourceName::WebFallback,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(prompt: &str, completion: &str) -> CorpusRow {
        CorpusRow {
            prompt: vec![Message::user(prompt)],
            completion: completion.to_owned(),
            origin: RowOrigin::Url {
                url: String::new(),
                row: None,
            },
            license: "MIT".to_owned(),
            position: 0,
        }
    }

    #[test]
    fn normalized_digest_ignores_case_space_and_punctuation() {
        let (a, b) = (row("Is it?", "Yes."), row(" is\n IT", "yes"));
        assert_ne!(a.digest(), b.digest());
        assert_eq!(a.normalized_digest(), b.normalized_digest());
        for other in [
            row("Is it?", "No."),
            row("Is it? Yes.", ""),
            row("is -1", "yes"),
        ] {
            assert_ne!(a.normalized_digest(), other.normalized_digest());
        }
        assert_ne!(
            row("is -1", "y").normalized_digest(),
            row("is 1", "y").normalized_digest()
        );
    }
}
