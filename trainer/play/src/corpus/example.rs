//! A parser of corpora into examples: our own rows, and the forms that TRL's trainers take.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

use sentinel_base::Error;
use sentinel_base::provenance::is_marked_name;
use sentinel_policy::foreign_format::ForeignFormat;
use sentinel_policy::python_json::find_non_finite;
use serde::Deserialize;
use serde_json::Value;

use super::{table_format, training_seeds};
use crate::error::PlayError;

/// The role of a chat message's author.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The author of standing instructions.
    System,
    /// The user, who writes the prompt.
    User,
    /// The model, which writes the completion.
    Assistant,
}

/// One message of a chat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatMessage {
    /// The role of the author.
    pub role: Role,
    /// The text of the message.
    pub content: String,
}

/// The input of a model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Prompt {
    /// A text that is used verbatim.
    Text(String),
    /// A chat, which a template turns into a text. Its last turn is not the model's.
    Chat(Vec<ChatMessage>),
}

impl Prompt {
    /// Returns the question to the model: the text, or the last turn of the chat.
    #[must_use]
    pub fn question(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Chat(turns) => turns.last().map_or("", |turn| &turn.content),
        }
    }
}

/// A prompt with the completion that is trained.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Example {
    /// The input of the model.
    pub prompt: Prompt,
    /// The completion: the part that is trained, with the earlier answers if `is_conversation`.
    pub completion: String,
    /// `true` for a row of `messages`, whose prompt may hold earlier answers of the model that are trained as
    /// well, as TRL does.
    pub is_conversation: bool,
    /// The 1-based line of the file.
    pub line: usize,
    /// `true` if the row is marked as a fallback's: by `fallback`, or by the `model_source` of a
    /// replay.
    pub fallback: bool,
}

/// The keys that an example may consist of; others are ignored.
#[derive(Deserialize)]
struct Raw {
    prompt: Option<Value>,
    completion: Option<Value>,
    messages: Option<Value>,
    text: Option<Value>,
    tools: Option<Value>,
    chat_template_kwargs: Option<Value>,
    images: Option<Value>,
    image: Option<Value>,
    world: Option<Value>,
    seed: Option<Value>,
    fallback: Option<Value>,
    model_source: Option<Value>,
}

/// Reads a corpus in JSON lines. Empty lines are skipped.
///
/// # Errors
/// Returns an error if the file cannot be read or holds no example, or for the first invalid line.
pub fn read_corpus(path: &Path) -> Result<Vec<Example>, Error> {
    let failed = |source| Error::Read {
        path: path.to_owned(),
        source,
    };
    let mut reader = BufReader::with_capacity(1 << 16, File::open(path).map_err(failed)?);
    let (mut examples, mut bytes, mut line) = (Vec::new(), Vec::new(), 0);
    while reader.read_until(b'\n', &mut bytes).map_err(failed)? > 0 {
        line += 1;
        let at_line = |reason| Error::Line {
            file: path.display().to_string(),
            line,
            reason,
        };
        if line == 1
            && let Some(format) = table_format::describe(&bytes)
        {
            return Err(at_line(format!("it is {format}")));
        }
        let text = std::str::from_utf8(&bytes).map_err(|_| {
            at_line(match ForeignFormat::utf16(&bytes) {
                Some(format) => format!("it is {format}"),
                None => "it is not UTF-8: save it as UTF-8".to_owned(),
            })
        })?;
        let text = text.trim_start_matches('\u{feff}').trim();
        if !text.is_empty() {
            examples.push(parse_example(text, line).map_err(at_line)?);
        }
        bytes.clear();
    }
    if examples.is_empty() {
        return Err(PlayError::NoExamples(path.to_owned()).into());
    }
    Ok(examples)
}

/// Parses the row of a line: `prompt` and `completion` as texts or as chats, or a chat as
/// `messages` of which the last is the model's. If a row names the world and the seed of its
/// episode, the seed must be one for training.
///
/// # Errors
/// Returns a description of the first fault.
pub fn parse_example(text: &str, line: usize) -> Result<Example, String> {
    if let Some(format) = ForeignFormat::not_json_lines(text.as_bytes()) {
        return Err(format!("it is {format}"));
    }
    if !text.starts_with('{') {
        return Err("it is not a JSON object".to_owned());
    }
    let raw: Raw = serde_json::from_str(text).map_err(|error| {
        if error.is_eof() {
            "the row does not end on this line: write one row per line (JSON lines)".to_owned()
        } else if let Some(word) = find_non_finite(text) {
            format!("it holds {word}, which JSON does not have: write null")
        } else {
            error.to_string().replace(" at line 1 column", " at column")
        }
    })?;
    check_no_columns(&raw)?;
    check_origin(raw.world.as_ref(), raw.seed.as_ref())?;
    let fallback = raw.fallback == Some(Value::Bool(true))
        || (raw.model_source.as_ref().and_then(Value::as_str)).is_some_and(is_marked_name);
    let is_conversation = raw.messages.is_some();
    let (prompt, completion) = match (raw.messages, raw.prompt, raw.completion) {
        (Some(messages), None, None) => {
            let mut turns = chat("messages", messages)?;
            let last = turns.pop().ok_or("messages holds no turn")?;
            (Prompt::Chat(turns), assistant_text("messages", &[last])?)
        }
        (None, Some(Value::String(prompt)), Some(Value::String(completion))) => {
            (Prompt::Text(prompt), completion)
        }
        (None, Some(prompt @ Value::Array(_)), Some(completion @ Value::Array(_))) => {
            let turns = chat("completion", completion)?;
            (
                Prompt::Chat(chat("prompt", prompt)?),
                assistant_text("completion", &turns)?,
            )
        }
        (Some(_), _, _) => return Err("it has messages beside a prompt or completion".to_owned()),
        (None, Some(_), None) => return Err("completion is missing".to_owned()),
        (None, None, Some(_)) => return Err("prompt is missing".to_owned()),
        (None, Some(_), Some(_)) => {
            return Err("prompt and completion must both be texts or both be chats".to_owned());
        }
        (None, None, None) if raw.text.is_some() => {
            return Err("text alone does not say where the completion begins".to_owned());
        }
        (None, None, None) => {
            return Err("it has neither prompt and completion nor messages".to_owned());
        }
    };
    check(&prompt, &completion)?;
    Ok(Example {
        prompt,
        completion,
        is_conversation,
        line,
        fallback,
    })
}

/// Refuses columns from which TRL makes another prompt, which are not read here.
fn check_no_columns(raw: &Raw) -> Result<(), String> {
    let columns = [
        ("tools", &raw.tools),
        ("chat_template_kwargs", &raw.chat_template_kwargs),
        ("images", &raw.images),
        ("image", &raw.image),
    ];
    let is_set = |value: &Option<Value>| match value {
        None | Some(Value::Null) => false,
        Some(Value::Array(items)) => !items.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(Value::String(text)) => !text.is_empty(),
        Some(_) => true,
    };
    match columns.iter().find(|(_, value)| is_set(value)) {
        None => Ok(()),
        Some((name, _)) => Err(format!(
            "{name} would change the prompt and is not read: leave it out, or write the prompt as a text"
        )),
    }
}

/// Refuses seeds that are not for training: a model cannot be measured on seeds that it was trained
/// on.
fn check_origin(world: Option<&Value>, seed: Option<&Value>) -> Result<(), String> {
    let (Some(world), Some(seed)) = (world, seed) else {
        return Ok(());
    };
    let allowed = training_seeds();
    if (seed.as_u64()).is_some_and(|seed| allowed.range().contains(&seed)) {
        return Ok(());
    }
    Err(format!(
        "its episode of world {world} has seed {seed}, which is not among {allowed}: other seeds are kept for \
         validation and tests"
    ))
}

fn check(prompt: &Prompt, completion: &str) -> Result<(), String> {
    if completion.trim().is_empty() {
        return Err("the completion is empty".to_owned());
    }
    if let Prompt::Chat(turns) = prompt {
        match turns.last().map(|turn| turn.role) {
            None => return Err("the prompt holds no turn".to_owned()),
            Some(Role::User) => {}
            Some(_) => return Err("the last turn of the prompt must be the user's".to_owned()),
        }
        if turns.iter().skip(1).any(|turn| turn.role == Role::System) {
            return Err("only the first turn can be the system's".to_owned());
        }
    }
    if prompt.question().trim().is_empty() {
        return Err("the prompt is empty".to_owned());
    }
    Ok(())
}

fn chat(name: &str, value: Value) -> Result<Vec<ChatMessage>, String> {
    let Value::Array(turns) = value else {
        return Err(format!("{name} must be a list of turns"));
    };
    let turns = (1..).zip(turns).map(|(at, turn)| {
        chat_message(turn).map_err(|fault| format!("turn {at} of {name}: {fault}"))
    });
    turns.collect()
}

/// Reads a turn. Keys that hold nothing count as absent: libraries of columns write every key of any message
/// into each one.
fn chat_message(turn: Value) -> Result<ChatMessage, String> {
    let Value::Object(mut fields) = turn else {
        return Err("it is not an object with role and content".to_owned());
    };
    let as_texts = "write the row's prompt and completion as texts";
    let content = match fields.remove("content") {
        Some(Value::String(content)) => content,
        None => return Err("content is missing: write a text".to_owned()),
        Some(Value::Null) => {
            return Err(format!(
                "content is null, which templates print as None or refuse: write a text, or {as_texts}"
            ));
        }
        Some(_) => return Err("content is not a text: join its parts to one text".to_owned()),
    };
    let role = match fields.remove("role") {
        Some(Value::String(role)) => role,
        _ => return Err("role is missing: write system, user or assistant".to_owned()),
    };
    let role = match role.as_str() {
        "system" => Role::System,
        "user" => Role::User,
        "assistant" => Role::Assistant,
        other => {
            return Err(format!(
                "role {other:?} is not read, only system, user and assistant are: {as_texts}"
            ));
        }
    };
    let is_empty = |value: &Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    match fields.iter().find(|(_, value)| !is_empty(value)) {
        None => Ok(ChatMessage { role, content }),
        Some((key, _)) => Err(format!(
            "{key} can change what a template writes and is not read: leave it out, or {as_texts}"
        )),
    }
}

/// Returns the text of a completion, which must be one turn of the model.
fn assistant_text(name: &str, turns: &[ChatMessage]) -> Result<String, String> {
    match turns {
        [turn] if turn.role == Role::Assistant => Ok(turn.content.clone()),
        [_] => Err(format!("the last turn of {name} must be the assistant's")),
        _ => Err(format!("{name} must be one turn, not {}", turns.len())),
    }
}
