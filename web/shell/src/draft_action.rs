//! An action that is composed of a verb and of parts, in menus or by pointing at cards.

use sentinel_page_protocol::{Slot, Verb};

use crate::reactive::Signal;

/// The engine's answer about a composed action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedAction {
    /// The action.
    pub code: String,
    /// The action in words.
    pub label: String,
    /// What would go wrong; empty if nothing is known to.
    pub warning: String,
}

/// The parts that are chosen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftAction {
    /// Index of the verb.
    pub verb: usize,
    /// Codes of cards, such as `j12`; each begins with the letter of its slot.
    pub parts: Vec<String>,
    /// `true` if the verb's switch is on.
    pub flag: bool,
    /// `true` once the visitor chose something.
    pub is_touched: bool,
}

impl DraftAction {
    /// Returns the code of the part for a slot; empty if it is left out.
    #[must_use]
    pub fn part(&self, slot: &Slot) -> &str {
        let part = self.parts.iter().find(|part| part.starts_with(slot.letter));
        part.map_or("", String::as_str)
    }

    /// Chooses the part for the slot that its letter names, or takes it back with an empty rest.
    pub fn set_part(&mut self, letter: char, code: &str) {
        self.parts.retain(|part| !part.starts_with(letter));
        if code.starts_with(letter) {
            self.parts.push(code.to_owned());
        }
        self.is_touched = true;
    }

    /// Chooses the card with this code, or takes it back if it is chosen.
    pub fn toggle_card(&mut self, code: &str) {
        let Some(letter) = code.chars().next() else {
            return;
        };
        let rest = if self.parts.iter().any(|part| part == code) {
            ""
        } else {
            code
        };
        self.set_part(letter, rest);
    }

    /// Returns the action as the address writes it: the letter of the verb, the parts in the order
    /// of its slots, and the code of its switch.
    #[must_use]
    pub fn code(&self, verb: &Verb) -> String {
        let mut code = verb.code.clone();
        for slot in &verb.slots {
            code.push_str(self.part(slot));
        }
        if let (true, Some(flag)) = (self.flag, &verb.flag) {
            // The switch of a verb may be another letter in its place, or follow it.
            if flag.name.len() == 1 && verb.code.len() == 1 {
                code.replace_range(..1, &flag.name);
            } else {
                code.push_str(&flag.name);
            }
        }
        code
    }

    /// Forgets the parts after the action was taken; the next one is likely of the same verb.
    pub fn clear(&mut self) {
        self.parts.clear();
        self.flag = false;
        self.is_touched = false;
    }
}

/// The signals of the composer.
#[derive(Clone, Copy, Debug)]
pub struct ComposerSignals {
    /// What is chosen.
    pub draft: Signal<DraftAction>,
    /// The latest answer of the engine.
    pub checked: Signal<CheckedAction>,
}

impl Default for ComposerSignals {
    fn default() -> Self {
        Self {
            draft: Signal::new(DraftAction::default()),
            checked: Signal::new(CheckedAction::default()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::Choice;

    fn verb(code: &str, letters: &str, flag: Option<&str>) -> Verb {
        let slot = |letter| Slot {
            letter,
            ..Slot::default()
        };
        Verb {
            code: code.to_owned(),
            slots: letters.chars().map(slot).collect(),
            flag: flag.map(|name| Choice {
                name: name.to_owned(),
                ..Choice::default()
            }),
            ..Verb::default()
        }
    }

    #[test]
    fn parts_follow_the_order_of_the_slots() {
        let mut draft = DraftAction::default();
        let allocate = verb("a", "jgw", None);
        assert_eq!(draft.code(&allocate), "a");
        draft.toggle_card("w4");
        draft.toggle_card("j12");
        assert_eq!(draft.code(&allocate), "aj12w4");
        draft.toggle_card("g3");
        draft.toggle_card("j7");
        assert_eq!(draft.code(&allocate), "aj7g3w4");
        assert_eq!(draft.code(&verb("p", "jw", None)), "pj7w4");
        assert_eq!(draft.code(&verb("t", "", None)), "t");
        draft.toggle_card("g3");
        draft.set_part('w', "");
        assert_eq!(draft.code(&allocate), "aj7");
        draft.toggle_card("");
        draft.clear();
        assert_eq!(draft, DraftAction::default());
    }

    #[test]
    fn a_switch_changes_the_code() {
        let mut draft = DraftAction::default();
        draft.toggle_card("j2");
        draft.flag = true;
        assert_eq!(draft.code(&verb("v", "jw", Some("f"))), "fj2");
        assert_eq!(draft.code(&verb("v", "jw", Some("-flag"))), "vj2-flag");
        assert_eq!(draft.code(&verb("v", "jw", None)), "vj2");
    }
}
