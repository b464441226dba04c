//! The filter that keeps held-out archetypes and pairs of PolyGuard out of a corpus.
//!
//! The tables mark 9 archetypes and 22 pairs of the extended formulary as held out (spec polyguard
//! §2). A text is about a held-out archetype if it names it, and about a held-out pair if it names
//! both of its archetypes. Texts from elsewhere name medicines and not archetypes, so a list of
//! common names stands beside this file; it is a filter of words, not a table of the world, and a
//! paraphrase escapes it.

use std::collections::BTreeMap;

use sentinel_env::polyguard::{ArchetypeId, Formulary};
use serde::Serialize;

/// The common names of archetypes that are held out or in held-out pairs.
const NAMES: &str = include_str!("names.csv");

/// The reason why a text is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum HoldoutMatch {
    /// The text names a held-out archetype.
    Archetype,
    /// The text names both archetypes of a held-out pair.
    Pair,
}

/// The names of all archetypes, and what is held out.
#[derive(Debug)]
pub struct HoldoutFilter {
    /// Archetypes by the words of a name, joined by single spaces.
    names: BTreeMap<String, ArchetypeId>,
    /// The number of words of the longest name.
    longest: usize,
    /// The held-out archetypes, as bits.
    archetypes: u64,
    /// Both archetypes of each held-out pair, as bits.
    pairs: Vec<u64>,
}

impl Default for HoldoutFilter {
    fn default() -> Self {
        Self::new()
    }
}

impl HoldoutFilter {
    /// Returns the filter of the extended formulary, whose names the other one shares.
    #[must_use]
    pub fn new() -> Self {
        let formulary = Formulary::extended();
        let mut names = BTreeMap::new();
        for id in formulary.ids() {
            let name = &formulary.get(id).name;
            names.insert(words(name).join(" "), id);
            if let Some(short) = name.strip_suffix("_like") {
                names.insert(words(short).join(" "), id);
            }
        }
        for line in NAMES.lines().skip(1) {
            let (archetype, listed) = line.split_once(',').unwrap_or_default();
            let Some(id) = formulary.find(archetype) else {
                continue;
            };
            names.extend(listed.split(';').map(|name| (words(name).join(" "), id)));
        }
        let held_out = |pair: &&sentinel_env::polyguard::Pair| pair.held_out;
        let pairs = formulary.pairs().iter().filter(held_out);
        let longest = names.keys().map(|name| name.split(' ').count()).max();
        Self {
            longest: longest.unwrap_or(0),
            names,
            archetypes: formulary.held_out(),
            pairs: pairs
                .map(|pair| pair.first.bit() | pair.second.bit())
                .collect(),
        }
    }

    /// Returns the reason why a text is about something held out; `None` if it is not.
    #[must_use]
    pub fn check(&self, text: &str) -> Option<HoldoutMatch> {
        let named = self.named(text);
        if named & self.archetypes != 0 {
            Some(HoldoutMatch::Archetype)
        } else if self.pairs.iter().any(|pair| named & pair == *pair) {
            Some(HoldoutMatch::Pair)
        } else {
            None
        }
    }

    /// Returns the archetypes that a text names, as bits. The longest name at a place counts, so
    /// that `topical_nsaid_like` does not name `nsaid_like`.
    fn named(&self, text: &str) -> u64 {
        let mut found = 0;
        for phrase in phrases(text) {
            let mut at = 0;
            while at < phrase.len() {
                let mut lengths = (1..=self.longest.min(phrase.len() - at)).rev();
                let name = lengths.find_map(|count| {
                    let id = self.find(&phrase[at..at + count])?;
                    Some((count, id))
                });
                at += name.map_or(1, |(count, _)| count);
                found |= name.map_or(0, |(_, id)| id.bit());
            }
        }
        found
    }

    /// Returns the archetype with this name, in the singular or the plural.
    fn find(&self, words: &[String]) -> Option<ArchetypeId> {
        let name = words.join(" ");
        let singular = || self.names.get(name.strip_suffix('s')?);
        self.names.get(&name).or_else(singular).copied()
    }
}

/// Returns the words of a name in lower case.
fn words(name: &str) -> Vec<String> {
    phrases(name).concat()
}

/// Returns the phrases of a text, as words in lower case. White space, `_`, `-` and `'` separate
/// words; other signs, and a dash in front of a word, separate phrases, which no name crosses.
fn phrases(text: &str) -> Vec<Vec<String>> {
    let mut phrases = vec![Vec::new()];
    let mut word = String::new();
    for sign in text.chars().chain(['.']) {
        if sign.is_alphanumeric() {
            word.extend(sign.to_lowercase());
            continue;
        }
        let is_inside = sign.is_whitespace() || (!word.is_empty() && "_-'’".contains(sign));
        if let Some(phrase) = phrases.last_mut().filter(|_| !word.is_empty()) {
            phrase.push(std::mem::take(&mut word));
        }
        if !is_inside {
            phrases.push(Vec::new());
        }
    }
    phrases
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listed_names_cover_held_out_archetypes() {
        let formulary = Formulary::extended();
        for line in NAMES.lines().skip(1) {
            let archetype = line.split(',').next().unwrap_or_default();
            assert!(formulary.find(archetype).is_some(), "{line}");
        }
        let held_out = formulary.held_out();
        let pairs = formulary.pairs().iter().filter(|pair| pair.held_out);
        let concerned = pairs.fold(held_out, |all, p| all | p.first.bit() | p.second.bit());
        for id in formulary.ids().filter(|id| concerned & id.bit() != 0) {
            let name = &formulary.get(id).name;
            let is_listed = NAMES
                .lines()
                .any(|line| line.split(',').next() == Some(name));
            assert!(is_listed, "{name} has no common names");
        }
    }

    #[test]
    fn holdout_check_finds_archetypes_and_pairs() {
        let (holdout, formulary) = (HoldoutFilter::new(), Formulary::extended());
        for id in formulary.ids() {
            let name = &formulary.get(id).name;
            let is_held_out = formulary.held_out() & id.bit() != 0;
            let found = holdout.check(&format!("Stop {name}, please."));
            assert_eq!(
                found,
                is_held_out.then_some(HoldoutMatch::Archetype),
                "{name}"
            );
        }
        for pair in formulary.pairs() {
            let [a, b] = [pair.first, pair.second].map(|id| &formulary.get(id).name);
            let found = holdout.check(&format!("{b} together with {a}"));
            assert_eq!(found.is_some(), pair.held_out, "{a} and {b}");
        }
    }

    #[test]
    fn holdout_check_handles_common_plural_and_longer_names() {
        let holdout = HoldoutFilter::new();
        for (text, expected) in [
            ("Sildenafil is a tablet.", Some(HoldoutMatch::Archetype)),
            ("TCAs, that is tricyclics", Some(HoldoutMatch::Archetype)),
            ("Z-drugs", Some(HoldoutMatch::Archetype)),
            ("warfarin with clarithromycin", Some(HoldoutMatch::Pair)),
            ("Statins after amiodarone", Some(HoldoutMatch::Pair)),
            ("doac_like beside nsaid_like", Some(HoldoutMatch::Pair)),
            ("doac_like beside topical_nsaid_like", None),
            ("statin_low_interaction_like and antiarrhythmic_like", None),
            ("nonsedating_antihistamine_like", None),
            ("qt, serotonergic\n- opioid_like", None),
            (
                "a potassium-sparing\ndiuretic beside trimethoprim",
                Some(HoldoutMatch::Pair),
            ),
            ("a carbon copy of the garb", None),
            ("", None),
        ] {
            assert_eq!(holdout.check(text), expected, "{text}");
        }
    }
}
