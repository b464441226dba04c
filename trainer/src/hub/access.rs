//! The address of the Hub and the token, from the variables that Hugging Face's tools read.

use std::path::PathBuf;

use super::HubError;
use crate::http::{HF_TOKEN, HttpError, Token};

/// The address of the Hub.
pub(super) const ENDPOINT: &str = "https://huggingface.co";

/// The address of the Hub and the user's token.
#[derive(Clone, Debug)]
pub struct HubAccess {
    /// The address of the Hub, without a slash at its end.
    pub endpoint: String,
    /// The token; `None` without a login.
    pub token: Option<Token>,
    /// `true` if `HF_HUB_OFFLINE` forbids all network access.
    pub offline: bool,
}

impl Default for HubAccess {
    fn default() -> Self {
        Self {
            endpoint: ENDPOINT.to_owned(),
            token: None,
            offline: false,
        }
    }
}

impl HubAccess {
    /// Reads `HF_ENDPOINT`, `HF_TOKEN` and `HF_HUB_OFFLINE`; without `HF_TOKEN`, the token that
    /// `hf auth login` saved.
    ///
    /// # Errors
    /// Returns an error if the token is not one line of visible ASCII characters, or its file
    /// cannot be read.
    pub fn from_environment() -> Result<Self, HubError> {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the access from a function that maps variable names to values.
    ///
    /// # Errors
    /// Returns an error if the token is not one line of visible ASCII characters, or its file
    /// cannot be read.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let set = |name: &str| {
            let value = variable(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let is_on = |value: String| {
            let value = value.to_ascii_uppercase();
            ["1", "ON", "YES", "TRUE"].contains(&value.as_str())
        };
        let refused = |name: &str| {
            let name = name.to_owned();
            move |_| HubError::Http(HttpError::Token { name })
        };
        let token = match set(HF_TOKEN) {
            Some(text) => Some(Token::new(text).map_err(refused(HF_TOKEN))?),
            None => match saved_token(&set)? {
                Some((path, text)) => {
                    let name = path.display().to_string();
                    Some(Token::new(text).map_err(refused(&name))?)
                }
                None => None,
            },
        };
        Ok(Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token,
            offline: set("HF_HUB_OFFLINE").is_some_and(is_on),
        })
    }
}

/// Reads the file of the saved token: its path and its text; `None` if there is no such file.
fn saved_token(
    set: &impl Fn(&str) -> Option<String>,
) -> Result<Option<(PathBuf, String)>, HubError> {
    let folder = |name: &str| set(name).map(PathBuf::from);
    let cache = || {
        let home = || {
            Some(
                folder("HOME")
                    .or_else(|| folder("USERPROFILE"))?
                    .join(".cache"),
            )
        };
        folder("XDG_CACHE_HOME").or_else(home)
    };
    let own = || folder("HF_HOME").or_else(|| Some(cache()?.join("huggingface")));
    let path = folder("HF_TOKEN_PATH").or_else(|| Some(own()?.join("token")));
    let Some(path) = path.filter(|path| path.is_file()) else {
        return Ok(None);
    };
    let text = std::fs::read_to_string(&path).map_err(|source| crate::Error::Read {
        path: path.clone(),
        source,
    })?;
    let text = text.trim().to_owned();
    Ok(Some((path, text)).filter(|(_, text)| !text.is_empty()))
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn access(pairs: &[(&str, &str)]) -> Result<HubAccess, HubError> {
        HubAccess::from_variables(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn secret(access: &HubAccess) -> Option<&str> {
        access.token.as_ref().map(Token::secret)
    }

    #[test]
    fn token_is_read_from_variable_path_or_login() -> Tested {
        let folder = tempfile::tempdir()?;
        let home = folder.path().to_str().ok_or("no UTF-8")?;
        assert_eq!(secret(&access(&[("HOME", home)])?), None);
        let saved = folder.path().join(".cache/huggingface");
        std::fs::create_dir_all(&saved)?;
        std::fs::write(saved.join("token"), "hf_saved\n")?;
        assert_eq!(secret(&access(&[("HOME", home)])?), Some("hf_saved"));
        let other = folder.path().join("other");
        std::fs::write(&other, "hf_other")?;
        let path = other.to_str().ok_or("no UTF-8")?;
        let variables = [("HOME", home), ("HF_TOKEN_PATH", path)];
        assert_eq!(secret(&access(&variables)?), Some("hf_other"));
        let variables = [("HOME", home), ("HF_TOKEN", " hf_set ")];
        let found = access(&variables)?;
        assert_eq!(secret(&found), Some("hf_set"));
        assert!(!format!("{found:?}").contains("hf_set"));
        Ok(())
    }

    #[test]
    fn invalid_token_error_does_not_show_token() -> Tested {
        let Err(error) = access(&[("HF_TOKEN", "hf_a hf_b")]) else {
            return Err("it was accepted".into());
        };
        let text = format!("{error} {error:?}");
        assert!(text.contains("HF_TOKEN") && !text.contains("hf_"), "{text}");
        Ok(())
    }

    #[test]
    fn endpoint_and_offline_are_read_from_variables() -> Tested {
        assert_eq!(access(&[])?.endpoint, ENDPOINT);
        let found = access(&[
            ("HF_ENDPOINT", "http://127.0.0.1:1/"),
            ("HF_HUB_OFFLINE", "yes"),
        ])?;
        assert_eq!(found.endpoint, "http://127.0.0.1:1");
        assert!(found.offline);
        Ok(())
    }
}
