//! Common parts of all network sources: the client, the cells of their rows, and addresses.

use std::sync::atomic::AtomicBool;

use sentinel_http::{HfEnvironment, HttpClient, HttpConfig, HttpError, Token};
use serde_json::Value;
use url::Url;

use super::Message;

/// The number of columns that a message lists.
const KEYS_SHOWN: usize = 12;

/// The access to network sources.
#[derive(Clone, Debug)]
pub struct NetworkAccess {
    /// The client, without a token.
    pub client: HttpClient,
    /// The token, which only the servers of Hugging Face get.
    pub token: Option<Token>,
    /// The address of the Hub.
    pub hub: String,
    /// `true` if the network may not be used.
    pub is_offline: bool,
}

impl NetworkAccess {
    /// Returns the access that the environment describes. Pauses end when `stop` is set.
    ///
    /// # Errors
    /// Returns an error if the token is not one, or if the Hub's address would send it unencrypted.
    pub fn from_environment(stop: &'static AtomicBool) -> Result<Self, HttpError> {
        let environment = HfEnvironment::read();
        Ok(Self {
            client: HttpClient::new(HttpConfig::default()).stopped_by(stop),
            token: environment.token_for_hub()?.cloned(),
            hub: environment.endpoint,
            is_offline: environment.offline,
        })
    }
}

/// Returns an address with `***` in place of the values of parameters that may be secrets.
pub(super) fn redact_secrets(text: &str) -> String {
    const SECRETS: [&str; 5] = ["key", "token", "secret", "signature", "password"];
    let is_secret = |name: &str| {
        let name = name.to_ascii_lowercase();
        SECRETS.iter().any(|word| name.contains(word))
    };
    let Ok(mut url) = Url::parse(text) else {
        return text.to_owned();
    };
    let pairs: Vec<(String, String)> = url.query_pairs().into_owned().collect();
    if !pairs.iter().any(|(name, _)| is_secret(name)) {
        return text.to_owned();
    }
    let shown = pairs.iter().map(|(name, value)| {
        let value = if is_secret(name) { "***" } else { value };
        (name, value)
    });
    url.query_pairs_mut().clear().extend_pairs(shown);
    url.into()
}

/// Returns the text of a cell; `None` if it is not text or is empty.
pub(super) fn cell_text(cell: Option<&Value>) -> Option<&str> {
    let text = cell?.as_str()?.trim();
    (!text.is_empty()).then_some(text)
}

/// Returns the messages of a cell: a text of the user, or a chat.
pub(super) fn cell_messages(cell: Option<&Value>) -> Option<Vec<Message>> {
    let turn = |value: &Value| {
        let role = match value.get("role")?.as_str()? {
            "system" => "system",
            "user" => "user",
            "assistant" => "assistant",
            _ => return None,
        };
        Some(Message {
            role,
            content: cell_text(value.get("content"))?.to_owned(),
        })
    };
    match cell? {
        Value::Array(turns) => turns.iter().map(turn).collect(),
        cell => Some(vec![Message::user(cell_text(Some(cell))?)]),
    }
}

/// Returns names for a message, at most a dozen.
pub(super) fn join_names<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.take(KEYS_SHOWN + 1).collect();
    match names.as_slice() {
        [] => "none".to_owned(),
        [shown @ .., _] if names.len() > KEYS_SHOWN => format!("{} …", shown.join(", ")),
        all => all.join(", "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secret_query_parameters_are_masked() {
        let plain = "https://a.org/b?search=_exists_:c&limit=100";
        assert_eq!(redact_secrets(plain), plain);
        let shown = redact_secrets("https://a.org/b?limit=1&api_key=s3cret&Access-Token=other");
        assert_eq!(
            shown,
            "https://a.org/b?limit=1&api_key=***&Access-Token=***"
        );
    }
}
