//! Actions of the trust world as an address writes them: `d3` delegates to S3, `v3` verifies it, `s`
//! solves alone, `k` skips.

use sentinel_env::slot::Slot;
use sentinel_env::trust::Action;

/// Appends the code of an action to `out`.
pub(super) fn write(action: Action, out: &mut String) {
    let (letter, slot) = match action {
        Action::Delegate(slot) => ('d', Some(slot)),
        Action::Verify(slot) => ('v', Some(slot)),
        Action::SolveIndependently => ('s', None),
        Action::Skip => ('k', None),
    };
    out.push(letter);
    out.extend(slot.and_then(|slot| char::from_digit(slot.index() as u32, 10)));
}

/// Parses the first action of `text` and removes it from `text`.
pub(super) fn read(text: &mut &str) -> Option<Action> {
    let mut letters = text.chars();
    let letter = letters.next()?;
    let mut slot = || Slot::new(letters.next()?.to_digit(10)? as usize);
    let action = match letter {
        'd' => Action::Delegate(slot()?),
        'v' => Action::Verify(slot()?),
        's' => Action::SolveIndependently,
        'k' => Action::Skip,
        _ => return None,
    };
    *text = letters.as_str();
    Some(action)
}

/// Returns the code of an action.
pub(super) fn code(action: Action) -> String {
    let mut out = String::new();
    write(action, &mut out);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_action_is_read_as_written() {
        for action in Action::ALL {
            let text = code(action) + "k";
            let mut rest = text.as_str();
            assert_eq!((read(&mut rest), rest), (Some(action), "k"));
        }
        for bad in ["", "x", "d", "d5", "vx", "é"] {
            assert_eq!(read(&mut &*bad), None, "{bad}");
        }
    }
}
