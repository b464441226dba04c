//! Tournaments and two players side by side in a real browser.

use anyhow::{Result, ensure};
use fantoccini::Locator;
use sentinel_e2e::{
    Browser, drop_file, inspect_view, is_played, is_silent, open, open_page, screenshots,
};
use serde_json::{Value, json};

const NOTE: &str = "document.querySelector('#tournament-note').textContent";

async fn is_complete(browser: &Browser) -> Result<()> {
    browser
        .wait_until(&format!("{NOTE}.includes('Mean score')"))
        .await
}

/// Types into a field in place of its content.
async fn type_into(browser: &Browser, selector: &str, text: &str) -> Result<()> {
    browser.click(selector).await?;
    let field = browser.find(Locator::Css(selector)).await?;
    field.clear().await?;
    field.send_keys(text).await?;
    Ok(())
}

async fn choose(browser: &Browser, selector: &str, value: &str) -> Result<()> {
    browser.wait_for(selector).await?;
    let menu = browser.find(Locator::Css(selector)).await?;
    menu.select_by_value(value).await?;
    Ok(())
}

/// Drops a file of the page's host under another name.
async fn drop_from_host(browser: &Browser, path: &str, name: &str) -> Result<()> {
    let script = "const [path, name, done] = arguments;
        fetch(path).then((response) => response.arrayBuffer()).then((bytes) => {
            const data = new DataTransfer();
            data.items.add(new File([bytes], name));
            window.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));
            done(null);
        }, (error) => done(String(error)));";
    let error = browser
        .execute_async(script, vec![json!(path), json!(name)])
        .await?;
    ensure!(error.is_null(), "{error}");
    Ok(())
}

async fn number(browser: &Browser, expression: &str) -> Result<i64> {
    let found: Value = browser
        .execute(&format!("return {expression};"), vec![])
        .await?;
    Ok(found.as_i64().unwrap_or(-1))
}

/// Drops a model as `mine` and a replay as `recorded`, and waits until each plays.
async fn drop_model_and_replay(browser: &Browser) -> Result<()> {
    drop_from_host(
        browser,
        "replays/grpo/model.safetensors",
        "mine.safetensors",
    )
    .await?;
    browser
        .wait_for("[data-pane=main][data-player='model:mine']")
        .await?;
    let replay = std::fs::read_to_string(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../replays/heuristic-independent.jsonl"
    ))?;
    drop_file(browser, "recorded.jsonl", &replay).await?;
    browser
        .wait_for("[data-pane=main][data-player='replay:recorded']")
        .await
}

/// Looks at the results on a wide and a narrow screen, in light and dark.
async fn results_fit_and_are_accessible(browser: &Browser) -> Result<()> {
    let table = "document.querySelector('.standings table').scrollIntoView({block: 'start'})";
    for (width, dark) in [(1280, true), (360, false), (360, true)] {
        browser.viewport(width, 1400).await?;
        browser.prefer_dark(dark).await?;
        browser.execute(table, vec![]).await?;
        let overflow = "document.documentElement.scrollWidth > window.innerWidth";
        browser.wait_until(&format!("!({overflow})")).await?;
        let shade = if dark { "-dark" } else { "" };
        let findings = inspect_view(browser, &format!("tournament-{width}{shade}")).await?;
        ensure!(findings.is_empty(), "{}", findings.join("\n"));
    }
    browser.viewport(1280, 800).await?;
    browser.prefer_dark(false).await
}

/// A dropped model and a dropped replay play beside the policies, on the tasks and seeds that are
/// chosen; a replay only the episodes that it holds.
#[tokio::test]
async fn dropped_files_take_part_and_episodes_are_opened_side_by_side() -> Result<()> {
    let (_server, browser) = open_page("task=task1&policy=bayes").await?;
    is_played(&browser).await?;
    drop_model_and_replay(&browser).await?;
    is_played(&browser).await?;
    browser.click("#tournament-form summary").await?;
    browser.click("[data-contestant='replay:recorded']").await?;
    browser.click("[data-contestant^='checkpoint:']").await?;
    browser.click("[data-contestant=random]").await?;
    type_into(&browser, "#tournament-seeds", "12").await?;
    // The replay's first episode is of task 1; task 3 is added.
    browser.click("[data-cell='0-2']").await?;
    let menu = "document.querySelector('#tournament-tasks').value";
    browser.wait_until(&format!("{menu} === 'chosen'")).await?;
    browser
        .save_screenshot(&screenshots().join("tournament-form.png"))
        .await?;
    browser.click("#tournament").await?;
    is_complete(&browser).await?;
    browser
        .wait_until(&format!("{NOTE}.includes('4 more are left out')"))
        .await?;
    // Ten of twelve seeds of both tasks are recorded, and they are what the policy plays.
    let row = "[data-mean='replay:recorded']";
    let row = format!("document.querySelector(\"{row}\").closest('tr').textContent");
    browser
        .wait_until(&format!("{row}.includes('20 of 24 episodes')"))
        .await?;
    browser.wait_for("[data-mean^='checkpoint:']").await?;
    browser
        .wait_until("!document.querySelector('[data-mean=random]')")
        .await?;
    choose(&browser, "#tournament-reference", "heuristic").await?;
    browser
        .wait_until(&format!("{row}.includes('same')"))
        .await?;
    let mean =
        |player: &str| format!("document.querySelector('[data-mean=\"{player}\"]').textContent");
    let (own, dropped) = (mean("grpo"), mean("model:mine"));
    browser.wait_until(&format!("{own} === {dropped}")).await?;
    browser.click("[data-details=grpo]").await?;
    browser
        .wait_for("[data-detail=grpo] [data-pairs=grpo] .episodes")
        .await?;
    browser
        .save_screenshot(&screenshots().join("tournament.png"))
        .await?;
    results_fit_and_are_accessible(&browser).await?;
    browser
        .click("[data-detail=grpo] [data-pairs=grpo] .episodes .link")
        .await?;
    browser
        .wait_for("[data-pane=main][data-player=grpo]")
        .await?;
    browser
        .wait_for("[data-pane=versus][data-player=heuristic]")
        .await?;
    // The results stay for the next episode.
    browser.wait_for("[data-detail=grpo]").await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn a_tournament_is_paused_continued_and_stopped() -> Result<()> {
    let (_server, browser) = open_page("task=task3&policy=bayes").await?;
    is_played(&browser).await?;
    type_into(&browser, "#tournament-seeds", "many").await?;
    browser
        .wait_until("document.querySelector('#tournament').disabled")
        .await?;
    type_into(&browser, "#tournament-seeds", "200000").await?;
    browser.click("#tournament").await?;
    browser
        .wait_until(&format!("{NOTE}.includes(' left')"))
        .await?;
    browser.click("#tournament-pause").await?;
    browser
        .wait_until(&format!("{NOTE}.includes('paused')"))
        .await?;
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    let played = format!("Number.parseInt({NOTE}.replace(/\\s(?=\\d)/g, ''))");
    let before = number(&browser, &played).await?;
    tokio::time::sleep(std::time::Duration::from_millis(700)).await;
    assert_eq!(number(&browser, &played).await?, before);
    browser.click("#tournament-pause").await?;
    browser.wait_until(&format!("{played} > {before}")).await?;
    browser.click("#tournament-stop").await?;
    browser
        .wait_until(&format!("{NOTE}.includes('stopped')"))
        .await?;
    // What was played can still be compared with another player.
    choose(&browser, "#tournament-reference", "random").await?;
    browser
        .wait_until(
            "document.querySelector('.result-table thead').textContent.includes('Difference to Random')",
        )
        .await?;
    // Another world ends it.
    browser.click("[data-world=cluster]").await?;
    browser.wait_for("[data-of=cluster][data-ready]").await?;
    browser
        .wait_until("!document.querySelector('.result-table')")
        .await?;
    is_silent(&browser).await
}

/// PolyGuard's cells are chosen by case and difficulty.
#[tokio::test]
async fn cells_are_chosen_by_their_axes() -> Result<()> {
    let (server, browser) = open_page("world=polyguard&task=DDI-easy&policy=no_change").await?;
    is_played(&browser).await?;
    browser.click("#tournament-form summary").await?;
    browser.click("[data-cell='0-1']").await?;
    browser.click("[data-cell='1-2']").await?;
    type_into(&browser, "#tournament-seeds", "2").await?;
    browser
        .wait_until(
            "document.querySelector('#tournament-form summary').textContent.includes('4 tasks')",
        )
        .await?;
    browser
        .save_screenshot(&screenshots().join("tournament-cells.png"))
        .await?;
    browser.click("#tournament").await?;
    is_complete(&browser).await?;
    browser.wait_for("[data-mean=grpo]").await?;
    // The cluster's planner beside its own replay.
    let replay = "cluster-planner-hardened";
    let query = "world=cluster&task=task1&rules=hardened&policy=planner";
    open(&browser, &server, query).await?;
    is_played(&browser).await?;
    browser.click("#tournament-form summary").await?;
    browser
        .click(&format!("[data-contestant='replay:{replay}']"))
        .await?;
    type_into(&browser, "#tournament-first", "8").await?;
    type_into(&browser, "#tournament-seeds", "4").await?;
    browser.click("#tournament").await?;
    is_complete(&browser).await?;
    let row = format!("document.querySelector(\"[data-mean='replay:{replay}']\").closest('tr')");
    browser
        .wait_until(&format!("{row}.textContent.includes('2 of 4 episodes')"))
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn the_first_difference_of_two_players_is_named_and_marked() -> Result<()> {
    let (_server, browser) = open_page("task=3&seed=42&policy=bayes&vs=heuristic").await?;
    browser.wait_for("#first-difference").await?;
    is_played(&browser).await?;
    let action = "Number(document.querySelector('#first-difference').dataset.action)";
    let first = number(&browser, action).await?;
    let text = browser.text(".differs").await?;
    assert!(
        text.contains(&format!("differ first at action {first}")),
        "{text}"
    );
    assert!(text.contains("Heuristic"), "{text}");
    for pane in ["main", "versus"] {
        let marked = format!(
            "Number(document.querySelector('[data-pane={pane}] [data-differs]').dataset.index)"
        );
        browser.wait_until(&format!("{marked} === {first}")).await?;
    }
    browser.wait_for(".marks .first-difference").await?;
    browser.click("#first-difference").await?;
    sentinel_e2e::shows_action(&browser, usize::try_from(first)?).await?;
    browser
        .save_screenshot(&screenshots().join("difference.png"))
        .await?;
    browser.viewport(360, 1000).await?;
    browser.prefer_dark(true).await?;
    browser
        .execute(
            "document.querySelector('[data-pane=versus] .log').scrollIntoView({block: 'center'})",
            vec![],
        )
        .await?;
    let findings = inspect_view(&browser, "difference-phone").await?;
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    is_silent(&browser).await
}
