//! An action that the visitor composes of a verb and parts, in menus or by picking cards.

use leptos::prelude::StoredValue;
use sentinel_page_protocol::{Slot, Verb};

use crate::reactive::Signal;

/// A draft action at a place of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftAt {
    /// Number of the run.
    pub run: u32,
    /// Number of actions before it.
    pub at: u32,
    /// The action as the address writes it.
    pub code: String,
}

/// The engine's answer about a draft action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CheckedAction {
    /// The draft action that was checked.
    pub about: DraftAt,
    /// The same action with the parts that the world suggests where the rules ask for them.
    pub completed: String,
    /// The completed action in words; empty if the code is not an action.
    pub label: String,
    /// Sentence about what would go wrong; empty if nothing is known.
    pub warning: String,
}

/// Returns the part with `letter` of the code of an action, which starts with the letter of its verb.
#[must_use]
pub fn part_of(code: &str, letter: char) -> Option<&str> {
    let start = code.char_indices().skip(1).find(|(_, c)| *c == letter)?.0;
    let digits = code[start + 1..].bytes().take_while(u8::is_ascii_digit);
    Some(&code[start..start + 1 + digits.count()])
}

/// The verb and the parts that the visitor has chosen so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DraftAction {
    /// Index into the world's verbs.
    pub verb: usize,
    /// Codes of the chosen cards, such as `j12`; each starts with the letter of its slot.
    pub parts: Vec<String>,
    /// `true` if the verb's switch is on.
    pub flag: bool,
    /// `true` once the visitor has chosen something.
    pub is_touched: bool,
}

impl DraftAction {
    /// Returns the code of the card chosen for a slot; empty if there is none.
    #[must_use]
    pub fn part(&self, slot: &Slot) -> &str {
        let part = self.parts.iter().find(|part| part.starts_with(slot.letter));
        part.map_or("", String::as_str)
    }

    /// Chooses the card for the slot with `letter`; an empty `code` clears the slot.
    pub fn set_part(&mut self, letter: char, code: &str) {
        self.parts.retain(|part| !part.starts_with(letter));
        if code.starts_with(letter) {
            self.parts.push(code.to_owned());
        }
        self.is_touched = true;
    }

    /// Chooses the card with this code, or clears its slot if it is already chosen.
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

    /// Returns the action as the address writes it: the letter of the verb, the parts in slot
    /// order, and the code of the switch.
    #[must_use]
    pub fn code(&self, verb: &Verb) -> String {
        let mut code = verb.code.clone();
        for slot in &verb.slots {
            code.push_str(self.part(slot));
        }
        if let (true, Some(flag)) = (self.flag, &verb.flag) {
            // The switch either replaces the letter of the verb or follows the parts.
            if flag.name.len() == 1 && verb.code.len() == 1 {
                code.replace_range(..1, &flag.name);
            } else {
                code.push_str(&flag.name);
            }
        }
        code
    }

    /// Chooses the first of the verbs that has a slot for each chosen part, unless the present one does.
    pub fn fit_verb(&mut self, verbs: &[Verb]) {
        let takes = |verb: &Verb| {
            let has = |part: &String| verb.slots.iter().any(|slot| part.starts_with(slot.letter));
            self.parts.iter().all(has)
        };
        if !verbs.get(self.verb).is_some_and(takes)
            && let Some(found) = verbs.iter().position(takes)
        {
            self.verb = found;
        }
    }

    /// Clears the parts after the action was taken, except those for slots that are kept. The verb stays,
    /// since the next action is likely of the same kind.
    pub fn clear(&mut self, verbs: &[Verb]) {
        let slots = || verbs.iter().flat_map(|verb| &verb.slots);
        let is_kept = |part: &String| slots().any(|s| s.is_kept && part.starts_with(s.letter));
        self.parts.retain(is_kept);
        self.flag = false;
        self.is_touched = false;
    }
}

/// Signals of the form that composes an action.
#[derive(Clone, Copy, Debug)]
pub struct ComposerSignals {
    /// The draft action, which menus and cards change.
    pub draft: Signal<DraftAction>,
    /// Latest answer of the engine about the draft action.
    pub checked: Signal<CheckedAction>,
    /// Code of the card that is dragged; empty for none.
    pub dragged: StoredValue<String>,
    /// Action that is taken once the engine has found nothing wrong with it.
    pub taken_if_valid: StoredValue<Option<DraftAt>>,
}

impl Default for ComposerSignals {
    fn default() -> Self {
        Self {
            draft: Signal::new(DraftAction::default()),
            checked: Signal::new(CheckedAction::default()),
            dragged: StoredValue::default(),
            taken_if_valid: StoredValue::default(),
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
        draft.clear(&[]);
        assert_eq!(draft, DraftAction::default());
    }

    #[test]
    fn a_verb_fits_what_was_dropped_and_kept_parts_stay() {
        let mut verbs = [verb("p", "jw", None), verb("a", "jgw", None)];
        verbs[1].slots[2].is_kept = true;
        let mut draft = DraftAction::default();
        draft.set_part('j', "j3");
        draft.fit_verb(&verbs);
        assert_eq!(draft.verb, 0);
        draft.set_part('g', "g1");
        draft.set_part('w', "w2");
        draft.fit_verb(&verbs);
        assert_eq!(draft.code(&verbs[draft.verb]), "aj3g1w2");
        draft.clear(&verbs);
        assert_eq!(draft.parts, ["w2"]);
    }

    #[test]
    fn a_suggested_part_is_found_in_the_code() {
        assert_eq!(part_of("aj12g3w4", 'g'), Some("g3"));
        assert_eq!(part_of("aj12g3w4", 'w'), Some("w4"));
        assert_eq!(part_of("aj12", 'a'), None);
        assert_eq!(part_of("t", 'j'), None);
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
