//! The world's question in a real browser: what a first visit shows, the answers, and the ways on.

use std::time::Duration;

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::{
    Browser, Server, ask, axe_findings, inspect_view, is_silent, screenshots, serve_page,
    shows_action,
};
use serde_json::{Value, json};

/// The heading of the screen.
const HEADING: &str = "document.querySelector('#question').textContent";
/// The seed in the address.
const SEED: &str = "new URLSearchParams(location.search).get('seed')";
/// The sum of the layout shifts since the page began to load.
const SHIFTS: &str = "(() => { let sum = 0;
    const observer = new PerformanceObserver(() => {});
    observer.observe({type: 'layout-shift', buffered: true});
    for (const entry of observer.takeRecords()) if (!entry.hadRecentInput) sum += entry.value;
    return sum; })()";

async fn start() -> Result<(Server, Browser)> {
    Ok((serve_page()?, Browser::start().await?))
}

/// Opens the page without a query, as a new visitor does, or with one.
async fn visit(browser: &Browser, server: &Server, query: &str) -> Result<()> {
    browser.goto(&(server.url() + query)).await?;
    browser.wait_for("[data-ready]").await
}

/// Keeps the page from playing by itself.
async fn stand_still(browser: &Browser) -> Result<()> {
    browser
        .prefer(&[("prefers-reduced-motion", "reduce")])
        .await
}

async fn text_of(browser: &Browser, expression: &str) -> Result<String> {
    let found = ask(browser, expression).await?;
    Ok(found.as_str().unwrap_or_default().to_owned())
}

/// Waits until the question stands there, without its answer.
async fn is_asked(browser: &Browser) -> Result<()> {
    browser
        .wait_until(&format!("{HEADING}.endsWith('Which one?')"))
        .await
}

/// Goes to the end of the episode, which may still be arriving, and waits for the answer.
async fn reach_the_end(browser: &Browser) -> Result<()> {
    browser.press(&Key::End.to_string()).await?;
    browser.wait_for(".spot[data-ended]").await
}

/// A first visit asks who lies, tells nothing before the end, and never scrolls by itself; at the end
/// it says who named whom.
#[tokio::test]
async fn first_visit_asks_who_lies_and_tells_it_at_the_end() -> Result<()> {
    let (server, browser) = start().await?;
    for (width, height) in [(1280, 800), (360, 740)] {
        browser.viewport(width, height).await?;
        visit(&browser, &server, "?speed=4").await?;
        is_asked(&browser).await?;
        browser.click("[data-suspect='2']").await?;
        browser
            .wait_for("[data-suspect='2'][aria-pressed=true]")
            .await?;
        // The driver scrolls to what it clicks; the page must not scroll by itself.
        browser.execute("scrollTo(0, 0)", vec![]).await?;
        // Until the end no hidden state is in the document, and the suspects stay in sight.
        loop {
            let state = "[document.querySelector('.spot[data-ended]') !== null, \
                document.querySelector('.unmasked, .is-answer, [data-truth], #reason') !== null, \
                scrollY, document.querySelector('.lineup').getBoundingClientRect().top < innerHeight]";
            let state = ask(&browser, state).await?;
            if state[0] == json!(true) {
                break;
            }
            assert_eq!(state, json!([false, false, 0, true]));
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        let heading = text_of(&browser, HEADING).await?;
        assert!(heading.starts_with("You: S2 at step "), "{heading}");
        assert!(heading.contains("The network: S4 at step "), "{heading}");
        assert!(heading.ends_with("It was S4."), "{heading}");
        browser.wait_for("[data-suspect='4'].is-answer").await?;
        let reason = browser.text("#reason").await?;
        assert!(reason.starts_with("Why S4? S4 was right "), "{reason}");
        // The answer can no longer be changed.
        browser.click("[data-suspect='4']").await?;
        browser
            .wait_for("[data-suspect='4'][aria-pressed=false]")
            .await?;
        // The score of one episode stands beside the means of many.
        browser.wait_for("[data-mean-of=grpo]").await?;
        browser.wait_for("[data-mean-of=random]").await?;
        let address = text_of(&browser, "location.search").await?;
        for part in ["page=spot", "rules=hardened", "policy=random", "seed=5040"] {
            assert!(address.contains(part), "{address}");
        }
    }
    is_silent(&browser).await
}

/// A seed in the address counts without a task; the rest of the episode is that of the world's question.
#[tokio::test]
async fn seed_of_the_address_counts() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    visit(&browser, &server, "?page=spot&seed=7").await?;
    is_asked(&browser).await?;
    // The question is drawn before the address says all of it.
    for part in ["seed=7", "task=task3", "policy=random", "rules=hardened"] {
        let has_part = format!("location.search.includes('{part}')");
        browser.wait_until(&has_part).await?;
    }
    // Another world shows its own question.
    browser.click("[data-world=cluster]").await?;
    browser
        .wait_for("[data-of=cluster][data-ready] .spot")
        .await?;
    browser
        .wait_until(&format!("{SEED} !== null && {SEED} !== '7'"))
        .await?;
    is_silent(&browser).await
}

/// Back leads to where the visitor was before: to another site's page, to the episode before, and to the
/// screen from which the question was opened. An episode that has ended shows its answer again.
#[tokio::test]
async fn back_leaves_the_question() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    browser.goto(&(server.url() + "?page=results")).await?;
    browser.wait_for(".records").await?;
    visit(&browser, &server, "").await?;
    browser
        .wait_until("location.search.includes('seed=5040')")
        .await?;
    reach_the_end(&browser).await?;
    browser.click("#again").await?;
    browser
        .wait_until("!location.search.includes('seed=5040')")
        .await?;
    is_asked(&browser).await?;
    browser.execute("history.back()", vec![]).await?;
    browser
        .wait_until("location.search.includes('seed=5040')")
        .await?;
    // Back to an end that was shown: the answer is there again.
    browser.wait_for(".spot[data-ended]").await?;
    browser.execute("history.back()", vec![]).await?;
    browser
        .wait_until("location.search.includes('page=results')")
        .await?;
    // From the Episode screen the question is an entry of its own.
    visit(&browser, &server, "?task=1&seed=5&policy=heuristic").await?;
    browser.click("[data-screen=spot]").await?;
    browser.wait_for(".spot").await?;
    browser
        .wait_until("location.search.includes('page=spot')")
        .await?;
    browser.execute("history.back()", vec![]).await?;
    browser
        .wait_until("location.search.includes('policy=heuristic')")
        .await?;
    is_silent(&browser).await
}

/// A visitor who prefers reduced motion steps by keyboard, and names a suspect by its number.
#[tokio::test]
async fn question_is_answered_by_keyboard() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    visit(&browser, &server, "").await?;
    tokio::time::sleep(Duration::from_secs(2)).await;
    shows_action(&browser, 0).await?;
    browser.press(&Key::Right.to_string()).await?;
    shows_action(&browser, 1).await?;
    for (key, step) in [("0", 1), ("1", 1)] {
        browser.press(key).await?;
        let named = format!("[data-suspect='{key}'][aria-pressed=true]");
        browser.wait_for(&named).await?;
        shows_action(&browser, step).await?;
    }
    reach_the_end(&browser).await?;
    let heading = text_of(&browser, HEADING).await?;
    assert!(heading.starts_with("You: S1 at step 1."), "{heading}");
    let announced = "document.querySelector('#question').closest('[aria-live=polite]') !== null";
    assert_eq!(ask(&browser, announced).await?, json!(true));
    is_silent(&browser).await
}

/// Every world has a question, which stays the screen when the world changes.
#[tokio::test]
async fn every_world_asks_its_question() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    visit(&browser, &server, "").await?;
    for (world, purpose) in [
        ("cluster", "one exaggerates"),
        ("polyguard", "the medicine behind a symptom"),
        ("trust", "one lies exactly when it matters"),
    ] {
        browser.click(&format!("[data-world={world}]")).await?;
        browser
            .wait_for(&format!("[data-of={world}][data-ready] .spot"))
            .await?;
        is_asked(&browser).await?;
        browser
            .wait_until("Number.parseInt(document.querySelector('#scrubber').max) > 1")
            .await?;
        reach_the_end(&browser).await?;
        browser.wait_for("[data-mean-of=grpo]").await?;
        let heading = text_of(&browser, HEADING).await?;
        assert!(heading.starts_with("You named nobody."), "{heading}");
        let shown = browser.text(".purpose").await?;
        assert!(shown.contains(purpose), "{shown}");
        let reason = browser.text("#reason").await?;
        assert!(
            reason.contains("the network’s estimate went from"),
            "{reason}"
        );
        let file = format!("spot-{world}-end.png");
        browser.save_screenshot(&screenshots().join(file)).await?;
    }
    is_silent(&browser).await
}

/// The question of the day has the seed of the date, and its result names nobody.
#[tokio::test]
async fn question_of_the_day_is_shared_without_the_answer() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    let permissions = json!({"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]});
    browser
        .dev_tools("Browser.grantPermissions", permissions)
        .await?;
    visit(&browser, &server, "").await?;
    reach_the_end(&browser).await?;
    browser.click("#today").await?;
    let day = "String(20000 + Math.floor(Date.now() / 86400000) % 80000)";
    browser.wait_until(&format!("{SEED} === {day}")).await?;
    is_asked(&browser).await?;
    browser.press("3").await?;
    browser
        .wait_for("[data-suspect='3'][aria-pressed=true]")
        .await?;
    reach_the_end(&browser).await?;
    browser.click("#copy-result").await?;
    browser
        .wait_until("document.querySelector('#copy-result').textContent === 'Result copied'")
        .await?;
    let script = "navigator.clipboard.readText().then(arguments[arguments.length - 1])";
    let copied: Value = browser.execute_async(script, vec![]).await?;
    let text = text_of(
        &browser,
        "document.querySelector('#result-text').textContent",
    )
    .await?;
    assert_eq!(copied, json!(text));
    let date = text_of(&browser, "new Date().toISOString().slice(0, 10)").await?;
    assert!(text.contains(&format!("Spot the liar, {date}")), "{text}");
    assert!(text.contains("at step 0 of "), "{text}");
    let names = ["S0", "S1", "S2", "S3", "S4"];
    assert!(!names.iter().any(|name| text.contains(name)), "{text}");
    is_silent(&browser).await
}

/// After the answer a fresh episode is played by hand, whose score counts; that of the episode whose
/// answer was shown does not.
#[tokio::test]
async fn a_fresh_episode_is_played_after_the_answer() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    visit(&browser, &server, "").await?;
    reach_the_end(&browser).await?;
    browser.click("#play-fresh").await?;
    browser
        .wait_for("[data-ready] [data-pane=main][data-player=you]")
        .await?;
    browser.wait_until(&format!("{SEED} !== '5040'")).await?;
    browser.wait_until("scrollY === 0").await?;
    browser.wait_for(".own-play").await?;
    browser.click("[data-act]").await?;
    // The result of an own action is announced.
    browser
        .wait_until("/answer is|alone|skipped/i.test(document.querySelector('#heard').textContent)")
        .await?;
    let known = "document.querySelector('#known-note') !== null";
    assert_eq!(ask(&browser, known).await?, json!(false));
    visit(&browser, &server, "").await?;
    reach_the_end(&browser).await?;
    browser.click("[data-screen=episode]").await?;
    browser.wait_for("[data-ready] [data-pane=main]").await?;
    browser.press(&Key::Home.to_string()).await?;
    browser.click("[data-act]").await?;
    browser.wait_for("#known-note").await?;
    is_silent(&browser).await
}

/// Pictures at three widths, light and dark: nothing sticks out, and nothing moves while it loads.
#[tokio::test]
async fn question_fits_every_width() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    for (width, height) in [(1280, 800), (768, 1024), (360, 740)] {
        browser.viewport(width, height).await?;
        for (world, at) in [("trust", 12), ("cluster", 40), ("polyguard", 3)] {
            for theme in ["light", "dark"] {
                let query = format!("?world={world}&theme={theme}");
                visit(&browser, &server, &query).await?;
                // Episodes arrive in parts.
                let arrived = format!("Number(document.querySelector('#scrubber').max) >= {at}");
                browser.wait_until(&arrived).await?;
                let shifts = ask(&browser, SHIFTS).await?.as_f64().unwrap_or(1.0);
                assert!(shifts <= 0.02, "{world} {width}: {shifts}");
                let seek =
                    "const range = document.querySelector('#scrubber'); range.value = arguments[0];
                    range.dispatchEvent(new Event('input', {bubbles: true}));";
                browser.execute(seek, vec![json!(at)]).await?;
                shows_action(&browser, at).await?;
                browser
                    .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
                    .await?;
                let file = format!("spot-{world}-{width}-{theme}.png");
                browser.save_screenshot(&screenshots().join(file)).await?;
            }
        }
    }
    is_silent(&browser).await
}

/// Checks the question and its answer with axe-core, light and dark.
#[tokio::test]
async fn question_is_accessible() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    let mut findings = Vec::new();
    for theme in ["light", "dark"] {
        for width in [1280, 360] {
            browser.viewport(width, 800).await?;
            visit(&browser, &server, &format!("?theme={theme}")).await?;
            for _ in 0..3 {
                browser.press(&Key::Right.to_string()).await?;
            }
            shows_action(&browser, 3).await?;
            findings.extend(inspect_view(&browser, &format!("spot-{width}-{theme}")).await?);
            browser.press("1").await?;
            reach_the_end(&browser).await?;
            browser.wait_for("[data-mean-of=random]").await?;
            findings.extend(axe_findings(&browser).await?);
        }
    }
    assert_eq!(findings, Vec::<String>::new());
    is_silent(&browser).await
}

/// The theme that a visitor chose stays, also on links that name none, and no link forces it.
#[tokio::test]
async fn chosen_theme_stays() -> Result<()> {
    let (server, browser) = start().await?;
    stand_still(&browser).await?;
    visit(&browser, &server, "").await?;
    let theme = "document.documentElement.dataset.theme";
    browser.click("#theme").await?;
    browser.wait_until(&format!("{theme} === 'dark'")).await?;
    visit(&browser, &server, "?task=1&seed=5&policy=heuristic").await?;
    assert_eq!(text_of(&browser, theme).await?, "dark");
    let address = text_of(&browser, "location.search").await?;
    assert!(!address.contains("theme"), "{address}");
    visit(
        &browser,
        &server,
        "?task=1&seed=5&policy=heuristic&theme=light",
    )
    .await?;
    assert_eq!(text_of(&browser, theme).await?, "light");
    is_silent(&browser).await
}
