//! Who plays an episode.

use crate::world::{Named, World};

/// Who acts: a scripted policy, the trained one, a replay file, or the person at the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source<W: World> {
    /// A scripted policy.
    Policy(W::Policy),
    /// The policy that was trained here; its weights are a file that is fetched.
    Trained,
    /// A replay by the name of its file, without `.jsonl`.
    Replay(String),
    /// The person at the page.
    You,
}

const REPLAY: &str = "replay:";
const TRAINED: &str = "grpo";

impl<W: World> Source<W> {
    /// The word in the address and in menus.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Policy(policy) => policy.name().to_owned(),
            Self::Trained => TRAINED.to_owned(),
            Self::Replay(name) => format!("{REPLAY}{name}"),
            Self::You => "you".to_owned(),
        }
    }

    /// The source with this word. File names are limited to what a file in `replays/` is called.
    #[must_use]
    pub fn parse(id: &str) -> Option<Self> {
        if id == "you" {
            return Some(Self::You);
        }
        if id == TRAINED && W::LEARNED.is_some() {
            return Some(Self::Trained);
        }
        if let Some(name) = id.strip_prefix(REPLAY).filter(|_| W::REPLAYS) {
            return plain_name(name).then(|| Self::Replay(name.to_owned()));
        }
        W::Policy::named(id).map(Self::Policy)
    }

    /// What a person calls it.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Policy(policy) => W::label(*policy).to_owned(),
            Self::Trained => "GRPO (trained here)".to_owned(),
            Self::Replay(name) => format!("Replay {name}"),
            Self::You => "You".to_owned(),
        }
    }

    /// One sentence about it.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Policy(policy) => W::describe(*policy),
            Self::Trained => {
                "A small network, trained with GRPO on public observations only; takes the likeliest action"
            }
            Self::Replay(_) => "Plays recorded actions; every number is computed again here",
            Self::You => "You choose every action",
        }
    }
}

/// Whether a file of this name can be named in an address.
pub fn plain_name(name: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
    let fits = !name.is_empty() && name.len() <= 80 && name.chars().all(plain);
    fits && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Cluster;
    use crate::trust::Trust;

    fn survive<W: World>(others: &[Source<W>]) {
        let scripted = W::Policy::all()
            .iter()
            .map(|policy| Source::Policy(*policy));
        for source in scripted.chain(others.iter().cloned()) {
            assert_eq!(Source::parse(&source.id()), Some(source));
        }
    }

    #[test]
    fn every_source_survives_its_word() {
        survive::<Trust>(&[
            Source::Trained,
            Source::Replay("grpo".to_owned()),
            Source::You,
        ]);
        survive::<Cluster>(&[Source::You]);
        assert_eq!(Source::<Trust>::parse("grpo"), Some(Source::Trained));
        for none in ["GRPO", "grpo ", "replay:", "trained", ""] {
            assert_eq!(Source::<Trust>::parse(none), None, "{none}");
        }
        assert_eq!(Source::<Cluster>::parse("bayes"), None);
    }
}
