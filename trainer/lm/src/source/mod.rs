//! Search for models: in local folders, in Hugging Face's cache, and on the Hub.

mod cache;
mod hub;

use std::path::{Path, PathBuf};

use sentinel_http::HfEnvironment;

use self::cache::CacheState;
use super::LmError;

/// Options of the search for a model.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HubOptions {
    /// The Hub, its cache and the token.
    pub hub: HfEnvironment,
    /// A branch, tag or commit; empty for `main`.
    pub revision: String,
}

const OFFLINE: &str = "HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set";

impl HubOptions {
    /// Returns the options that the variables of Hugging Face's tools describe.
    #[must_use]
    pub fn from_environment() -> Self {
        Self {
            hub: HfEnvironment::read(),
            revision: String::new(),
        }
    }

    /// Searches local folders and the cache only.
    #[must_use]
    pub const fn offline(mut self) -> Self {
        self.hub.offline = true;
        self
    }

    fn revision(&self) -> &str {
        if self.revision.is_empty() {
            "main"
        } else {
            &self.revision
        }
    }
}

/// The folder of a model or an adapter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundModel {
    /// Path of the folder.
    pub folder: PathBuf,
    /// Warning that the cache may lack a file of the model, if the Hub could not be asked for it.
    pub warning: Option<String>,
}

impl FoundModel {
    const fn whole(folder: PathBuf) -> Self {
        Self {
            folder,
            warning: None,
        }
    }
}

/// Finds the folder of a model or an adapter.
///
/// Returns `asked` itself if it is such a folder, else the snapshot in the cache if that is
/// complete, else, unless offline, downloads the repository from the Hub into the cache. A snapshot that
/// can be read but may lack a file, such as a chat template, is completed if the Hub answers.
///
/// # Errors
/// If it is not found: the error holds the requested name, the places searched and how to pass a
/// folder.
pub fn find_model(asked: &str, options: &HubOptions) -> Result<FoundModel, LmError> {
    let local = Path::new(asked);
    let mut looked = vec![format!("folder {asked}")];
    let nowhere = |looked, reason: String| LmError::NotFound {
        asked: asked.to_owned(),
        looked,
        reason,
    };
    if local.is_dir() {
        return if is_model(local) {
            Ok(FoundModel::whole(local.to_owned()))
        } else {
            let reason = "the folder has neither config.json nor adapter_config.json".to_owned();
            Err(nowhere(looked, reason))
        };
    }
    if !is_repository(asked) {
        let reason = "it is neither a folder nor a Hub repository (owner/name)".to_owned();
        return Err(nowhere(looked, reason));
    }
    let mut usable = None;
    if let Some(cache) = &options.hub.cache {
        let folder = cache::folder(cache, asked);
        let place = format!("cache {}", folder.display());
        looked.push(match cache::snapshot(&folder, options.revision()) {
            CacheState::Whole(found) => return Ok(FoundModel::whole(found)),
            CacheState::Usable(found) => {
                usable = Some(found);
                place
            }
            CacheState::Nothing => place,
            CacheState::Part(missing) => {
                format!("{place}, which is incomplete ({})", lacks(&missing))
            }
        });
    }
    if let Some(folder) = usable {
        let warning = complete(asked, &folder, options).err().map(|reason| {
            format!(
                "the cache may lack files of {asked}, such as its chat template ({}): {reason}",
                folder.display()
            )
        });
        return Ok(FoundModel { folder, warning });
    }
    if options.hub.offline {
        let reason = format!("{OFFLINE}, so nothing was downloaded");
        return Err(nowhere(looked, reason));
    }
    let downloaded = hub::download(asked, options.revision(), &options.hub);
    let found = downloaded.map(|found| FoundModel::whole(found.folder));
    found.map_err(|reason| {
        looked.push(options.hub.page(asked));
        nowhere(looked, format!("the Hub download failed ({reason})"))
    })
}

/// Downloads the files that a snapshot in the cache may lack. Without them it is used as it is, as by
/// huggingface_hub.
///
/// # Errors
/// Returns the reason why the Hub did not answer.
fn complete(asked: &str, snapshot: &Path, options: &HubOptions) -> Result<(), String> {
    if options.hub.offline {
        return Err(OFFLINE.to_owned());
    }
    // Files of its own commit only: a branch may have moved on since it was cached.
    let commit = snapshot.file_name().unwrap_or_default().to_string_lossy();
    let whole = hub::download(asked, &commit, &options.hub)?;
    if whole.folder == snapshot {
        cache::mark_absent(snapshot, &whole.files);
    }
    Ok(())
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
pub(crate) fn is_repository(asked: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let part = |part: &str| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain);
    asked.split('/').count() <= 2 && asked.split('/').all(part)
}
