//! The command that builds a corpus: its older spellings, its output, and Ctrl-C.

use std::ffi::OsString;

use anyhow::Result;
use sentinel_play::corpus::builder::{BuildConfig, BuildError, NetworkAccess, build};

use super::interrupt::{Interrupted, on_interrupt};
use super::output::{note, print};
use super::progress_bar::EpisodeBar;

/// The option that only `lm build-corpus` has: `lm corpus` with it is that command.
const PROFILE: &str = "--profile";

/// Returns the words with `lm build-corpus` in place of `lm corpus --profile` and `corpus
/// --profile`.
pub(super) fn with_current_names(words: &[OsString]) -> Vec<OsString> {
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    let is_profile = |word: &OsString| {
        let word = word.to_string_lossy();
        word.split('=').next() == Some(PROFILE)
    };
    let corpus = match (word(1), word(2)) {
        (Some("lm"), Some("corpus")) => Some(2),
        (Some("corpus"), _) => Some(1),
        _ => None,
    };
    let Some(at) = corpus.filter(|_| words.iter().any(is_profile)) else {
        return words.to_vec();
    };
    let command = ["lm", "build-corpus"].map(OsString::from);
    let rest = words[at + 1..].iter().cloned();
    words
        .iter()
        .take(1)
        .cloned()
        .chain(command)
        .chain(rest)
        .collect()
}

/// Runs `sentinel lm build-corpus`, which prints what each source gave.
pub(super) fn build_corpus(config: &BuildConfig) -> Result<()> {
    let stop = on_interrupt()?;
    let network = NetworkAccess::from_environment(stop)?;
    let bar = EpisodeBar::new(None);
    let built = build(config, &network, stop, &|| bar.step());
    drop(bar);
    match built {
        Ok(summary) => print(&format!("wrote {}: {summary}", config.output_dir.display())),
        Err(error @ BuildError::Interrupted) => {
            note(&error.to_string());
            Err(Interrupted.into())
        }
        Err(error) => Err(error.into()),
    }
}
