//! Who plays an episode.

use sentinel_policy::PolicyName;

/// Who acts: a scripted policy, a replay file, or the person at the page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// A scripted policy.
    Policy(PolicyName),
    /// A replay by the name of its file, without `.jsonl`.
    Replay(String),
    /// The person at the page.
    You,
}

const REPLAY: &str = "replay:";

impl Source {
    /// The word in the address and in menus.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::Policy(policy) => policy.name().to_owned(),
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
            Self::Replay(name) => format!("Replay {name}"),
            Self::You => "You".to_owned(),
        }
    }

    /// One sentence about it.
    #[must_use]
    pub fn describe(&self) -> &'static str {
        match self {
            Self::Policy(policy) => policy.describe(),
            Self::Replay(_) => "Plays recorded actions; every number is computed again here",
            Self::You => "You choose every action",
        }
    }
}
