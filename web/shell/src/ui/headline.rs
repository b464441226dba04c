//! The band above an episode: what happened, where it stands, and what is to be said about the run.

use leptos::prelude::*;
use sentinel_page_protocol::Branch;

use super::parts::meter;
use super::truth::TruthHeadline;
use crate::lane::{Lane, first_difference};
use crate::page::Page;
use crate::reactive::memo;
use crate::state::index;

/// The band; `main` for the episode that the visitor plays.
#[component]
pub fn Headline(page: Page, lane: Lane, main: bool) -> impl IntoView {
    let headline = memo(move |_| {
        let text = lane.moment.with(|m| m.as_ref().map(|m| m.headline.clone()));
        text.unwrap_or_else(|| "Starting the world…".to_owned())
    });
    let detail = move || {
        lane.moment
            .with(|m| m.as_ref().map_or_else(String::new, |m| m.detail.clone()))
    };
    let standing = move || {
        lane.moment
            .with(|m| m.as_ref().map_or_else(String::new, |m| m.standing.clone()))
    };
    let next = move || {
        let next = lane
            .moment
            .with(|m| m.as_ref().map_or_else(String::new, |m| m.next.clone()));
        (!next.is_empty()).then(|| view! { <span>"Next: "<b>{next}</b></span> }.into_any())
    };
    let player = move || {
        lane.status
            .with(|status| status.episode.player_label.clone())
    };
    let digest = move || lane.status.with(|status| status.digest.clone());
    let status = move || {
        lane.moment.with(|m| {
            let meters = m.as_ref().map_or(&[][..], |m| m.status.as_slice());
            meters.iter().map(meter).collect::<Vec<AnyView>>()
        })
    };
    // Only the text depends on the moment, so that it is never made anew.
    let title = if main {
        view! { <h1>{move || headline.get()}</h1> }.into_any()
    } else {
        view! { <h2 class="versus-title">{move || headline.get()}</h2> }.into_any()
    };
    view! {
        <div class="headline">
            <div class="story">
                {title}
                <p class="detail">{move || detail()}</p>
                <TruthHeadline hidden=lane.hidden/>
                <p class="facts">
                    <b>{move || player()}</b>
                    <span>{move || standing()}</span>
                    {move || next()}
                    <span class="digest" data-help="Number of actions and a hash of the trajectory: equal on every machine.">{move || digest()}</span>
                </p>
            </div>
            <div class="status">{move || status()}</div>
            <Notes page lane main/>
        </div>
    }
}

/// Sentences about the run: still playing, how a replay fits, own actions, the first difference.
#[component]
fn Notes(page: Page, lane: Lane, main: bool) -> impl IntoView {
    let playing = move || {
        let waits = lane
            .status
            .with(|status| !status.complete && !status.episode.player.is_empty());
        waits.then(|| {
            let text = format!("Playing… {} actions so far", lane.last());
            view! { <p class="run-note" data-note="playing" role="status">{text}</p> }.into_any()
        })
    };
    let source = move || {
        let (note, warns) = lane
            .status
            .with(|status| (status.note.clone(), status.warns));
        let tone = if warns { "warn" } else { "neutral" };
        (!note.is_empty()).then(|| {
            view! { <p class="run-note" data-note="source" data-tone=tone>{note}</p> }.into_any()
        })
    };
    let branch = memo(move |_| page.still.with(|view| view.branch.clone()).filter(|_| main));
    let differs = move || (!main).then(|| difference(page));
    view! {
        {move || playing()}
        {move || source()}
        {move || branch.get().map(|branch| branch_note(page, lane, branch))}
        {move || differs()}
    }
}

fn difference(page: Page) -> AnyView {
    let steps = page.main.steps.get();
    match first_difference(&steps, &page.versus.steps.get()) {
        Some(at) => {
            let text = format!("First differs at action {at}");
            view! { <button type="button" class="link differs" on:click=move |_| page.seek(at)>{text}</button> }
                .into_any()
        }
        None => view! { <p class="quiet differs">"Same actions throughout"</p> }.into_any(),
    }
}

/// Returns a sentence about the visitor's own actions: `at` actions came before, `own` are theirs.
fn own_actions(at: u32, own: u32, refused: &str) -> String {
    let first = at + 1;
    match own {
        _ if !refused.is_empty() => format!("Your action {} was refused: {refused}", first + own),
        0 => format!("The episode ends before action {first}, where yours would start."),
        1 => format!("Action {first} is yours."),
        _ => format!("Actions {first} to {} are yours.", at + own),
    }
}

/// What the visitor did, and the ways on from there.
fn branch_note(page: Page, lane: Lane, branch: Branch) -> AnyView {
    let (at, resumes) = (branch.at, branch.resume);
    let text = move || {
        let own = lane
            .steps
            .with(|steps| steps.iter().filter(|step| step.own).count());
        lane.status
            .with(|status| own_actions(at, index(own), &status.refused))
    };
    let resume = move |_| {
        page.view.update(|view| {
            if let Some(branch) = &mut view.branch {
                branch.resume = !branch.resume;
            }
        });
    };
    let discard = move |_| page.view.update(|view| view.branch = None);
    let label = move || {
        if resumes {
            return "Stop after my moves".to_owned();
        }
        let player = lane
            .status
            .with(|status| status.episode.player_label.clone());
        format!("Let {player} finish")
    };
    let is_you = move || page.still.with(|view| view.player == "you");
    view! {
        <div class="run-note own" data-note="branch">
            <span role="status">{move || text()}</span>
            <button type="button" id="resume" hidden=move || is_you() on:click=resume>{move || label()}</button>
            <button type="button" id="discard" on:click=discard>"Discard my moves"</button>
        </div>
    }
    .into_any()
}

#[cfg(test)]
mod tests {
    use super::own_actions;

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
