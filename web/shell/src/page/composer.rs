//! Actions of the visitor: taken with a button, composed of parts, or made by dropping one card on another.

use sentinel_page_protocol::Verb;

use super::*;
use crate::draft_action::{CheckedAction, DraftAt};

impl Page {
    /// Takes an action of the visitor at the cursor; the episode branches there.
    pub fn take_action(&self, code: &str) {
        let at = self.main.at.get_untracked();
        let played = self.main.steps.get_untracked();
        self.playing.set(false);
        self.state
            .update(|state| state.take_action(&played, at, code));
        self.note_own_action();
        let verbs = self.verbs();
        self.composer.draft.update(|draft| draft.clear(&verbs));
    }

    /// Asks the engine what would go wrong with a draft action at the cursor.
    pub fn check_action(&self, code: &str) {
        let DraftAt { run, at, code } = self.draft_at(code);
        self.send(Role::Play, &Request::Check { run, at, code });
    }

    /// Takes a draft action at the cursor, completed by the engine, unless the engine finds something wrong
    /// with it. It is checked first if the engine has not answered yet.
    pub fn take_if_valid(&self, code: &str) {
        let draft = self.draft_at(code);
        let checked = self.composer.checked.get_untracked();
        if checked.about == draft {
            if checked.warning.is_empty() {
                self.take_action(&checked.completed);
            }
            return;
        }
        self.composer.taken_if_valid.set_value(Some(draft));
        self.check_action(code);
    }

    /// Drops the dragged card, whose part is chosen already, on the card with this code: an action with
    /// both parts is taken, unless the engine finds something wrong with it.
    pub fn drop_on_card(&self, code: &str) {
        let Some(letter) = code.chars().next() else {
            return;
        };
        let verbs = self.verbs();
        self.composer.draft.update(|draft| {
            draft.set_part(letter, code);
            draft.fit_verb(&verbs);
        });
        self.take_if_valid(&self.draft_code());
    }

    /// Takes the engine's answer about a draft action.
    pub(super) fn handle_checked(&self, checked: CheckedAction) {
        let waits = self.composer.taken_if_valid;
        if waits.with_value(|draft| draft.as_ref() == Some(&checked.about)) {
            waits.set_value(None);
            // The visitor may have gone on since.
            let is_current = checked.about == self.draft_at(&self.draft_code());
            if is_current && checked.warning.is_empty() {
                return self.take_action(&checked.completed);
            }
        }
        self.composer.checked.set(checked);
    }

    fn draft_at(&self, code: &str) -> DraftAt {
        DraftAt {
            run: self.main.run.get_value(),
            at: to_u32(self.main.at.get_untracked()),
            code: code.to_owned(),
        }
    }

    /// Returns the code of the draft action.
    fn draft_code(&self) -> String {
        let verbs = self.verbs();
        self.composer.draft.with_untracked(|draft| {
            let verb = verbs.get(draft.verb);
            verb.map_or_else(String::new, |verb| draft.code(verb))
        })
    }

    fn verbs(&self) -> Vec<Verb> {
        let verbs = |info: &Option<Arc<WorldInfo>>| info.as_ref().map(|info| info.verbs.clone());
        self.info.with_untracked(verbs).unwrap_or_default()
    }
}
