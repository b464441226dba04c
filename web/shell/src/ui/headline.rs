//! The band above an episode: the last action, the state of the episode, and notes about the run.

use sentinel_page_protocol::{Branch, StepAnalysis};

use super::analysis::brief_mistake;
use super::reward::score;
use super::truth::truth_headline;
use super::widgets::meter;
use crate::dom::html::{b, button, div, h1, h2, p, span};
use crate::dom::{El, IntoView, View};
use crate::episode_view::EpisodeView;
use crate::page::Page;
use crate::reactive::{Memo, memo};
use crate::state::{VISITOR, to_u32};

/// Returns the band; `main` is `true` for the episode in which the visitor can act.
#[must_use]
pub fn headline(page: Page, episode: EpisodeView, main: bool) -> El {
    let headline = memo(move || {
        let text = episode
            .frame
            .with(|m| m.as_ref().map(|m| m.headline.clone()));
        text.unwrap_or_else(|| "Starting the world…".to_owned())
    });
    let detail = move || {
        episode
            .frame
            .with(|m| m.as_ref().map_or_else(String::new, |m| m.detail.clone()))
    };
    let standing = move || {
        episode
            .frame
            .with(|m| m.as_ref().map_or_else(String::new, |m| m.standing.clone()))
    };
    let next = move || {
        let next = episode
            .frame
            .with(|m| m.as_ref().map_or_else(String::new, |m| m.next.clone()));
        (!next.is_empty()).then(|| span().child("Next: ").child(b().child(next)))
    };
    let player = move || {
        episode
            .status
            .with(|status| status.episode.player_label.clone())
    };
    let status = move || {
        episode.frame.with(|m| {
            let meters = m.as_ref().map_or(&[][..], |m| m.status.as_slice());
            meters.iter().map(meter).collect::<Vec<El>>()
        })
    };
    // Only the text depends on the frame, so that the element stays.
    let title = if main {
        h1()
    } else {
        h2().class("versus-title")
    };
    let facts = p()
        .class("facts")
        .child(b().child(player))
        .child(span().child(standing))
        .child(next)
        .child(playing(episode));
    let summary = div()
        .class("story")
        // The line about the truth arrives after the others.
        .toggle_class("with-truth", move || {
            page.without_cursor.with(|state| state.truth)
        })
        .child(facts)
        .child(title.child(move || unbroken(&headline.get())))
        .child(p().class("detail").child(detail))
        .child(truth_headline(episode.truth))
        .child(move || mistake(episode));
    // A screen reader is told the result of the visitor's own action, with where it leads.
    let heard = memo(move || {
        let at = episode.at.get();
        let own = episode
            .steps
            .with(|steps| at > 0 && steps.get(at - 1).is_some_and(|s| s.own));
        let frame = episode.frame.get().filter(|_| main && own)?;
        Some(format!("{} {}", frame.headline, frame.detail))
    });
    let heard = p()
        .class("sr")
        .id("heard")
        .attr("role", "status")
        .child(move || heard.get().unwrap_or_default());
    div()
        .class("headline")
        .child(main.then_some(heard))
        .child(summary)
        .child(
            div()
                .class("gauges")
                .hidden(move || episode.frame.with(Option::is_none))
                .child(score(episode))
                .child(div().class("status").child(status)),
        )
        .child(
            // Drawn at once with what they stand below.
            div()
                .class("run-notes")
                .hidden(move || episode.frame.with(Option::is_none))
                .child(notes(page, episode, main)),
        )
}

/// Returns the sentence about the last action if the analysis found it to be a mistake.
fn mistake(episode: EpisodeView) -> Option<El> {
    let action = episode.at.get();
    let line = |step: &StepAnalysis| brief_mistake(action, step);
    episode.with_judged_step(line).flatten()
}

/// Splits a text so that names such as JOB-013 are not broken after their hyphen.
fn unbroken(text: &str) -> Vec<View> {
    let is_name = |word: &str| word.contains('-') && word.contains(|c: char| c.is_ascii_digit());
    let mut parts = Vec::new();
    let mut plain = String::new();
    for (index, word) in text.split(' ').enumerate() {
        if index > 0 {
            // Nor is a number separated from its percent sign.
            plain.push(if word.starts_with('%') { '\u{a0}' } else { ' ' });
        }
        if is_name(word) {
            parts.push(std::mem::take(&mut plain).into_view());
            let name = span().class("unbroken").child(word.to_owned());
            parts.push(name.into_view());
        } else {
            plain.push_str(word);
        }
    }
    parts.push(plain.into_view());
    parts
}

/// Returns the number of actions of an episode that is still played. It stands in the line of facts, so
/// that nothing below it moves.
fn playing(episode: EpisodeView) -> View {
    let playing = move || {
        let waits = episode
            .status
            .with(|status| !status.complete && !status.episode.player.is_empty());
        waits.then(|| {
            let text = format!("Playing… {} actions so far", episode.action_count());
            let note = span().attr("data-note", "playing").attr("role", "status");
            note.child(text)
        })
    };
    playing.into_view()
}

/// Returns notes about the run: loopholes of the rules, fit of a replay, own actions.
fn notes(page: Page, episode: EpisodeView, main: bool) -> View {
    let note = |kind: &'static str| p().class("run-note").attr("data-note", kind);
    let source = move || {
        // The drawer has the notes that warn of nothing.
        let (text, warns) = episode
            .status
            .with(|status| (status.note.clone(), status.warns));
        (warns && !text.is_empty()).then(|| note("source").attr("data-tone", "warn").child(text))
    };
    let loophole = move || {
        let text = episode.status.with(|status| status.loophole.clone());
        (!text.is_empty()).then(|| note("rules").child(text))
    };
    let branch = memo(move || {
        page.without_cursor
            .with(|state| state.branch.clone())
            .filter(|_| main)
    });
    let redo = memo(move || main && page.can_redo());
    let own = move || {
        let branch = branch.get();
        // In own play the row stands there from the start, so that the first action moves nothing.
        let is_you = main && page.without_cursor.with(|state| state.player == VISITOR);
        (branch.is_some() || redo.get() || is_you).then(|| branch_note(page, episode, branch, redo))
    };
    View::Fragment(vec![
        loophole.into_view(),
        source.into_view(),
        own.into_view(),
    ])
}

/// Returns the label of a player inside a sentence: `the trained policy` for the trained policy, which is
/// the only one with a generic name.
fn in_sentence(player: &str) -> String {
    match player.strip_prefix("Trained policy") {
        Some(_) => "the trained policy".to_owned(),
        None => player.to_owned(),
    }
}

/// Returns a sentence about the visitor's own actions: `own` of them follow the first `at` actions.
fn own_actions(at: u32, own: u32, refused: &str) -> String {
    let first = at + 1;
    match own {
        _ if !refused.is_empty() => format!("Your action {} was refused: {refused}", first + own),
        0 => format!("The episode ends before action {first}, where yours would start."),
        1 => format!("Action {first} is yours."),
        _ => format!("Actions {first} to {} are yours.", at + own),
    }
}

/// Returns the note about the visitor's own actions, with buttons to undo, redo, resume or discard.
/// There is no `branch` if all actions were undone.
fn branch_note(
    page: Page,
    episode: EpisodeView,
    branch: Option<Branch>,
    can_redo: Memo<bool>,
) -> El {
    let is_undone = branch.is_none();
    let Branch { at, resume, .. } = branch.unwrap_or_default();
    let resumes = resume;
    let text = move || {
        if is_undone {
            let words = match can_redo.get() {
                true => "Your actions are undone.",
                false => "Your move.",
            };
            return words.to_owned();
        }
        let own = episode
            .steps
            .with(|steps| steps.iter().filter(|step| step.own).count());
        episode
            .status
            .with(|status| own_actions(at, to_u32(own), &status.refused))
    };
    let resume = move || {
        page.state.update(|state| {
            if let Some(branch) = &mut state.branch {
                branch.resume = !branch.resume;
            }
        });
    };
    let discard = move || page.state.update(|state| state.branch = None);
    let label = move || {
        if resumes {
            return "Stop after my moves".to_owned();
        }
        let player = episode
            .status
            .with(|status| status.episode.player_label.clone());
        format!("Let {} finish", in_sentence(&player))
    };
    let is_you = move || page.without_cursor.with(|state| state.player == VISITOR);
    let resume = button()
        .id("resume")
        .hidden(move || is_undone || is_you())
        .on_press(resume)
        .child(label);
    let discard = button().id("discard").hidden(is_undone).on_press(discard);
    let undo = button()
        .id("undo")
        .attr("disabled", is_undone)
        .attr("aria-keyshortcuts", "u")
        .on_press(move || page.undo());
    let redo = button()
        .id("redo")
        .attr("disabled", move || !can_redo.get())
        .attr("aria-keyshortcuts", "Shift+U")
        .on_press(move || page.redo());
    let kind = move || match is_undone {
        true if can_redo.get() => "undone",
        true => "none",
        false => "branch",
    };
    div()
        .class("run-note own")
        .attr("data-note", kind)
        .child(span().child(text))
        .child(undo.child("Undo"))
        .child(redo.child("Redo"))
        .child(resume)
        .child(discard.child("Discard my moves"))
}

#[cfg(test)]
mod tests {
    use super::{in_sentence, own_actions};

    #[test]
    fn the_trained_policy_has_an_article() {
        assert_eq!(in_sentence("Trained policy (GRPO)"), "the trained policy");
        assert_eq!(in_sentence("Heuristic"), "Heuristic");
    }

    #[test]
    fn own_actions_are_counted_from_one() {
        assert_eq!(own_actions(3, 1, ""), "Action 4 is yours.");
        assert_eq!(own_actions(3, 2, ""), "Actions 4 to 5 are yours.");
        assert!(own_actions(30, 0, "").contains("ends before action 31"));
        assert_eq!(
            own_actions(0, 1, "no budget."),
            "Your action 2 was refused: no budget."
        );
    }
}
