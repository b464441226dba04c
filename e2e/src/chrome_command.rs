//! The ChromeDriver commands that are not part of the WebDriver standard.

use fantoccini::wd::WebDriverCompatibleCommand;
use http::Method;
use serde_json::{Value, json};
use url::{ParseError, Url};

/// A command that only ChromeDriver understands.
#[derive(Debug)]
pub enum ChromeCommand {
    /// Takes the browser's log entries since the last call.
    TakeLog,
    /// Runs a command of the DevTools protocol, such as `Emulation.setEmulatedMedia`.
    DevTools {
        /// The name of the command.
        name: &'static str,
        /// The parameters of the command.
        parameters: Value,
    },
}

impl WebDriverCompatibleCommand for ChromeCommand {
    fn endpoint(&self, base_url: &Url, session_id: Option<&str>) -> Result<Url, ParseError> {
        let session = session_id.unwrap_or_default();
        let command = match self {
            Self::TakeLog => "se/log",
            Self::DevTools { .. } => "goog/cdp/execute",
        };
        base_url.join(&format!("session/{session}/{command}"))
    }

    fn method_and_body(&self, _request_url: &Url) -> (Method, Option<String>) {
        let body = match self {
            Self::TakeLog => json!({"type": "browser"}),
            Self::DevTools { name, parameters } => json!({"cmd": name, "params": parameters}),
        };
        (Method::POST, Some(body.to_string()))
    }
}
