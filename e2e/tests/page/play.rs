//! The visitor's own play in a real browser: undo and redo, the tree of lines, the comparison on one
//! episode, the episode of the day, and the record of results.

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::{
    Browser, ask, is_played, is_silent, open, open_page, screenshots, shows_action,
};
use serde_json::{Value, json};

async fn is_at(browser: &Browser, address: &str) -> Result<()> {
    let part = format!("(location.search + '&').includes('{address}&')");
    browser.wait_until(&part).await
}

async fn has_no_own_actions(browser: &Browser) -> Result<()> {
    browser
        .wait_until("!location.search.includes('acts=')")
        .await
}

/// Saves pictures of the card, light and dark.
async fn save_card(browser: &Browser, name: &str) -> Result<()> {
    let show = "document.querySelector('.own-play').scrollIntoView();
        document.documentElement.dataset.theme = arguments[0];";
    for theme in ["dark", "light"] {
        browser.execute(show, vec![json!(theme)]).await?;
        let file = screenshots().join(format!("{name}-{theme}.png"));
        browser.save_screenshot(&file).await?;
    }
    Ok(())
}

/// Takes the action `code` until the episode ends; returns the number of actions.
async fn play_to_the_end(browser: &Browser, code: &str) -> Result<usize> {
    let button = format!("[data-act={code}]");
    for action in 1..=60 {
        browser.click(&button).await?;
        shows_action(browser, action).await?;
        is_played(browser).await?;
        if !browser.execute(&format!("return document.querySelector('{button}') !== null && document.querySelector('.digest').textContent === ''"), vec![]).await?.as_bool().unwrap_or(false) {
            return Ok(action);
        }
    }
    anyhow::bail!("the episode does not end")
}

#[tokio::test]
async fn own_actions_are_undone_and_redone_one_by_one() -> Result<()> {
    let (_server, browser) = open_page("task=2&seed=9&policy=bayes&t=2").await?;
    for (code, acts) in [("v3", "acts=v3"), ("s", "acts=v3s"), ("k", "acts=v3sk")] {
        browser.click(&format!("[data-act={code}]")).await?;
        is_at(&browser, acts).await?;
    }
    browser.click("#undo").await?;
    is_at(&browser, "acts=v3s").await?;
    shows_action(&browser, 4).await?;
    // Faster than the engine answers.
    browser.press("uu").await?;
    has_no_own_actions(&browser).await?;
    browser.wait_for("[data-note=undone]").await?;
    shows_action(&browser, 2).await?;
    assert_eq!(
        ask(&browser, "document.querySelector('#undo').disabled").await?,
        true
    );
    browser.click("#redo").await?;
    is_at(&browser, "acts=v3").await?;
    browser.press("U").await?;
    is_at(&browser, "acts=v3s").await?;
    browser
        .press(&format!("{}z", char::from(Key::Control)))
        .await?;
    is_at(&browser, "acts=v3").await?;
    // Back leads through the same states, and what was undone can be redone there.
    browser.back().await?;
    is_at(&browser, "acts=v3s").await?;
    browser.execute("history.forward()", vec![]).await?;
    is_at(&browser, "acts=v3").await?;
    browser.wait_for("#redo:not(:disabled)").await?;
    // Another action ends that.
    browser.click("[data-act=d1]").await?;
    is_at(&browser, "acts=v3d1").await?;
    browser.wait_for("#redo:disabled").await?;
    browser.back().await?;
    is_at(&browser, "acts=v3").await?;
    shows_action(&browser, 3).await?;
    browser.wait_for("#redo:disabled").await?;
    is_silent(&browser).await
}

/// Opens lines of the tree, goes back to one, and removes the last.
async fn lines_open_and_are_removed(browser: &Browser) -> Result<()> {
    browser.click("[data-line='1']").await?;
    is_at(browser, "acts=v1d2").await?;
    shows_action(browser, 5).await?;
    browser
        .wait_until("document.querySelector('[data-current]').dataset.line === '1'")
        .await?;
    browser.click("[data-line='0']").await?;
    has_no_own_actions(browser).await?;
    browser.back().await?;
    is_at(browser, "acts=v1d2").await?;
    browser
        .wait_until("document.querySelector('[data-current]').dataset.line === '1'")
        .await?;
    // The last line is removed; the one that is shown cannot be.
    browser.click(".lines li:last-child .icon-button").await?;
    browser
        .wait_until("document.querySelectorAll('[data-line]').length === 2")
        .await?;
    assert_eq!(
        ask(
            browser,
            "document.querySelector('.lines li:last-child .icon-button').disabled"
        )
        .await?,
        true
    );
    Ok(())
}

/// Copies the result of the episode of the day, and returns what is on the clipboard.

#[tokio::test]
async fn earlier_lines_are_a_tree_and_open_again() -> Result<()> {
    let (server, browser) = open_page("task=1&seed=8&policy=heuristic").await?;
    is_played(&browser).await?;
    assert_eq!(
        ask(&browser, "document.querySelector('.lines')").await?,
        Value::Null
    );
    shows_action(&browser, 0).await?;
    browser.press("]").await?;
    browser
        .execute(
            "document.querySelector('[data-index=\"3\"]').click()",
            vec![],
        )
        .await?;
    shows_action(&browser, 3).await?;
    for code in ["v1", "d2"] {
        browser.click(&format!("[data-act={code}]")).await?;
        browser
            .wait_until(&format!("location.search.includes('{code}')"))
            .await?;
    }
    is_played(&browser).await?;
    browser.press("u").await?;
    is_at(&browser, "acts=v1").await?;
    is_played(&browser).await?;
    browser.click("[data-act=s]").await?;
    is_at(&browser, "acts=v1s").await?;
    browser.click("#resume").await?;
    is_at(&browser, "resume=1").await?;
    browser
        .wait_until("document.querySelectorAll('[data-line]').length === 3")
        .await?;
    let current = "document.querySelectorAll('[data-current]').length === 1 && document.querySelector('[data-current]').dataset.line === '2'";
    browser.wait_until(current).await?;
    let indents = "Array.from(document.querySelectorAll('.lines li'), li => li.style.paddingLeft)";
    assert_eq!(
        ask(&browser, indents).await?,
        json!(["0rem", "1rem", "2rem"])
    );
    let scores = "Array.from(document.querySelectorAll('.line-open .num'), e => /^[01]\\.\\d{3}$/.test(e.textContent))";
    assert_eq!(ask(&browser, scores).await?, json!([true, false, true]));
    save_card(&browser, "play-lines").await?;
    browser
        .save_screenshot(&screenshots().join("play-branch.png"))
        .await?;
    lines_open_and_are_removed(&browser).await?;
    // Another episode has lines of its own.
    open(&browser, &server, "task=1&seed=9&policy=heuristic").await?;
    is_played(&browser).await?;
    assert_eq!(
        ask(&browser, "document.querySelector('.lines')").await?,
        Value::Null
    );
    is_silent(&browser).await
}

#[tokio::test]
async fn the_own_score_has_a_place_among_the_policies() -> Result<()> {
    let (server, browser) = open_page("task=1&seed=8&policy=you").await?;
    play_to_the_end(&browser, "s").await?;
    browser.click("#compare").await?;
    let complete =
        "document.querySelector('#compare-note')?.textContent.startsWith('Final scores')";
    browser.wait_until(complete).await?;
    let rows = "Array.from(document.querySelectorAll('[data-compared]'), row => [row.dataset.compared, Number(row.querySelectorAll('.num')[1].textContent), row.textContent.includes('privileged')])";
    let rows = ask(&browser, rows).await?;
    let rows = rows.as_array().cloned().unwrap_or_default();
    let names: Vec<&str> = rows.iter().filter_map(|row| row[0].as_str()).collect();
    assert!(
        names.contains(&"you") && names.contains(&"grpo") && names.contains(&"oracle"),
        "{names:?}"
    );
    let scores: Vec<f64> = rows.iter().filter_map(|row| row[1].as_f64()).collect();
    assert!(
        scores.windows(2).all(|pair| pair[0] >= pair[1]),
        "{scores:?}"
    );
    let own = rows
        .iter()
        .find(|row| row[0] == "you")
        .cloned()
        .unwrap_or_default();
    let shown = browser.text("[data-pane=main] [data-score]").await?;
    assert_eq!(own[1].as_f64(), shown.parse().ok());
    let privileged: Vec<&str> = rows
        .iter()
        .filter(|row| row[2] == true)
        .filter_map(|row| row[0].as_str())
        .collect();
    assert!(
        privileged.len() == 2 && privileged.iter().all(|name| name.starts_with("oracle")),
        "{privileged:?}"
    );
    save_card(&browser, "play-compared").await?;
    // The scores belong to this episode only.
    browser.click("#new-seed").await?;
    browser
        .wait_until("!document.querySelector('[data-compared]')")
        .await?;
    // A slow comparison can be stopped.
    open(
        &browser,
        &server,
        "world=cluster&task=task3&seed=5&policy=planner",
    )
    .await?;
    is_played(&browser).await?;
    browser.click("#compare").await?;
    browser.wait_for("[data-compared]").await?;
    browser.click("#compare-stop").await?;
    browser
        .wait_until(
            "document.querySelector('#compare-note').textContent.startsWith('Stopped after')",
        )
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn own_episode_is_compared_and_recorded() -> Result<()> {
    let (_server, browser) = open_page("task=3&seed=40781&policy=you").await?;
    play_to_the_end(&browser, "d2").await?;
    // The policies play the same episode by themselves.
    browser
        .wait_until(
            "document.querySelector('#compare-note')?.textContent.startsWith('Final scores')",
        )
        .await?;
    let score = browser.text("[data-pane=main] [data-score]").await?;
    save_card(&browser, "play-scores").await?;
    browser.viewport(360, 780).await?;
    save_card(&browser, "play-scores-360").await?;
    browser
        .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
        .await?;
    browser.viewport(1280, 800).await?;
    browser.click("#results-open").await?;
    browser.wait_for("#results[open] tbody tr").await?;
    browser
        .save_screenshot(&screenshots().join("play-results.png"))
        .await?;
    let row = browser.text("#results tbody tr").await?;
    assert!(
        row.contains(&score) && row.contains("Whom to trust"),
        "{row}"
    );
    // A reload shows the finished episode, but does not count it again.
    browser.refresh().await?;
    browser.wait_for("[data-ready] [data-pane=main]").await?;
    is_played(&browser).await?;
    let stored = "localStorage.getItem('sentinel-results').trim().split('\\n').length";
    assert_eq!(ask(&browser, stored).await?, 2);
    is_silent(&browser).await
}

#[tokio::test]
async fn the_record_is_exported_and_erased() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=8&policy=you").await?;
    browser.click("#results-open").await?;
    browser
        .wait_until("document.querySelector('#results').textContent.includes('No results yet')")
        .await?;
    assert_eq!(
        ask(&browser, "document.querySelector('#results-export')").await?,
        Value::Null
    );
    browser.press(&Key::Escape.to_string()).await?;
    browser
        .wait_until("!document.querySelector('#results').open")
        .await?;
    assert_eq!(
        ask(&browser, "document.activeElement.id").await?,
        "results-open"
    );
    play_to_the_end(&browser, "s").await?;
    // Another line to another end is another result.
    browser.press("u").await?;
    browser
        .wait_until("document.querySelector('.digest').textContent === ''")
        .await?;
    browser.click("[data-act=k]").await?;
    browser
        .wait_until("document.querySelector('.digest').textContent !== ''")
        .await?;
    browser
        .wait_until("localStorage.getItem('sentinel-results').trim().split('\\n').length === 3")
        .await?;
    browser.click("#results-open").await?;
    browser
        .wait_until("document.querySelectorAll('#results tbody tr').length === 2")
        .await?;
    // Keys of the page are off behind the dialog.
    browser.press("n").await?;
    let hook = "window.names = []; window.texts = [];
        const make = URL.createObjectURL;
        URL.createObjectURL = blob => { blob.text().then(text => texts.push(text)); return make.call(URL, blob); };
        HTMLAnchorElement.prototype.click = function() { names.push(this.download); };";
    browser.execute(hook, vec![]).await?;
    browser.click("#results-export").await?;
    browser.wait_until("window.texts.length === 1").await?;
    assert_eq!(
        ask(&browser, "window.names[0]").await?,
        "sentinel-results.csv"
    );
    let text = ask(&browser, "window.texts[0]").await?;
    let text = text.as_str().unwrap_or_default();
    assert!(text.starts_with("date,world,task,seed,"), "{text}");
    assert_eq!(text.matches(",trust,task1,8,").count(), 2, "{text}");
    browser.click("#results-erase").await?;
    browser.click("#results-keep").await?;
    browser
        .wait_until("document.querySelectorAll('#results tbody tr').length === 2")
        .await?;
    browser.click("#results-erase").await?;
    browser.click("#results-erase-all").await?;
    browser
        .wait_until("document.querySelectorAll('#results tbody tr').length === 0")
        .await?;
    assert_eq!(
        ask(&browser, "localStorage.getItem('sentinel-results')").await?,
        Value::Null
    );
    is_silent(&browser).await
}

#[tokio::test]
async fn a_foreign_record_is_set_aside_with_a_notice() -> Result<()> {
    let (server, browser) = open_page("task=1&seed=8").await?;
    for foreign in [
        json!("{\"results\": [1, 2]}\n\u{0}\u{ffff}"),
        json!("date,world\n1,2"),
    ] {
        let store = "localStorage.setItem('sentinel-results', arguments[0]);";
        browser.execute(store, vec![foreign.clone()]).await?;
        open(&browser, &server, "task=1&seed=9").await?;
        browser.wait_until("document.querySelector('#notices').textContent.includes('has 2 lines that are not understood')").await?;
        assert_eq!(
            ask(
                &browser,
                "localStorage.getItem('sentinel-results-set-aside')"
            )
            .await?,
            foreign
        );
        // Once is enough.
        open(&browser, &server, "task=1&seed=10").await?;
        browser.wait_for("#results-open").await?;
        let notices = ask(
            &browser,
            "document.querySelector('#notices').textContent.includes('not understood')",
        )
        .await?;
        assert_eq!(notices, false);
    }
    browser.click("#results-open").await?;
    browser
        .wait_until("document.querySelector('#results').textContent.includes('No results yet')")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn wasted_action_is_explained_and_not_taken() -> Result<()> {
    let (_server, browser) =
        open_page("world=cluster&task=2&rules=hardened&policy=you&at=0").await?;
    // The world suggests no job that should lose its GPU.
    browser.click("[data-verb=p]").await?;
    browser.wait_for("#act[aria-disabled=true]").await?;
    browser.click("#act").await?;
    let reason = "document.querySelector('#act-warning').textContent";
    browser.wait_until(&format!("{reason}.length > 10")).await?;
    shows_action(&browser, 0).await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn cluster_opens_under_the_rules_of_its_trained_policy() -> Result<()> {
    let (_server, browser) = open_page("world=cluster").await?;
    browser
        .wait_until("location.search.includes('rules=hardened')")
        .await?;
    is_silent(&browser).await
}
