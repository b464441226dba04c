//! Who plays an episode.

use sentinel_policy::PolicyName;

/// Who acts: a scripted policy, the trained one, a replay file, or the person at the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A scripted policy.
    Policy(PolicyName),
    /// The policy that was trained here; its weights are a file that is fetched.
    Trained,
    /// A replay by the name of its file, without `.jsonl`.
    Replay(String),
    /// The person at the page.
    You,
}

const REPLAY: &str = "replay:";
const TRAINED: &str = "grpo";

impl Source {
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
        if id == TRAINED {
            return Some(Self::Trained);
        }
        if let Some(name) = id.strip_prefix(REPLAY) {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_. ".contains(c);
            let fits = !name.is_empty() && name.len() <= 80 && name.chars().all(plain);
            return (fits && !name.contains("..")).then(|| Self::Replay(name.to_owned()));
        }
        PolicyName::parse(id).map(Self::Policy)
    }

    /// What a person calls it.
    #[must_use]
    pub fn label(&self) -> String {
        match self {
            Self::Policy(PolicyName::Random) => "Random".to_owned(),
            Self::Policy(PolicyName::Heuristic) => "Heuristic".to_owned(),
            Self::Policy(PolicyName::Heuristic70) => {
                "Heuristic .70 (published as “GRPO”)".to_owned()
            }
            Self::Policy(PolicyName::OracleLite) => "Oracle (sees the truth)".to_owned(),
            Self::Policy(PolicyName::SelfSolve) => "Self-solve".to_owned(),
            Self::Policy(PolicyName::Bayes) => "Bayes look-ahead".to_owned(),
            Self::Policy(PolicyName::Oracle) => "Bayes, told the truth".to_owned(),
            Self::Trained => "GRPO (trained here)".to_owned(),
            Self::Replay(name) => format!("Replay {name}"),
            Self::You => "You".to_owned(),
        }
    }

    /// One sentence about it.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Policy(policy) => policy.describe(),
            Self::Trained => {
                "A small network, trained with GRPO on public observations only; takes the likeliest action"
            }
            Self::Replay(_) => "Plays recorded actions; every number is computed again here",
            Self::You => "You choose every action",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_source_survives_its_word() {
        let scripted = PolicyName::ALL.map(Source::Policy);
        let others = [
            Source::Trained,
            Source::Replay("grpo".to_owned()),
            Source::You,
        ];
        for source in scripted.into_iter().chain(others) {
            assert_eq!(Source::parse(&source.id()), Some(source));
        }
        assert_eq!(Source::parse("grpo"), Some(Source::Trained));
        for none in ["GRPO", "grpo ", "replay:", "trained", ""] {
            assert_eq!(Source::parse(none), None, "{none}");
        }
    }
}
