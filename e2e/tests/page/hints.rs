//! Short answers of the page in a real browser: how good a score is, and messages that go
//! once they are over.

use anyhow::{Result, ensure};
use fantoccini::key::Key;
use sentinel_e2e::{ask, drop_file, inspect_view, is_played, is_silent, open, open_page};

/// The end of an episode says how its score compares; the same numbers are in the table.
#[tokio::test]
async fn an_end_score_has_a_yardstick_in_every_world() -> Result<()> {
    let (server, browser) = open_page("").await?;
    let mut findings = Vec::new();
    for (world, query) in [
        ("trust", "task=1&seed=8&policy=heuristic"),
        ("cluster", "world=cluster&task=1&seed=5&policy=planner"),
        (
            "polyguard",
            "world=polyguard&task=DDI-easy&seed=4&policy=rules_only",
        ),
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        let shown = "document.querySelector('.yardstick') !== null";
        ensure!(ask(&browser, shown).await? == false, "{query}: too early");
        browser.press(&Key::End.to_string()).await?;
        browser
            .wait_until("/other players? without hidden state (on|scores)/.test(document.querySelector('.yardstick b')?.textContent)")
            .await?;
        let text = browser.text(".yardstick").await?;
        let score = browser.text("[data-pane=main] [data-score]").await?;
        ensure!(text.starts_with(&format!("{score}: ")), "{text}");
        ensure!(text.contains("on this episode."), "{text}");
        ensure!(text.contains("Random"), "{text}");
        ensure!(text.contains("Trained policy (GRPO)"), "{text}");
        if world == "trust" {
            ensure!(text.contains("hidden state"), "{text}");
        }
        // Each number of this episode is that of the table below; means of others stand beside it.
        browser.wait_for(".yardstick [data-mean-of=grpo]").await?;
        let equal = "[...document.querySelectorAll('.yardstick .num:not([data-mean-of])')].every(found =>
            [...document.querySelectorAll('[data-compared] .num')].some(cell => cell.textContent === found.textContent))";
        ensure!(ask(&browser, equal).await? == true, "{query}");
        findings.extend(inspect_view(&browser, &format!("yardstick-{world}")).await?);
        browser.press(&Key::Home.to_string()).await?;
        browser.wait_until(&format!("!({shown})")).await?;
    }
    browser.viewport(360, 740).await?;
    browser.press(&Key::End.to_string()).await?;
    browser.wait_for(".yardstick b").await?;
    browser
        .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
        .await?;
    findings.extend(inspect_view(&browser, "yardstick-360").await?);
    assert_eq!(findings, Vec::<String>::new());
    is_silent(&browser).await
}

/// An explanation goes with the element that it is about.
#[tokio::test]
async fn an_explanation_closes_with_its_anchor() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=3&policy=heuristic").await?;
    let closed = "document.querySelector('#tip').hidden";
    let help = "const anchor = document.createElement('button');
        anchor.dataset.help = 'An explanation.'; anchor.id = 'anchor'; anchor.textContent = 'Anchor';
        document.querySelector('main').prepend(anchor); anchor.click();";
    let remove = "document.querySelector('#anchor').remove();";
    let push = "document.querySelector('#anchor').style.marginTop = '9rem';";
    let escape = "dispatchEvent(new KeyboardEvent('keydown', {key: 'Escape'}));";
    let scroll = "dispatchEvent(new Event('scroll'));";
    for end in [remove, push, escape, scroll] {
        browser.execute(help, vec![]).await?;
        browser.wait_until(&format!("!({closed})")).await?;
        browser.execute(end, vec![]).await?;
        browser.wait_until(closed).await?;
        let clean = "document.querySelectorAll('#anchor').forEach(found => found.remove())";
        browser.execute(clean, vec![]).await?;
    }
    is_silent(&browser).await
}

/// A message about a file goes when another file is opened, and can be closed before.
#[tokio::test]
async fn messages_about_files_go_with_the_next_file() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=3&policy=heuristic").await?;
    browser.wait_for("#files-read").await?;
    let notices = "document.querySelector('#notices').textContent";
    drop_file(&browser, "broken.json", "{").await?;
    browser
        .wait_until(&format!("{notices}.includes('broken.json')"))
        .await?;
    drop_file(&browser, "worse.json", "[").await?;
    browser
        .wait_until(&format!(
            "{notices}.includes('worse.json') && {notices}.includes('broken.json')"
        ))
        .await?;
    let log = r#"{"global_step": 2, "log_history": [{"step": 1, "reward": 0.25}, {"step": 2, "reward": 0.5}]}"#;
    drop_file(&browser, "trainer_state.json", log).await?;
    browser
        .wait_until(
            "document.querySelector('#files-read').textContent.includes('trainer_state.json')",
        )
        .await?;
    browser
        .wait_until(&format!("!{notices}.includes('.json')"))
        .await?;
    is_silent(&browser).await
}
