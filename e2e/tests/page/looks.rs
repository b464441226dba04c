//! The layout, accessibility and surroundings of the page: widths, light and dark, axe-core, the
//! keyboard alone, missing files. Screenshots for review are written to
//! `target/screenshots` (or the folder that `SENTINEL_SCREENSHOTS` names).

use anyhow::{Result, ensure};
use fantoccini::Locator;
use fantoccini::key::Key;
use sentinel_e2e::{
    Browser, SUB_PATH, ask, copy_of_page, inspect_view, is_played, is_silent, open, open_page,
    screenshots, serve, serve_page, shows_action,
};
use serde_json::json;

const NO_SIDEWAYS: &str = "document.documentElement.scrollWidth <= window.innerWidth";

/// The views of every world that are looked at: name and query.
pub(super) const VIEWS: [(&str, &str); 9] = [
    ("trust", "task=3&seed=42&policy=grpo&t=14"),
    ("trust-truth", "task=3&seed=42&policy=bayes&t=20&view=truth"),
    (
        "trust-own",
        "task=1&seed=8&policy=you&at=0&acts=d0d1v2s&t=4",
    ),
    (
        "cluster",
        "world=cluster&task=2&seed=42&policy=planner&t=20",
    ),
    (
        "cluster-truth",
        "world=cluster&task=3&seed=7&policy=planner&t=30&view=truth",
    ),
    ("polyguard", "world=polyguard&seed=42&t=2"),
    (
        "polyguard-truth",
        "world=polyguard&task=DDI-hard&seed=3&policy=stack&t=2&view=truth",
    ),
    ("training", "page=training&runs=trust-grpo:trust-tiny-grpo"),
    ("results", "page=results"),
];

pub(super) async fn show(
    browser: &Browser,
    server: &sentinel_e2e::Server,
    query: &str,
) -> Result<()> {
    if query.contains("page=") {
        browser.goto(&format!("{}?{query}", server.url())).await?;
        return browser.wait_for("[data-chart] path.line").await;
    }
    open(browser, server, query).await?;
    is_played(browser).await
}

/// Checks all views at a width: nothing overflows, and axe-core has no serious finding.
async fn views_are_accessible(width: u32, height: u32, dark: bool) -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    browser.viewport(width, height).await?;
    browser.prefer_dark(dark).await?;
    let mut findings = Vec::new();
    for (name, query) in VIEWS {
        show(&browser, &server, query).await?;
        let shade = if dark { "-dark" } else { "" };
        findings.extend(inspect_view(&browser, &format!("{name}-{width}{shade}")).await?);
        if browser.wait_until(NO_SIDEWAYS).await.is_err() {
            findings.push(format!("{name}: sticks out at {width} pixels"));
        }
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    is_silent(&browser).await
}

#[tokio::test]
async fn views_are_accessible_on_a_wide_screen() -> Result<()> {
    views_are_accessible(1280, 1000, false).await
}

#[tokio::test]
async fn views_are_accessible_on_a_wide_dark_screen() -> Result<()> {
    views_are_accessible(1280, 1000, true).await
}

#[tokio::test]
async fn views_are_accessible_on_a_phone() -> Result<()> {
    views_are_accessible(360, 760, false).await
}

#[tokio::test]
async fn views_are_accessible_on_a_dark_phone() -> Result<()> {
    views_are_accessible(360, 760, true).await
}

#[tokio::test]
async fn two_players_fit_at_all_widths() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    for (width, query) in [
        (
            1440,
            "task=3&seed=42&policy=bayes&vs=heuristic&t=20&view=truth",
        ),
        (768, "world=cluster&policy=planner&vs=blind&t=9"),
        (360, "world=polyguard&vs=random&t=2"),
    ] {
        browser.viewport(width, 900).await?;
        show(&browser, &server, query).await?;
        browser.wait_until(NO_SIDEWAYS).await?;
    }
    is_silent(&browser).await
}

/// With the keyboard alone: help and back, another seed, an action, playing.
#[tokio::test]
async fn keyboard_alone_reaches_everything() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    let tab = Key::Tab.to_string();
    let reach = async |selector: &str| -> Result<()> {
        for _ in 0..90 {
            let there = format!(
                "return document.activeElement?.matches({})",
                json!(selector)
            );
            if browser.execute(&there, vec![]).await? == json!(true) {
                return Ok(());
            }
            browser.press(&tab).await?;
        }
        anyhow::bail!("{selector} is never reached with Tab")
    };
    reach("#help-open").await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser.wait_for("dialog[open]").await?;
    browser.press(&Key::Escape.to_string()).await?;
    // The dialog gives the focus back.
    browser
        .wait_until("document.activeElement.id === 'help-open'")
        .await?;
    reach("#settings").await?;
    browser.press(&Key::Enter.to_string()).await?;
    reach("[aria-label='Next seed']").await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser
        .wait_until("location.search.includes('seed=6')")
        .await?;
    browser.press(&Key::Escape.to_string()).await?;
    reach("[data-act=v2]").await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser.wait_for("[data-note=branch]").await?;
    // The button stays and keeps the focus when the moment changes.
    browser
        .wait_until("document.activeElement.dataset.act === 'v2'")
        .await?;
    reach("#play").await?;
    is_silent(&browser).await
}

/// Single keys do nothing once they are switched off, and stay so.
#[tokio::test]
async fn shortcuts_can_be_switched_off() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.click("#help-open").await?;
    browser.click("#shortcuts").await?;
    browser.click("#help-close").await?;
    browser.press("t").await?;
    browser.press(&Key::Right.to_string()).await?;
    browser.refresh().await?;
    browser.wait_for("[data-ready]").await?;
    browser.press("t").await?;
    shows_action(&browser, 0).await?;
    browser
        .wait_until("!document.querySelector('.truth-layer')")
        .await?;
    is_silent(&browser).await
}

/// Explanations open by pressing, so that touch has what a mouse has.
#[tokio::test]
async fn explanations_open_by_press() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.click(".status .term").await?;
    browser
        .wait_until("document.querySelector('#tip').textContent.length > 20")
        .await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser
        .wait_until("document.querySelector('#tip').hidden")
        .await?;
    is_silent(&browser).await
}

/// Files that are missing are named, no other policy takes their place, and the rest works.
#[tokio::test]
async fn missing_files_are_named_and_nothing_stands_in() -> Result<()> {
    let folder = copy_of_page()?;
    std::fs::remove_file(folder.path().join("replays/grpo/model.safetensors"))?;
    std::fs::remove_file(folder.path().join("replays/grpo/trainer_state.json"))?;
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = Browser::start().await?;
    open(&browser, &server, "policy=grpo").await?;
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('replays/grpo/model.safetensors')")
        .await?;
    assert_eq!(browser.text("#count").await?, "0 / 0");
    browser.click("[data-screen=training]").await?;
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('trainer_state.json')")
        .await?;
    browser.click("[data-screen=episode]").await?;
    browser.click("#settings").await?;
    let menu = browser.find(Locator::Css("#player")).await?;
    menu.select_by_value("heuristic").await?;
    browser
        .wait_for("[data-pane=main][data-player=heuristic]")
        .await?;
    browser
        .wait_until("!document.querySelector('#count').textContent.endsWith('/ 0')")
        .await
}

/// Under each set of rules the trained policy is the model for them, and needs no other file.
#[tokio::test]
async fn trained_policy_follows_the_rules_and_loads_only_its_model() -> Result<()> {
    for (world, rules, missing) in [
        ("trust", "hardened", "grpo"),
        ("trust", "reference", "trust-grpo-hardened"),
        ("cluster", "hardened", "cluster-grpo-reference"),
        ("cluster", "reference", "cluster-grpo"),
    ] {
        let folder = copy_of_page()?;
        std::fs::remove_file(
            folder
                .path()
                .join(format!("replays/{missing}/model.safetensors")),
        )?;
        let server = serve(folder.path(), SUB_PATH, 0)?;
        let browser = Browser::start().await?;
        let query = format!("world={world}&task=1&seed=3&policy=grpo&rules={rules}");
        open(&browser, &server, &query).await?;
        is_played(&browser).await?;
        let note = "document.querySelector('[data-note=source]')?.textContent";
        browser
            .wait_until(&format!("{note}.includes('trained under {rules} rules')"))
            .await?;
        is_silent(&browser).await?;
    }
    Ok(())
}

/// An engine that cannot be loaded is named with a way to restart; the rest of the page lives.
#[tokio::test]
async fn failed_engine_is_named_and_can_be_restarted() -> Result<()> {
    let folder = copy_of_page()?;
    for entry in folder.path().read_dir()? {
        let path = entry?.path();
        let name = path
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.starts_with("sentinel-cluster") && name.ends_with(".wasm") {
            std::fs::write(&path, "no program")?;
        }
    }
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = Browser::start().await?;
    browser
        .goto(&format!("{}?world=cluster", server.url()))
        .await?;
    browser.wait_for("#restart").await?;
    browser.click("[data-world=trust]").await?;
    browser.wait_for("[data-of=trust][data-ready]").await
}

/// The part of a chart ahead of the cursor is faded over its whole height and width.
#[tokio::test]
async fn chart_fades_what_lies_ahead() -> Result<()> {
    let (_server, browser) = open_page("task=3&seed=42&policy=heuristic&t=9").await?;
    browser.wait_for("[data-chart] .fog").await?;
    let covers = "(() => { const fog = document.querySelector('[data-chart] .fog');
        const around = fog.offsetParent;
        return [fog.offsetLeft, fog.offsetTop, fog.offsetWidth - around.clientWidth, fog.offsetHeight - around.clientHeight]; })()";
    assert_eq!(ask(&browser, covers).await?, json!([0, 0, 0, 0]));
    is_silent(&browser).await
}

/// An explanation that is open says what its element says now.
#[tokio::test]
async fn open_explanation_follows_its_element() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.click(".status .term").await?;
    browser
        .wait_until("document.querySelector('#tip').textContent.length > 20")
        .await?;
    let change = "document.querySelector('[aria-describedby=tip]').dataset.help = 'Another value.'";
    browser.execute(change, vec![]).await?;
    browser
        .wait_until("document.querySelector('#tip').textContent === 'Another value.'")
        .await?;
    is_silent(&browser).await
}

/// In a low window the bars at the top and bottom leave two thirds to the episode.
#[tokio::test]
async fn bars_leave_room_in_a_low_window() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    browser.viewport(640, 400).await?;
    show(&browser, &server, "task=3&seed=42&policy=grpo&t=14").await?;
    let height = |bar: &str| format!("document.querySelector('{bar}').offsetHeight");
    let bars = format!("{} + {}", height(".top"), height(".timeline"));
    let bars = ask(&browser, &bars).await?.as_f64().unwrap_or(f64::MAX);
    ensure!(bars <= 400.0 / 3.0, "{bars} of 400 pixels");
    browser.wait_until(NO_SIDEWAYS).await?;
    browser
        .save_screenshot(&screenshots().join("low.png"))
        .await
}

/// Returns an expression for the words in elements that stand on more than one line. A name may break
/// after a hyphen, so two lines are allowed for words with one.
fn broken_words(selector: &str) -> String {
    format!(
        "[...document.querySelectorAll('{selector}')].flatMap(element => {{
            const texts = document.createTreeWalker(element, NodeFilter.SHOW_TEXT), found = [];
            while (texts.nextNode()) for (const word of texts.currentNode.data.matchAll(/\\S+/g)) {{
                const range = document.createRange();
                range.setStart(texts.currentNode, word.index);
                range.setEnd(texts.currentNode, word.index + word[0].length);
                const lines = new Set([...range.getClientRects()].map(place => Math.round(place.top)));
                if (lines.size > (word[0].includes('-') ? 2 : 1)) found.push(word[0]);
            }}
            return found;
        }})"
    )
}

/// Words of tables and counters stay whole in narrow columns.
#[tokio::test]
async fn words_stay_whole_in_narrow_columns() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    for (width, query, selector) in [
        (
            360,
            "world=cluster&task=2&seed=42&policy=planner&t=20",
            "[data-panel=jobs] :is(th, td)",
        ),
        (1280, "world=polyguard&seed=42&t=2", ".counter dd"),
        (360, "world=polyguard&seed=42&t=2", ".counter dd"),
    ] {
        browser.viewport(width, 740).await?;
        show(&browser, &server, query).await?;
        browser.wait_for(selector).await?;
        let broken = ask(&browser, &broken_words(selector)).await?;
        assert_eq!(broken, json!([]), "{query} at {width} pixels");
    }
    is_silent(&browser).await
}

/// A title of one line leaves no gap below it.
#[tokio::test]
async fn short_titles_take_one_line() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    for query in ["page=training", "page=results"] {
        show(&browser, &server, query).await?;
        let title = "document.querySelector('h1')";
        let lines =
            format!("{title}.offsetHeight / parseFloat(getComputedStyle({title}).lineHeight)");
        let lines = ask(&browser, &lines).await?.as_f64().unwrap_or(f64::MAX);
        ensure!(lines < 1.5, "{query}: {lines} lines");
    }
    is_silent(&browser).await
}
