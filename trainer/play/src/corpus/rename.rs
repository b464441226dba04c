//! Replacement names for the things that a row names, such as medicines (`sentinel lm corpus
//! --rename-prob`).
//!
//! Training shows a model only some of the names that it will meet. A model that has learned them by
//! heart writes one of them where it should copy a new one; in rows whose names can be any, only copying
//! from the prompt gives the right completion.

use sentinel_base::rng::Rng;

/// The share of the renamed rows whose names are replaced by known ones, drawn from all that the split
/// has; in the other rows they are replaced by made-up ones.
const KNOWN_SHARE: f64 = 0.3;
/// The share of the names that are kept in a row with made-up ones.
const KEPT_SHARE: f64 = 0.4;
/// The sounds of which new words consist.
const CONSONANTS: [&str; 16] = [
    "b", "c", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "x", "z",
];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];

/// The names that replace those of a row.
#[derive(Clone, Debug, Default)]
pub(super) struct Renaming(Vec<(&'static str, String)>);

impl Renaming {
    /// Draws replacements for those of the names `known` that are words of `prompt`. No two get the same
    /// one, and a made-up name is neither one of `known` nor a word of the prompt.
    pub(super) fn draw(known: &[&'static str], prompt: &str, rng: &mut Rng) -> Self {
        let mut present: Vec<&'static str> = Vec::new();
        for word in words(prompt) {
            let name = known.iter().find(|name| **name == word);
            present.extend(name.filter(|name| !present.contains(name)));
        }
        if rng.uniform() < KNOWN_SHARE {
            let mut others = known.to_vec();
            rng.shuffle(&mut others);
            let others = others.into_iter().map(str::to_owned);
            return Self(present.into_iter().zip(others).collect());
        }
        let mut renaming = Self::default();
        for name in present {
            if rng.uniform() < KEPT_SHARE {
                continue;
            }
            // A name is drawn again if it is taken, which is rare.
            let new = loop {
                let new = made_up(name, known, rng);
                let taken = renaming.0.iter().any(|(_, other)| *other == new);
                if !taken && !known.contains(&new.as_str()) && words(prompt).all(|word| word != new)
                {
                    break new;
                }
            };
            renaming.0.push((name, new));
        }
        renaming
    }

    /// Returns `text` with the replacement names.
    pub(super) fn apply(&self, text: &str) -> String {
        let new = |word: &str| {
            let found = self.0.iter().find(|(old, _)| *old == word);
            found.map_or_else(|| word.to_owned(), |(_, new)| new.clone())
        };
        words(text).map(new).collect()
    }
}

/// Splits a text into words of letters, digits and `_`, and the single characters between them.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let end = rest.find(|c| !is_part(c)).unwrap_or(rest.len());
        let end = match rest.chars().next()? {
            first if end == 0 => first.len_utf8(),
            _ => end,
        };
        let (word, after) = rest.split_at(end);
        rest = after;
        Some(word)
    })
}

/// Makes up a name from one to three words, each the first word of a known name or a new one, and the
/// last word of `name`, which tells the kind of thing.
fn made_up(name: &str, known: &[&str], rng: &mut Rng) -> String {
    let mut parts = Vec::new();
    for _ in 0..1 + rng.below(3) {
        let of_known = rng.below(2) == 0;
        parts.push(if of_known {
            let name = known[rng.below(known.len())];
            name.split('_').next().unwrap_or(name).to_owned()
        } else {
            new_word(rng)
        });
    }
    parts.extend(name.rsplit_once('_').map(|(_, kind)| kind.to_owned()));
    parts.join("_")
}

fn new_word(rng: &mut Rng) -> String {
    let syllables = 2 + rng.below(3);
    let sounds = (0..syllables).flat_map(|_| {
        let consonant = CONSONANTS[rng.below(CONSONANTS.len())];
        [consonant, VOWELS[rng.below(VOWELS.len())]]
    });
    sounds.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 4] = ["ab_like", "b_like", "cd_e_like", "non_opioid"];

    #[test]
    fn only_whole_words_are_replaced() {
        let one = |old, new: &str| (old, new.to_owned());
        let renaming = Renaming(vec![one("b_like", "x"), one("x", "y")]);
        assert_eq!(
            renaming.apply("ab_like (b_like)→b_like, x"),
            "ab_like (x)→x, y"
        );
        assert_eq!(Renaming::default().apply(" ä b_like\n"), " ä b_like\n");
    }

    /// Whatever is drawn, different names stay different, and everything else stays.
    #[test]
    fn names_stay_apart() {
        let prompt = "b_like > ab_like: STOP non_opioid = cand_01, b_like";
        let (mut same, mut made_up) = (0, 0);
        for seed in 0..500 {
            let renamed = Renaming::draw(&KNOWN, prompt, &mut Rng::new(seed, &[])).apply(prompt);
            let found: Vec<&str> = words(&renamed).collect();
            let (a, b, c) = (found[0], found[4], found[9]);
            assert_eq!(
                renamed,
                format!("{a} > {b}: STOP {c} = cand_01, {a}"),
                "{seed}"
            );
            assert!(a != b && b != c && a != c, "{renamed}");
            same += u32::from(renamed == prompt);
            made_up += u32::from(!KNOWN.contains(&a));
        }
        assert!(
            same < 60 && (150..300).contains(&made_up),
            "{same} {made_up}"
        );
    }
}
