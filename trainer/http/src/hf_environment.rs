//! The variables that Hugging Face's tools read, for everything that asks the Hub.

use std::path::PathBuf;

use super::request::redact_url;
use super::{HF_TOKEN, HttpError, Request, Token, TokenFault};

/// The address of the Hub.
const ENDPOINT: &str = "https://huggingface.co";
/// The name that `HF_TOKEN` had before.
const OLD_HF_TOKEN: &str = "HUGGING_FACE_HUB_TOKEN";

/// The Hub as the environment describes it: its address, the user's token, the cache, and whether
/// requests are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HfEnvironment {
    /// The address of the Hub, without a slash at its end (`HF_ENDPOINT`).
    pub endpoint: String,
    /// The token of `HF_TOKEN` or `HUGGING_FACE_HUB_TOKEN`, else the one that `hf auth login` saved; `None` without either.
    pub token: Result<Option<Token>, TokenFault>,
    /// The cache of the Hub's files, which holds `models--*` (`HF_HUB_CACHE`, or `hub` in `HF_HOME`);
    /// `None` without a home folder.
    pub cache: Option<PathBuf>,
    /// `true` if the Hub may not be asked (`HF_HUB_OFFLINE`, else `TRANSFORMERS_OFFLINE`).
    pub offline: bool,
}

impl Default for HfEnvironment {
    fn default() -> Self {
        Self {
            endpoint: ENDPOINT.to_owned(),
            token: Ok(None),
            cache: None,
            offline: false,
        }
    }
}

impl HfEnvironment {
    /// Reads the variables of this process.
    #[must_use]
    pub fn read() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the variables from a function of their names.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| {
            let value = variable(name).map(|value| value.trim().to_owned());
            value.filter(|value| !value.is_empty())
        };
        let home = || set("HOME").or_else(|| set("USERPROFILE"));
        let folder = |name: &str| {
            let value = set(name)?;
            Some(PathBuf::from(expand(&value, home().as_deref(), &variable)))
        };
        let shared = || {
            let caches = folder("XDG_CACHE_HOME");
            caches.or_else(|| Some(PathBuf::from(home()?).join(".cache")))
        };
        let own = folder("HF_HOME").or_else(|| Some(shared()?.join("huggingface")));
        let inside = |name: &str| own.as_ref().map(|own| own.join(name));
        let cache = folder("HF_HUB_CACHE").or_else(|| folder("HUGGINGFACE_HUB_CACHE"));
        let named = [HF_TOKEN, OLD_HF_TOKEN].into_iter();
        let token = match named.filter_map(|name| Some((set(name)?, name))).next() {
            Some((text, name)) => token(text, name).map(Some),
            None => saved_token(folder("HF_TOKEN_PATH").or_else(|| inside("token"))),
        };
        let endpoint = set("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned());
        let offline = set("HF_HUB_OFFLINE").or_else(|| set("TRANSFORMERS_OFFLINE"));
        Self {
            endpoint: endpoint.trim_end_matches('/').to_owned(),
            token,
            cache: cache.or_else(|| inside("hub")),
            offline: offline.is_some_and(|value| is_on(&value)),
        }
    }

    /// Returns the token for requests to the Hub; `None` without one.
    ///
    /// # Errors
    /// Returns an error if the Hub's address is none, or holds more than an address, if the text is not a
    /// token, or if the address would send it unencrypted.
    pub fn token_for_hub(&self) -> Result<Option<&Token>, HttpError> {
        let request = self.hub()?;
        let token = self.token.as_ref().map_err(TokenFault::clone)?.as_ref();
        if token.is_some() && !request.is_private() {
            let url = request.address();
            return Err(HttpError::Insecure { url });
        }
        Ok(token)
    }

    /// Returns the address of a repository's page, for messages.
    #[must_use]
    pub fn page(&self, repository: &str) -> String {
        match self.hub() {
            Ok(_) => format!("{}/{repository}", self.endpoint),
            Err(_) => format!("{repository} on the Hub"),
        }
    }

    /// Returns a request to the Hub's address, which messages may show.
    fn hub(&self) -> Result<Request, HttpError> {
        let request = Request::get(&self.endpoint).map_err(|error| match error {
            HttpError::Address { url, reason } => HttpError::Endpoint { url, reason },
            error => error,
        })?;
        if request.url.query().is_some() || request.url.fragment().is_some() {
            return Err(HttpError::Endpoint {
                url: redact_url(&request.url),
                reason: "it holds a query or a fragment".to_owned(),
            });
        }
        Ok(request)
    }
}

fn is_on(value: &str) -> bool {
    let value = value.to_ascii_uppercase();
    ["1", "ON", "YES", "TRUE"].contains(&value.as_str())
}

fn token(text: String, name: &str) -> Result<Token, TokenFault> {
    Token::new(text).map_err(|_| TokenFault::NotAToken(name.to_owned()))
}

/// Reads the file of the saved token; `None` if there is none.
fn saved_token(path: Option<PathBuf>) -> Result<Option<Token>, TokenFault> {
    let Some(path) = path.filter(|path| path.is_file()) else {
        return Ok(None);
    };
    let name = path.display().to_string();
    let text = std::fs::read_to_string(&path).map_err(|error| TokenFault::Unreadable {
        path,
        reason: error.to_string(),
    })?;
    match text.trim() {
        "" => Ok(None),
        text => token(text.to_owned(), &name).map(Some),
    }
}

/// Replaces `~` at the beginning of a path by the home folder, and `$NAME` and `${NAME}` by variables
/// that are set, as Python's `expanduser` and `expandvars` do.
fn expand(path: &str, home: Option<&str>, variable: impl Fn(&str) -> Option<String>) -> String {
    let path = match (path.strip_prefix('~'), home) {
        (Some(rest), Some(home)) if rest.is_empty() || rest.starts_with(['/', '\\']) => {
            format!("{}{rest}", home.trim_end_matches('/'))
        }
        _ => path.to_owned(),
    };
    let mut expanded = String::new();
    let mut rest = path.as_str();
    while let Some(at) = rest.find('$') {
        expanded.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let (name, length) = match after
            .strip_prefix('{')
            .and_then(|open| open.split_once('}'))
        {
            Some((name, _)) => (name, name.len() + 2),
            None => {
                let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let end = after.find(|c| !is_name(c)).unwrap_or(after.len());
                (&after[..end], end)
            }
        };
        match variable(name).filter(|_| !name.is_empty()) {
            Some(value) => expanded.push_str(&value),
            None => expanded.push_str(&rest[at..=at + length]),
        }
        rest = &after[length..];
    }
    expanded + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    type Tested = Result<(), Box<dyn std::error::Error>>;

    fn read(pairs: &[(&str, &str)]) -> HfEnvironment {
        HfEnvironment::from_variables(|name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    fn secret(environment: &HfEnvironment) -> Option<&str> {
        let token = environment.token.as_ref().ok()?;
        token.as_ref().map(Token::secret)
    }

    #[test]
    fn token_is_read_from_variable_path_or_login() -> Tested {
        let folder = tempfile::tempdir()?;
        let home = folder.path().to_str().ok_or("no UTF-8")?;
        assert_eq!(secret(&read(&[("HOME", home)])), None);
        let saved = folder.path().join(".cache/huggingface");
        std::fs::create_dir_all(&saved)?;
        std::fs::write(saved.join("token"), "hf_saved\n")?;
        assert_eq!(secret(&read(&[("HOME", home)])), Some("hf_saved"));
        let other = folder.path().join("other");
        std::fs::write(&other, "hf_other")?;
        for path in [
            other.to_str().ok_or("no UTF-8")?,
            "~/other",
            "$HOME/other",
            "${HOME}/other",
        ] {
            let variables = [("HOME", home), ("HF_TOKEN_PATH", path)];
            assert_eq!(secret(&read(&variables)), Some("hf_other"), "{path}");
        }
        for text in [" hf_set ", "hf_set\n", "hf_set\r\n"] {
            let found = read(&[("HOME", home), ("HF_TOKEN", text)]);
            assert_eq!(secret(&found), Some("hf_set"));
            let old = [("HOME", home), ("HUGGING_FACE_HUB_TOKEN", text)];
            assert_eq!(secret(&read(&old)), Some("hf_set"));
            assert!(!format!("{found:?}").contains("hf_set"));
        }
        Ok(())
    }

    #[test]
    fn invalid_token_error_does_not_show_token() -> Tested {
        let found = read(&[("HF_TOKEN", "hf_a hf_b")]);
        let error = found.token_for_hub().err().ok_or("it was accepted")?;
        for text in [format!("{error} {error:?}"), format!("{found:?}")] {
            assert!(text.contains("HF_TOKEN") && !text.contains("hf_"), "{text}");
        }
        Ok(())
    }

    #[test]
    fn token_is_sent_only_where_nobody_else_reads_it() {
        for (endpoint, is_sent) in [
            ("https://hub.example", true),
            ("http://127.0.0.1:8080", true),
            ("http://localhost", true),
            ("http://[::1]:80/", true),
            ("http://hub.example", false),
            ("http://10.0.0.1", false),
        ] {
            let found = read(&[("HF_ENDPOINT", endpoint), ("HF_TOKEN", "hf_a")]);
            assert_eq!(found.token_for_hub().is_ok(), is_sent, "{endpoint}");
        }
        let public = read(&[("HF_ENDPOINT", "http://hub.example")]);
        assert!(matches!(public.token_for_hub(), Ok(None)));
    }

    #[test]
    fn endpoint_that_is_more_than_an_address_is_refused_and_not_shown() -> Tested {
        for endpoint in [
            "https://user:secret@hub.example",
            "https://secret@hub.example",
            "https://user:sec ret@hub example",
            "https://hub.example/?token=secret",
            "https://hub.example#secret",
            "hub.example?secret",
            "hub.example?token=pa@secret",
            "https://hub exa/?t=a@secret",
            "https://a b#x@secret",
            "https://user:sec?ret@hub",
        ] {
            for token in ["", "hf_a"] {
                let found = read(&[("HF_ENDPOINT", endpoint), ("HF_TOKEN", token)]);
                let error = found.token_for_hub().err().ok_or(endpoint)?.to_string();
                assert!(error.starts_with("HF_ENDPOINT \""), "{error}");
                assert!(error.ends_with("token in HF_TOKEN"), "{error}");
                assert!(!error.contains("sec"), "{error}");
            }
        }
        Ok(())
    }

    #[test]
    fn folders_are_those_of_hugging_face() {
        let cache = |pairs: &[(&str, &str)]| read(pairs).cache;
        let home = ("HOME", "/h");
        for (pairs, expected) in [
            (&[home][..], "/h/.cache/huggingface/hub"),
            (&[home, ("XDG_CACHE_HOME", "/x")], "/x/huggingface/hub"),
            (&[home, ("HF_HOME", "/f")], "/f/hub"),
            (&[home, ("HF_HOME", "~/hf")], "/h/hf/hub"),
            (&[home, ("HF_HOME", "~")], "/h/hub"),
            (&[home, ("HF_HOME", "~other/hf")], "~other/hf/hub"),
            (&[home, ("HF_HOME", "$HOME/$NONE/hf")], "/h/$NONE/hf/hub"),
            (&[home, ("HF_HOME", "/a${HOME}b")], "/a/hb/hub"),
            (&[home, ("HF_HOME", "/a$")], "/a$/hub"),
            (&[home, ("HF_HUB_CACHE", "~/c"), ("HF_HOME", "/f")], "/h/c"),
            (&[home, ("HUGGINGFACE_HUB_CACHE", "/c")], "/c"),
        ] {
            assert_eq!(cache(pairs), Some(expected.into()), "{pairs:?}");
        }
        assert_eq!(cache(&[]), None);
    }

    #[test]
    fn endpoint_and_offline_are_read_from_variables() {
        assert_eq!(read(&[]), HfEnvironment::default());
        let endpoint = read(&[("HF_ENDPOINT", "http://127.0.0.1:1/")]).endpoint;
        assert_eq!(endpoint, "http://127.0.0.1:1");
        for (pairs, expected) in [
            (&[("HF_HUB_OFFLINE", "1")][..], true),
            (&[("HF_HUB_OFFLINE", "yes")], true),
            (&[("HF_HUB_OFFLINE", "0")], false),
            (&[("TRANSFORMERS_OFFLINE", "1")], true),
            (
                &[("HF_HUB_OFFLINE", "0"), ("TRANSFORMERS_OFFLINE", "1")],
                false,
            ),
            (
                &[("HF_HUB_OFFLINE", ""), ("TRANSFORMERS_OFFLINE", "true")],
                true,
            ),
        ] {
            assert_eq!(read(pairs).offline, expected, "{pairs:?}");
        }
    }
}
