//! The Episode screen in a real browser: the board comes first, the end of an episode judges the play,
//! and cards are dropped on cards.

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::{Browser, ask, is_played, is_silent, open, open_page, shows_action};
use serde_json::json;

/// Opens an episode of every world on a laptop: the board begins in the upper part of the window, the
/// score stands above it, and what chooses an episode is in a drawer that Escape closes.
#[tokio::test]
async fn board_comes_first_and_settings_are_in_a_drawer() -> Result<()> {
    let (server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.viewport(1280, 800).await?;
    for world in ["trust", "cluster", "polyguard"] {
        let query = format!("world={world}&seed=5&policy=grpo&t=2");
        open(&browser, &server, &query).await?;
        is_played(&browser).await?;
        let top = "document.querySelector('.focal .panel').getBoundingClientRect().top";
        browser.wait_until(&format!("{top} < 400")).await?;
        browser
            .wait_until(&format!(
                "document.querySelector('.score').getBoundingClientRect().bottom < {top}"
            ))
            .await?;
        let is_open = "document.querySelector('#drawer').matches(':popover-open')";
        assert_eq!(ask(&browser, is_open).await?, json!(false));
        browser.click("#settings").await?;
        browser.wait_until(is_open).await?;
        browser.press(&Key::Escape.to_string()).await?;
        browser.wait_until(&format!("!{is_open}")).await?;
        let focus = "document.activeElement.id === 'settings'";
        browser.wait_until(focus).await?;
    }
    is_silent(&browser).await
}

/// Reads how many mistakes the list of actions and the time bar mark.
async fn marks(browser: &Browser) -> Result<[u64; 2]> {
    let count = |place: &str| format!("document.querySelectorAll('{place} .mistake').length");
    let list = ask(browser, &count(".log")).await?.as_u64().unwrap_or(0);
    let bar = ask(browser, &count(".marks")).await?.as_u64().unwrap_or(0);
    Ok([list, bar])
}

/// At the end of an episode the analysis runs by itself and marks the mistakes; who lied is told on
/// request only, and never before the end.
#[tokio::test]
async fn end_of_an_episode_shows_the_mistakes_and_tells_who_lied() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for (query, asks) in [
        ("task=task3&seed=42&policy=random&rules=hardened", true),
        ("world=polyguard&task=DDI-hard&seed=42&policy=random", false),
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        let bar = "document.querySelector('.value-bar:not([hidden])') !== null";
        assert_eq!(ask(&browser, bar).await?, json!(false), "{query}");
        assert_eq!(marks(&browser).await?, [0, 0], "{query}");
        browser.press(&Key::End.to_string()).await?;
        browser.wait_for("[data-analysis=complete]").await?;
        browser.wait_until(bar).await?;
        let [list, above] = marks(&browser).await?;
        assert_eq!(list, above, "{query}");
        assert!(list > 0, "a random player makes mistakes: {query}");
        if !asks {
            continue;
        }
        // The mistake is told where it happened, with the value that the bar shows.
        browser.press("B").await?;
        browser
            .wait_for(".headline .verdict[data-tone=bad]")
            .await?;
        let value = "document.querySelector('.value-bar').dataset.value";
        let shown = "document.querySelector('.expected b').textContent";
        browser.wait_until(&format!("{value} === {shown}")).await?;
        let none = "document.querySelector('#show-ending, #ending') === null";
        browser.wait_until(none).await?;
        browser.press(&Key::End.to_string()).await?;
        let ending = "document.querySelector('#ending') !== null";
        assert_eq!(ask(&browser, ending).await?, json!(false));
        browser.click("#show-ending").await?;
        browser.wait_until(ending).await?;
        let text = browser.text("#ending").await?;
        assert!(text.starts_with('S'), "{text}");
        let hidden = "document.querySelector('[data-truth]:not([hidden])') === null";
        assert_eq!(ask(&browser, hidden).await?, json!(true));
    }
    is_silent(&browser).await
}

/// An action that is composed of parts is taken; one that the engine warns of is not.
#[tokio::test]
async fn composed_action_is_taken_and_warned_about() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=1&seed=5&policy=you").await?;
    browser.click("[data-verb=v]").await?;
    browser
        .wait_until("document.querySelector('#act-warning').textContent.length > 10")
        .await?;
    browser.click("[data-verb=a]").await?;
    browser.click("[data-pick=j0]").await?;
    browser.click("[data-pick=g1]").await?;
    browser.click("[data-pick=w2]").await?;
    browser.wait_for("#act[data-act=aj0g1w2]").await?;
    browser
        .wait_until("document.querySelector('#act-warning').textContent === ''")
        .await?;
    browser.click("#act").await?;
    browser
        .wait_until("location.search.includes('acts=aj0g1w2')")
        .await?;
    shows_action(&browser, 1).await?;
    is_silent(&browser).await
}

/// Drags a card onto another one, as a mouse does.
async fn drag(browser: &Browser, from: &str, onto: &str) -> Result<()> {
    let script = "const [from, onto] = [...arguments].map((card) =>
            document.querySelector(`[data-card='${card}']`));
        const dataTransfer = new DataTransfer();
        const send = (element, type) => element.dispatchEvent(
            new DragEvent(type, {bubbles: true, cancelable: true, dataTransfer}));
        send(from, 'dragstart');
        const taken = !send(onto, 'dragover');
        if (taken) send(onto, 'drop');
        send(from, 'dragend');
        return taken";
    let taken = browser
        .execute(script, vec![json!(from), json!(onto)])
        .await?;
    anyhow::ensure!(taken == json!(true), "{onto} does not take {from}");
    Ok(())
}

/// Under rules that want every part named, the button has a whole action from the start; a job that is
/// dropped on a GPU is placed at once, with the worker that was chosen before.
#[tokio::test]
async fn cluster_is_played_by_hand_with_suggestions_and_by_dragging() -> Result<()> {
    let (_server, browser) =
        open_page("world=cluster&task=task1&seed=5&policy=you&rules=hardened&at=0").await?;
    browser
        .wait_until("/^aj\\d+g\\d+w\\d$/.test(document.querySelector('#act').dataset.act)")
        .await?;
    browser.wait_for("#act:not([aria-disabled])").await?;
    // Pressed again before any answer, the button does not take the same action a second time.
    let twice =
        "const act = document.querySelector('#act'); act.click(); setTimeout(() => act.click());";
    browser.execute(twice, vec![]).await?;
    shows_action(&browser, 1).await?;
    is_played(&browser).await?;
    let repeated = "/aj(\\d+)g\\d+w\\daj\\1g/.test(location.search)";
    assert_eq!(ask(&browser, repeated).await?, json!(false));
    browser.click("[data-pick=w2]").await?;
    let script = "return [...document.querySelectorAll('[data-panel=jobs] [data-card]')]
        .find((row) => row.textContent.includes('queued')).dataset.card";
    let job = browser.execute(script, vec![]).await?;
    let job = job.as_str().unwrap_or_default().to_owned();
    drag(&browser, &job, "g5").await?;
    let acts = format!("location.search.includes('a{job}g5w2')");
    browser.wait_until(&acts).await?;
    shows_action(&browser, 2).await?;
    // The worker stays for the next action.
    browser
        .wait_for("[data-pick=w2][aria-pressed=true]")
        .await?;
    // A job that runs cannot be placed again: the reason is told, and nothing is taken.
    drag(&browser, &job, "g6").await?;
    let reason = "document.querySelector('#act-warning').textContent.includes('running')";
    browser.wait_until(reason).await?;
    shows_action(&browser, 2).await?;
    is_silent(&browser).await
}

/// The end that is asked for while an episode arrives is shown once it is there.
#[tokio::test]
async fn end_of_an_arriving_episode_is_reached() -> Result<()> {
    let (server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    let query = "world=cluster&task=task3&seed=7&policy=grpo&rules=hardened";
    for _ in 0..3 {
        open(&browser, &server, query).await?;
        let arrives = "Number(document.querySelector('#scrubber').max) > 0";
        browser.wait_until(arrives).await?;
        browser.press(&Key::End.to_string()).await?;
        is_played(&browser).await?;
        let count = "document.querySelector('#count').textContent.split(' / ')";
        browser
            .wait_until(&format!("(([at, all]) => at === all)({count})"))
            .await?;
    }
    is_silent(&browser).await
}
