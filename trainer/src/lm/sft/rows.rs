//! From examples to token rows that know where their completion begins.

use serde::{Deserialize, Serialize};

use crate::corpus::{Example, Prompt, Role, Turn};
use crate::lm::{LmError, Message, Tokenizer};

/// What becomes of a row that is longer than the limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "snake_case")]
#[value(rename_all = "snake_case")]
pub enum TooLong {
    /// Training does not begin.
    #[default]
    Refuse,
    /// It is left out, counted and reported.
    Drop,
    /// Its end is cut off, as TRL does; left out where no part of the completion is left.
    Cut,
}

/// How rows are made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowOptions {
    /// Most tokens of a row.
    pub max_length: usize,
    /// What becomes of longer ones.
    pub too_long: TooLong,
    /// Whether only the completion is trained, not the prompt.
    pub completion_only: bool,
}

/// A row of tokens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SftRow {
    /// Prompt and completion.
    pub ids: Vec<u32>,
    /// Tokens before the first one that is trained.
    pub start: usize,
}

impl SftRow {
    /// Tokens that are trained. The first token of a row has nothing before it to be predicted by.
    #[must_use]
    pub fn labels(&self) -> usize {
        self.ids.len().saturating_sub(self.start.max(1))
    }
}

/// All rows, and what could not be one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Prepared {
    /// Rows in the order of the examples.
    pub rows: Vec<SftRow>,
    /// Lines of the corpus that were left out as too long.
    pub dropped: Vec<usize>,
    /// Lines whose end was cut off.
    pub cut: Vec<usize>,
    /// Lines that were left out because no token of theirs would be trained, as where a template
    /// shows nothing of the answer.
    pub unlabelled: Vec<usize>,
    /// Tokens of the longest row that was kept.
    pub longest: usize,
}

/// Makes rows of examples. A chat goes through the template: its prompt is what the chat without
/// the answer, with the answer begun, and the whole chat have in common at their start.
///
/// # Errors
/// If there is no template for a chat, or a row is too long and that is refused.
pub fn prepare(
    tokenizer: &Tokenizer,
    examples: &[Example],
    options: RowOptions,
) -> Result<Prepared, LmError> {
    let mut prepared = Prepared::default();
    let (mut over, mut longest) = (0, (0, 0));
    for example in examples {
        let mut row = encode(tokenizer, example)?;
        if !options.completion_only {
            row.start = 0;
        }
        if row.labels() == 0 {
            prepared.unlabelled.push(example.line);
            continue;
        }
        let length = row.ids.len();
        if length > options.max_length {
            over += 1;
            if length > longest.0 {
                longest = (length, example.line);
            }
            row.ids.truncate(options.max_length);
            if options.too_long != TooLong::Cut || row.labels() == 0 {
                prepared.dropped.push(example.line);
                continue;
            }
            prepared.cut.push(example.line);
        }
        prepared.longest = prepared.longest.max(row.ids.len());
        prepared.rows.push(row);
    }
    if over > 0 && options.too_long == TooLong::Refuse {
        return Err(LmError::RowsTooLong {
            count: over,
            rows: examples.len(),
            longest: longest.0,
            line: longest.1,
            limit: options.max_length,
        });
    }
    Ok(prepared)
}

fn encode(tokenizer: &Tokenizer, example: &Example) -> Result<SftRow, LmError> {
    match &example.prompt {
        Prompt::Chat(turns) => {
            let mut messages: Vec<Message> = turns.iter().map(message).collect();
            let asked = tokenizer.encode_chat(&messages, None, true)?.ids;
            messages.push(Message::new("assistant", &example.completion));
            let ids = tokenizer.encode_chat(&messages, None, false)?.ids;
            let common = asked.iter().zip(&ids).take_while(|(a, b)| a == b);
            let start = common.count();
            Ok(SftRow { ids, start })
        }
        Prompt::Text(text) => {
            let asked = tokenizer.encode(text)?;
            // A text does not say where it ends, as a template does.
            let end = tokenizer.special_tokens().get("eos_token");
            let end = end.filter(|end| !example.completion.ends_with(*end));
            let end = end.map_or("", String::as_str);
            let ids = tokenizer.encode(&format!("{text}{}{end}", example.completion))?;
            let common = asked.iter().zip(&ids).take_while(|(a, b)| a == b);
            let start = common.count();
            Ok(SftRow { ids, start })
        }
    }
}

/// A turn as templates know it.
fn message(turn: &Turn) -> Message {
    let role = match turn.role {
        Role::System => "system",
        Role::User => "user",
        Role::Assistant => "assistant",
    };
    Message::new(role, &turn.content)
}
