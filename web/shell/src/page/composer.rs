//! Actions of the visitor: taken with a button, composed of parts, or made by dropping one card on another.

use sentinel_page_protocol::Verb;

use super::*;
use crate::draft_action::CheckedAction;

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
        let (run, at) = (
            self.main.run.get_value(),
            to_u32(self.main.at.get_untracked()),
        );
        let code = code.to_owned();
        self.send(Role::Play, &Request::Check { run, at, code });
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
        let code = self.composer.draft.with_untracked(|draft| {
            let verb = verbs.get(draft.verb);
            verb.map_or_else(String::new, |verb| draft.code(verb))
        });
        self.composer.taken_if_valid.set(code.clone());
        self.check_action(&code);
    }

    /// Takes the engine's answer about a draft action.
    pub(super) fn handle_checked(&self, checked: CheckedAction) {
        let waits = self.composer.taken_if_valid;
        let is_taken = waits.with_untracked(|code| !code.is_empty() && *code == checked.code);
        if is_taken {
            waits.set(String::new());
            if checked.warning.is_empty() {
                return self.take_action(&checked.completed);
            }
        }
        self.composer.checked.set(checked);
    }

    fn verbs(&self) -> Vec<Verb> {
        let verbs = |info: &Option<Arc<WorldInfo>>| info.as_ref().map(|info| info.verbs.clone());
        self.info.with_untracked(verbs).unwrap_or_default()
    }
}
