//! Chat templates rendered in the same environment as in transformers.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};

use minijinja::value::Value;
use minijinja::{Environment, Error, ErrorKind, context};
use serde::{Deserialize, Serialize};

use super::{ChatTemplateKwargs, generation_tags, python, strftime, tojson};
use crate::LmError;

/// A message or a tool description: a JSON value whose keys keep their order.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Message(Value);

impl Message {
    /// Creates a message of plain text.
    #[must_use]
    pub fn new(role: &str, content: &str) -> Self {
        Self(context! { role, content })
    }
}

/// A rendered conversation with the ranges that the assistant wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rendered {
    /// Text of the conversation.
    pub text: String,
    /// Byte ranges enclosed by the template's `{% generation %}` tags; empty if the template has
    /// none.
    pub written: Vec<Range<usize>>,
}

/// A parsed chat template.
#[derive(Clone, Debug)]
pub struct ChatTemplate {
    path: PathBuf,
    source: String,
    /// Template for conversations with tools, if the file has a separate one.
    with_tools: Option<String>,
    /// Special tokens by role, such as `bos_token`.
    special: BTreeMap<String, String>,
    /// Variables that the user passes to the template.
    kwargs: ChatTemplateKwargs,
}

impl ChatTemplate {
    /// Parses a template. `path` names its source in errors; `special` holds tokens that it may
    /// refer to, such as `eos_token`.
    ///
    /// # Errors
    /// If it does not parse.
    pub fn new(
        path: &Path,
        source: &str,
        special: BTreeMap<String, String>,
    ) -> Result<Self, LmError> {
        let template = Self {
            path: path.to_owned(),
            source: prepared(source),
            with_tools: None,
            special,
            kwargs: ChatTemplateKwargs::default(),
        };
        template.check(&template.source)?;
        Ok(template)
    }

    /// Adds a separate template for conversations with tools.
    ///
    /// # Errors
    /// If it does not parse.
    pub(crate) fn for_tools(mut self, source: &str) -> Result<Self, LmError> {
        let source = prepared(source);
        self.check(&source)?;
        self.with_tools = Some(source);
        Ok(self)
    }

    /// Sets the variables that the user passes to the template, instead of those set before.
    #[must_use]
    pub fn with_kwargs(mut self, kwargs: ChatTemplateKwargs) -> Self {
        self.kwargs = kwargs;
        self
    }

    /// Sets the special tokens that it may refer to.
    #[must_use]
    pub(crate) fn with_special(mut self, special: BTreeMap<String, String>) -> Self {
        self.special = special;
        self
    }

    fn check(&self, source: &str) -> Result<(), LmError> {
        let environment = environment();
        let parsed = environment.template_from_str(source);
        parsed.map(|_| ()).map_err(|error| self.failed(&error))
    }

    /// Renders a conversation. `add_generation_prompt` appends the beginning of the assistant's
    /// turn.
    ///
    /// # Errors
    /// If the template rejects the messages.
    pub fn render(
        &self,
        messages: &[Message],
        tools: Option<&[Message]>,
        add_generation_prompt: bool,
    ) -> Result<Rendered, LmError> {
        let source = self.with_tools.as_ref().filter(|_| tools.is_some());
        let environment = environment();
        let template = environment.template_from_str(source.unwrap_or(&self.source));
        let values = |list: &[Message]| list.iter().map(|m| m.0.clone()).collect::<Vec<_>>();
        let given = context! {
            messages => values(messages),
            tools => tools.map(values),
            documents => (),
            add_generation_prompt,
        };
        let special = Value::from_serialize(&self.special);
        let kwargs = Value::from_serialize(&self.kwargs);
        // The first map that has a name gives its value.
        let all = context! { ..given, ..kwargs, ..special };
        let text = template.and_then(|template| template.render(all));
        let text = text.map_err(|error| self.failed(&error))?;
        let (text, written) =
            generation_tags::remove_markers(&text).map_err(|reason| self.refused(reason))?;
        Ok(Rendered { text, written })
    }

    /// Returns the text that the template writes after the content of an assistant's message.
    ///
    /// # Errors
    /// If the template rejects the messages.
    pub fn message_end(&self) -> Result<String, LmError> {
        let content = "An answer.";
        let messages = [
            Message::new("user", "A question?"),
            Message::new("assistant", content),
        ];
        let text = self.render(&messages, None, false)?.text;
        Ok(text
            .rsplit_once(content)
            .map_or("", |(_, end)| end)
            .to_owned())
    }

    /// Creates an error about a conversation that cannot be used with the template.
    pub fn refused(&self, reason: &str) -> LmError {
        LmError::Template {
            path: self.path.clone(),
            reason: reason.to_owned(),
        }
    }

    fn failed(&self, error: &Error) -> LmError {
        let line = error
            .line()
            .map_or_else(String::new, |line| format!("line {line}: "));
        let reason = error
            .detail()
            .map_or_else(|| error.to_string(), str::to_owned);
        LmError::Template {
            path: self.path.clone(),
            reason: format!("{line}{reason}"),
        }
    }
}

/// Returns a template's source for this environment: lines end with `\n`, as Jinja2 reads them.
fn prepared(source: &str) -> String {
    let source = source.replace("\r\n", "\n").replace('\r', "\n");
    generation_tags::replace_generation_tags(&source)
}

/// Creates an environment with the settings, filters and functions of transformers.
fn environment() -> Environment<'static> {
    let mut environment = Environment::new();
    environment.set_trim_blocks(true);
    environment.set_lstrip_blocks(true);
    environment.set_auto_escape_callback(|_| minijinja::AutoEscape::None);
    environment.set_unknown_method_callback(minijinja_contrib::pycompat::unknown_method_callback);
    environment.add_filter("tojson", tojson::to_json);
    python::extend(&mut environment);
    environment.add_filter(generation_tags::FILTER_NAME, |text: String| {
        generation_tags::enclose_in_markers(&text)
    });
    environment.add_function("raise_exception", |message: String| {
        Err::<String, _>(Error::new(ErrorKind::InvalidOperation, message))
    });
    environment.add_function("strftime_now", |format: String| {
        strftime::strftime_now(&format)
    });
    environment
}
