//! The screens of recorded results in a real browser: curves of training runs side by side,
//! checkpoints as players, and the reports with links to episodes.

use anyhow::{Context, Result, ensure};
use sentinel_e2e::{
    Browser, Server, drop_file, holds_at_end, is_played, is_silent, screenshots, serve_page,
};
use serde_json::{Value, json};

const NO_SIDEWAYS: &str = "document.documentElement.scrollWidth <= window.innerWidth";

/// Selects the score of each checkpoint.
const CHECKPOINT_SCORES: &str = "[data-panel=checkpoints] tbody tr td.num:first-of-type";

/// Opens a screen that needs no episode; the server stops when it is dropped.
pub(super) async fn start(query: &str) -> Result<(Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    show(&browser, &server, query).await?;
    Ok((server, browser))
}

pub(super) async fn show(browser: &Browser, server: &Server, query: &str) -> Result<()> {
    Ok(browser.goto(&format!("{}?{query}", server.url())).await?)
}

async fn save(browser: &Browser, name: &str) -> Result<()> {
    browser.save_screenshot(&screenshots().join(name)).await
}

/// Waits until a chart has this number of lines.
async fn has_lines(browser: &Browser, chart: &str, count: usize) -> Result<()> {
    let lines = format!("document.querySelectorAll('[data-chart={chart}] path.line').length");
    browser.wait_until(&format!("{lines} === {count}")).await
}

/// Waits until the score at the end of the episode is `score`, to the three decimals that are shown.
async fn ends_with(browser: &Browser, score: f64) -> Result<()> {
    let shown = "Number(document.querySelector('[data-pane=main] [data-score]').dataset.score)";
    holds_at_end(browser, &format!("Math.abs({shown} - {score}) < 5.6e-4")).await
}

#[tokio::test]
async fn results_begin_with_the_world_of_the_page() -> Result<()> {
    let (_server, browser) = start("world=polyguard&page=results").await?;
    browser.wait_for("section.records h2").await?;
    let first = browser.text("section.records h2").await?;
    ensure!(first.contains("PolyGuard"), "{first}");
    let last = "document.querySelector('nav .contents li:last-child button')";
    let click = format!("{last}.click(); return {last}.textContent");
    let title = browser.execute(&click, vec![]).await?;
    browser
        .wait_until(&format!("document.activeElement.ariaLabel === {title}"))
        .await?;
    save(&browser, "results-contents.png").await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn runs_of_all_worlds_and_language_models_are_drawn_side_by_side() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    has_lines(&browser, "evaluation", 4).await?;
    let runs = "page=training&runs=trust-grpo:cluster-grpo:polyguard-grpo";
    show(&browser, &server, runs).await?;
    has_lines(&browser, "evaluation", 3).await?;
    let runs = "page=training&runs=trust-micro-sft:trust-small-sft:trust-micro-grpo";
    show(&browser, &server, runs).await?;
    has_lines(&browser, "loss", 3).await?;
    has_lines(&browser, "accuracy", 2).await?;
    // A run is added by the menu, and the address holds it.
    browser.click("[data-panel=run-menu] summary").await?;
    browser
        .click("[data-card=polyguard-tiny-grpo] .card-link")
        .await?;
    has_lines(&browser, "reward", 2).await?;
    browser
        .wait_until("location.search.includes('polyguard-tiny-grpo')")
        .await?;
    browser
        .wait_until("document.querySelectorAll('[data-panel=runs] [data-card]').length === 4")
        .await?;
    browser
        .click("[data-panel=runs] [data-card=trust-micro-grpo] .card-link")
        .await?;
    has_lines(&browser, "reward", 1).await?;
    // A metric keeps the name of its log and explains itself.
    let names = "[...document.querySelectorAll('.records .note .term')].map(e => e.textContent)";
    browser
        .wait_until(&format!("{names}.includes('mean_token_accuracy')"))
        .await?;
    browser.click(".records .curves .note .term").await?;
    browser
        .wait_until("document.querySelector('#tip').textContent.length > 30")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn dropped_log_joins_the_shown_runs() -> Result<()> {
    let (_server, browser) = start("page=training&runs=trust-grpo").await?;
    browser.wait_for("[data-card=trust-grpo]").await?;
    browser.wait_for("[data-ready]").await?;
    let log = r#"{"global_step": 40, "log_history": [{"step": 20, "reward": 0.25}, {"step": 40, "reward": 0.75}]}"#;
    drop_file(&browser, "trainer_state.json", log).await?;
    browser
        .wait_for("[data-panel=runs] [data-card=trainer_state]")
        .await?;
    has_lines(&browser, "reward", 2).await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn checkpoints_play_one_episode_and_open_as_players() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    let texts = format!(
        "[...document.querySelectorAll('{CHECKPOINT_SCORES}')].map(cell => cell.textContent)"
    );
    for world in ["cluster", "polyguard", "trust"] {
        let query = format!("world={world}&page=training");
        show(&browser, &server, &query).await?;
        browser.wait_until(&format!("{texts}.length === 3")).await?;
        let scores = browser.execute(&format!("return {texts}"), vec![]).await?;
        let scores: Vec<&str> = scores
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        ensure!(
            scores.len() == 3 && scores[0] != scores[1] && scores[0] != scores[2],
            "{world}: {scores:?}"
        );
        // The link opens the episode with that player.
        let first: f64 = scores[0].parse()?;
        browser
            .click("[data-panel=checkpoints] [data-card='1-start'] .card-link")
            .await?;
        browser
            .wait_for("[data-pane=main][data-player='checkpoint:1-start']")
            .await?;
        ends_with(&browser, first).await?;
        browser
            .wait_until("document.querySelector('#player').value === 'checkpoint:1-start'")
            .await?;
    }
    show(&browser, &server, "page=training").await?;
    // The cards are drawn anew when the scores arrive.
    browser.wait_until(&format!("{texts}.length === 3")).await?;
    browser
        .click("[data-panel=checkpoints] [data-card='1-start'] .card-link + .card-link")
        .await?;
    browser
        .wait_for("[data-pane=versus][data-player='checkpoint:3-end']")
        .await?;
    is_silent(&browser).await
}

/// Returns the mean score of a policy as the shipped file has it.
async fn mean_of(browser: &Browser, evaluation: &str, policy: &str) -> Result<f64> {
    let script = "const [id, name, done] = arguments;
        fetch('results/report/results.json').then(response => response.json()).then(file => done(
            file.evaluations.find(found => found.id === id)
                .policies.find(({policy}) => policy === name).score.mean));";
    let mean = browser
        .execute_async(script, vec![json!(evaluation), json!(policy)])
        .await?;
    mean.as_f64().context("the file has no such mean")
}

#[tokio::test]
async fn results_have_the_numbers_of_the_file_and_link_to_their_episodes() -> Result<()> {
    let (_server, browser) = start("page=results").await?;
    for (evaluation, policy, row) in [
        ("eval_post", "trained", "Trained policy (GRPO)"),
        ("eval_cluster", "planner", "Planner"),
        ("eval_polyguard", "rules_only", "Rules only"),
    ] {
        let cell = format!("[data-panel={evaluation}-scores] [data-card='{row}'] td.num");
        let text = browser.text(&cell).await?;
        let mean = mean_of(&browser, evaluation, policy).await?;
        ensure!(
            text.starts_with(&format!("{mean:.3} ±")),
            "{text} is not {mean}"
        );
    }
    // The sweeps are there, with commands that made the numbers.
    browser
        .wait_until("document.querySelectorAll('[data-panel$=-stages]').length === 2")
        .await?;
    browser.click("[data-panel$=-stages] .note .term").await?;
    browser
        .wait_until("document.querySelector('#tip').textContent.startsWith('sentinel lm eval')")
        .await?;
    // A link to an episode of another world leads to the score that it names.
    let link = "[data-panel=eval_cluster-scores] [data-card='Trained policy (GRPO)'] .card-link";
    let text = browser.text(link).await?;
    let named: f64 = text.rsplit(", ").next().unwrap_or_default().parse()?;
    browser.click(link).await?;
    browser
        .wait_for("[data-of=cluster] [data-pane=main][data-player=grpo]")
        .await?;
    ends_with(&browser, named).await?;
    browser
        .wait_until("location.search.includes('rules=hardened')")
        .await?;
    // Back returns to the results.
    browser.back().await?;
    browser.wait_for("[data-panel=eval_post-scores]").await?;
    is_silent(&browser).await
}

/// Nothing of the two screens is fetched before they are opened.
#[tokio::test]
async fn records_are_fetched_when_they_are_needed() -> Result<()> {
    let (_server, browser) = start("policy=heuristic").await?;
    browser.wait_for("[data-ready]").await?;
    is_played(&browser).await?;
    let folders = "return performance.getEntriesByType('resource').map(({name}) => name)
        .filter(name => /\\/results\\//.test(name))";
    assert_eq!(browser.execute(folders, vec![]).await?, json!([]));
    browser.click("[data-screen=results]").await?;
    browser.wait_for("[data-panel=eval_post-scores]").await?;
    browser.click("[data-screen=training]").await?;
    browser.wait_for("[data-chart] path.line").await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn both_screens_fit_on_a_phone_and_in_the_dark() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    let runs = "page=training&runs=trust-grpo:cluster-grpo:trust-micro-grpo";
    for (name, query, ready, below) in [
        (
            "training",
            runs,
            "[data-chart=reward]",
            "[data-chart=reward]",
        ),
        (
            "results",
            "page=results",
            "[data-panel=eval_post-scores]",
            "[data-panel$=-stages]",
        ),
    ] {
        for (width, shade) in [
            (1280, "light"),
            (1280, "dark"),
            (360, "light"),
            (360, "dark"),
        ] {
            browser.viewport(width, 900).await?;
            show(&browser, &server, &format!("{query}&theme={shade}")).await?;
            browser.wait_for(ready).await?;
            if name == "training" {
                browser.wait_for(CHECKPOINT_SCORES).await?;
            }
            browser.wait_until(NO_SIDEWAYS).await?;
            save(&browser, &format!("results-{name}-{width}-{shade}.png")).await?;
            let scroll = "document.querySelector(arguments[0]).scrollIntoView()";
            browser.execute(scroll, vec![json!(below)]).await?;
            save(
                &browser,
                &format!("results-{name}-below-{width}-{shade}.png"),
            )
            .await?;
        }
    }
    is_silent(&browser).await
}
