//! Search for models: in local folders, in Hugging Face's cache, and on the Hub.

mod cache;
mod hub;

use std::path::{Path, PathBuf};

use self::cache::CacheState;
use super::LmError;

/// Options of the search for a model. [`Self::from_environment`] reads the environment variables
/// that Hugging Face's own tools read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubOptions {
    /// The cache folder, which holds `models--*`; `None` if there is no home folder.
    pub cache: Option<PathBuf>,
    /// A branch, tag or commit; empty for `main`.
    pub revision: String,
    /// Access token for repositories that are not public.
    pub token: Option<String>,
    /// Base URL of another Hub.
    pub endpoint: Option<String>,
    /// `true` to search local folders and the cache only.
    pub offline: bool,
}

impl HubOptions {
    /// Reads `HF_HUB_CACHE`, `HF_HOME`, `HF_TOKEN`, `HF_ENDPOINT` and `HF_HUB_OFFLINE` from the
    /// environment.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// Reads the options from a function that maps variable names to values.
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let folder = |name: &str| set(name).map(PathBuf::from);
        let home = || {
            Some(
                folder("HOME")
                    .or_else(|| folder("USERPROFILE"))?
                    .join(".cache"),
            )
        };
        let hub = || {
            let shared = folder("XDG_CACHE_HOME").or_else(home);
            let own = folder("HF_HOME").or_else(|| Some(shared?.join("huggingface")));
            own.map(|own| own.join("hub"))
        };
        let on = |value: String| {
            let value = value.to_ascii_uppercase();
            ["1", "ON", "YES", "TRUE"].contains(&value.as_str())
        };
        Self {
            cache: folder("HF_HUB_CACHE").or_else(hub),
            revision: String::new(),
            token: set("HF_TOKEN"),
            endpoint: set("HF_ENDPOINT"),
            offline: set("HF_HUB_OFFLINE").is_some_and(on),
        }
    }

    fn revision(&self) -> &str {
        if self.revision.is_empty() {
            "main"
        } else {
            &self.revision
        }
    }
}

/// Finds the folder of a model or an adapter.
///
/// Returns `asked` itself if it is such a folder, else the snapshot in the cache if that is
/// complete, else, unless offline, downloads the repository from the Hub into the cache.
///
/// # Errors
/// If it is not found: the error holds the requested name, the places searched and how to pass a
/// folder.
pub fn find_model(asked: &str, options: &HubOptions) -> Result<PathBuf, LmError> {
    let local = Path::new(asked);
    let mut looked = vec![format!("folder {asked}")];
    let nowhere = |looked, reason: String| LmError::NotFound {
        asked: asked.to_owned(),
        looked,
        reason,
    };
    if local.is_dir() {
        return if is_model(local) {
            Ok(local.to_owned())
        } else {
            let reason = "the folder has neither config.json nor adapter_config.json".to_owned();
            Err(nowhere(looked, reason))
        };
    }
    if !is_repository(asked) {
        let reason = "it is neither a folder nor a Hub repository (owner/name)".to_owned();
        return Err(nowhere(looked, reason));
    }
    if let Some(cache) = &options.cache {
        let folder = cache::folder(cache, asked);
        let place = format!("cache {}", folder.display());
        looked.push(match cache::snapshot(&folder, options.revision()) {
            CacheState::Whole(found) => return Ok(found),
            CacheState::Nothing => place,
            CacheState::Part(missing) => {
                format!("{place}, which is incomplete ({})", lacks(&missing))
            }
        });
    }
    if options.offline {
        let reason = "HF_HUB_OFFLINE is set, so nothing was downloaded".to_owned();
        return Err(nowhere(looked, reason));
    }
    hub::download(asked, options).map_err(|error| {
        let address = options
            .endpoint
            .as_deref()
            .unwrap_or("https://huggingface.co");
        looked.push(format!("{address}/{asked}"));
        nowhere(looked, format!("the Hub download failed ({error})"))
    })
}

/// Describes the missing files by the first name and the number of others.
fn lacks(missing: &[String]) -> String {
    match missing {
        [] => String::new(),
        [one] => format!("{one} is missing"),
        [first, more @ ..] => format!("{first} and {} more files are missing", more.len()),
    }
}

fn is_model(folder: &Path) -> bool {
    folder.join("config.json").is_file() || folder.join("adapter_config.json").is_file()
}

/// Returns `true` for a valid repository name: one or two parts of letters, digits, `.`, `_` and
/// `-`.
fn is_repository(asked: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain);
    asked.split('/').count() <= 2 && asked.split('/').all(part)
}
