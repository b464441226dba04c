//! Where a model is: a local folder, the cache of Hugging Face, or the Hub.

mod cache;
mod hub;

use std::path::{Path, PathBuf};

use self::cache::Cached;
use super::LmError;

/// What decides where a model is looked for. [`Self::from_environment`] reads the variables that
/// Hugging Face's own tools read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubOptions {
    /// The folder with `models--*`; none where there is no home.
    pub cache: Option<PathBuf>,
    /// A branch, tag or commit; empty is `main`.
    pub revision: String,
    /// For models that are not public.
    pub token: Option<String>,
    /// Another address of the Hub.
    pub endpoint: Option<String>,
    /// Looks into folders only.
    pub offline: bool,
}

impl HubOptions {
    /// What `HF_HUB_CACHE`, `HF_HOME`, `HF_TOKEN`, `HF_ENDPOINT` and `HF_HUB_OFFLINE` say.
    #[must_use]
    pub fn from_environment() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The same from any variables.
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

/// The folder of a model or an adapter: `asked` itself if there is such a folder, else that of the
/// cache if it holds all files, else, unless offline, what the Hub sends into the cache.
///
/// # Errors
/// If it is nowhere: says what was asked for, where it was looked for, and how to name a folder.
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
        let reason = "it is no folder, nor a name as the Hub has them (owner/name)".to_owned();
        return Err(nowhere(looked, reason));
    }
    if let Some(cache) = &options.cache {
        let folder = cache::folder(cache, asked);
        let place = format!("cache {}", folder.display());
        looked.push(match cache::snapshot(&folder, options.revision()) {
            Cached::Whole(found) => return Ok(found),
            Cached::Nothing => place,
            Cached::Part(missing) => format!("{place}, which is incomplete ({})", lacks(&missing)),
        });
    }
    if options.offline {
        let reason = "HF_HUB_OFFLINE forbids asking the Hub".to_owned();
        return Err(nowhere(looked, reason));
    }
    hub::download(asked, options).map_err(|error| {
        let address = options
            .endpoint
            .as_deref()
            .unwrap_or("https://huggingface.co");
        looked.push(format!("{address}/{asked}"));
        nowhere(looked, format!("the Hub gave nothing ({error})"))
    })
}

/// The first of what is missing.
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

/// Whether it could be a name on the Hub: one or two parts of letters, digits, `.`, `_` and `-`.
fn is_repository(asked: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain);
    asked.split('/').count() <= 2 && asked.split('/').all(part)
}
