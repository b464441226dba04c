//! Patterns of file names, as `hf upload` has them.

use super::HubError;

/// A pattern such as `*.json` or `runs/*`, in which `*` stands for any characters, slashes
/// included, and `?` for one. A pattern that ends in `/` stands for all files of that folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GlobPattern(Vec<char>);

impl GlobPattern {
    /// Returns a pattern.
    ///
    /// # Errors
    /// Returns an error if the text is empty, or has brackets: sets of characters are not
    /// supported.
    pub(super) fn new(text: &str) -> Result<Self, HubError> {
        if text.is_empty() || text.contains(['[', ']']) {
            return Err(HubError::Pattern(text.to_owned()));
        }
        let all = if text.ends_with('/') { "*" } else { "" };
        Ok(Self(text.chars().chain(all.chars()).collect()))
    }

    /// Returns the patterns of a list of options.
    ///
    /// # Errors
    /// Returns an error if one of them is not a pattern.
    pub(super) fn parse_all(texts: &[String]) -> Result<Vec<Self>, HubError> {
        texts.iter().map(|text| Self::new(text)).collect()
    }

    /// Returns `true` if the whole name fits.
    pub(super) fn matches(&self, name: &str) -> bool {
        let name: Vec<char> = name.chars().collect();
        let (mut at, mut from) = (0, 0);
        // The position after the last star, and where in the name its match ends.
        let mut star: Option<(usize, usize)> = None;
        while from < name.len() {
            match (self.0.get(at), star) {
                (Some('*'), _) => {
                    star = Some((at + 1, from));
                    at += 1;
                }
                (Some(c), _) if *c == '?' || Some(c) == name.get(from) => {
                    at += 1;
                    from += 1;
                }
                (_, Some((after, end))) => {
                    star = Some((after, end + 1));
                    (at, from) = (after, end + 1);
                }
                (_, None) => return false,
            }
        }
        self.0.iter().skip(at).all(|c| *c == '*')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_stars_match_across_folders() -> Result<(), HubError> {
        for (pattern, name, fits) in [
            ("*", "a/b.json", true),
            ("*.json", "a/b.json", true),
            ("*.json", "a.jsonl", false),
            ("a/", "a/b/c", true),
            ("a/", "ab", false),
            ("a?c*e", "abcde", true),
            ("a*b*c", "aXbXbc", true),
            ("a*b*c", "aXbXb", false),
            ("", "", false),
            ("[a]", "a", false),
        ] {
            let found = GlobPattern::new(pattern).is_ok_and(|pattern| pattern.matches(name));
            assert_eq!(found, fits, "{pattern} {name}");
        }
        Ok(())
    }
}
