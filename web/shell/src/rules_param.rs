//! The `rules` parameter of the address: a named rule set with single changes that are added or
//! left out, such as `hardened-completion`.

use sentinel_page_protocol::WorldInfo;

/// A parsed `rules` parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RulesParam {
    /// Name of the rule set.
    pub base: String,
    /// Changes that are added to the set or left out of it.
    pub toggled: Vec<String>,
}

impl RulesParam {
    /// Parses the parameter; an empty `word` means the first named set.
    #[must_use]
    pub fn new(word: &str, info: &WorldInfo) -> Self {
        let mut param = word.split(['+', '-']);
        let base = param.next().filter(|base| !base.is_empty());
        let first = info.rules.first().map_or("", |rules| rules.name.as_str());
        Self {
            base: base.unwrap_or(first).to_owned(),
            toggled: param.map(str::to_owned).collect(),
        }
    }

    /// Returns `true` if the rules include `change`. The first named set is the reference, which
    /// includes none of the changes; every other set includes all of them.
    #[must_use]
    pub fn has(&self, change: &str, info: &WorldInfo) -> bool {
        let toggled = self.toggled.iter().any(|name| name == change);
        self.base_has_all(info) != toggled
    }

    /// Adds a change to the rules, or removes it.
    pub fn toggle(&mut self, change: &str) {
        let before = self.toggled.len();
        self.toggled.retain(|name| name != change);
        if self.toggled.len() == before {
            self.toggled.push(change.to_owned());
        }
    }

    /// Returns the parameter as the address writes it.
    #[must_use]
    pub fn to_param(&self, info: &WorldInfo) -> String {
        let sign = if self.base_has_all(info) { '-' } else { '+' };
        let mut word = self.base.clone();
        for change in &self.toggled {
            word.push(sign);
            word.push_str(change);
        }
        word
    }

    fn base_has_all(&self, info: &WorldInfo) -> bool {
        info.rules
            .first()
            .is_some_and(|rules| rules.name != self.base)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::Choice;

    #[test]
    fn changes_are_added_to_the_reference_and_taken_from_other_sets() {
        let rules = |name: &str| Choice {
            name: name.to_owned(),
            ..Choice::default()
        };
        let info = WorldInfo {
            rules: vec![rules("reference"), rules("hardened")],
            ..WorldInfo::default()
        };
        let mut param = RulesParam::new("", &info);
        assert!(!param.has("health", &info));
        param.toggle("health");
        param.toggle("budget");
        assert_eq!(param.to_param(&info), "reference+health+budget");
        assert_eq!(RulesParam::new("reference+health+budget", &info), param);
        param.toggle("health");
        assert_eq!(param.to_param(&info), "reference+budget");
        let mut param = RulesParam::new("hardened-completion", &info);
        assert!(param.has("health", &info) && !param.has("completion", &info));
        param.toggle("completion");
        assert_eq!(param.to_param(&info), "hardened");
    }
}
