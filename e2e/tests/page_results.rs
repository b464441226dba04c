//! The screens of recorded results in a real browser: curves of training runs side by side,
//! checkpoints as players, and the reports with links to episodes.

use anyhow::{Context, Result, ensure};
use sentinel_e2e::{Browser, Server, drop_file, is_played, is_silent, screenshots, serve_page};
use serde_json::{Value, json};

const SCORES: &str = "return [...document.querySelectorAll('[data-checkpoint] .score-cell')]
    .map(cell => cell.textContent);";

async fn start(query: &str) -> Result<(Server, Browser)> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    show(&browser, &server, query).await?;
    Ok((server, browser))
}

async fn show(browser: &Browser, server: &Server, query: &str) -> Result<()> {
    browser.goto(&format!("{}?{query}", server.url())).await?;
    Ok(())
}

async fn save(browser: &Browser, name: &str) -> Result<()> {
    browser.save_screenshot(&screenshots().join(name)).await
}

/// Waits until the score at the end of the episode is `score`, to the three decimals that are shown.
async fn ends_with(browser: &Browser, score: f64) -> Result<()> {
    is_played(browser).await?;
    browser
        .execute("document.querySelector('#last').click()", vec![])
        .await?;
    browser
        .wait_until(&format!(
            "Math.abs(Number(document.querySelector('[data-pane=main] [data-score]').dataset.score) - {score}) < 5.6e-4"
        ))
        .await
}

#[tokio::test]
async fn runs_of_all_worlds_and_language_models_are_drawn_side_by_side() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    for (runs, lines) in [("", 4), ("trust-grpo:cluster-grpo:polyguard-grpo", 3)] {
        show(&browser, &server, &format!("page=training&runs={runs}")).await?;
        browser
            .wait_until(&format!(
                "document.querySelectorAll('[data-chart=evaluation] path.line').length === {lines}"
            ))
            .await?;
    }
    save(&browser, "results-training.png").await?;
    show(
        &browser,
        &server,
        "page=training&runs=trust-micro-sft:trust-small-sft:trust-micro-grpo",
    )
    .await?;
    browser
        .wait_until("document.querySelectorAll('[data-chart=loss] path.line').length === 3")
        .await?;
    browser
        .wait_until("document.querySelectorAll('[data-chart=accuracy] path.line').length === 2")
        .await?;
    // A run is added by the menu, and the address holds it.
    browser
        .execute("document.querySelector('.choose').open = true", vec![])
        .await?;
    browser.click("[data-choose=polyguard-tiny-grpo]").await?;
    browser
        .wait_until("document.querySelectorAll('[data-chart=reward] path.line').length === 2")
        .await?;
    browser
        .wait_until("location.search.includes('polyguard-tiny-grpo')")
        .await?;
    browser
        .wait_until("document.querySelectorAll('[data-run]').length === 4")
        .await?;
    // A metric keeps the name of its log and explains itself.
    browser.click("[data-metric='reward'] .term").await?;
    browser
        .wait_until("document.querySelector('#tip').textContent.includes('reward')")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn dropped_log_joins_the_shown_runs() -> Result<()> {
    let (_server, browser) = start("page=training&runs=trust-grpo").await?;
    browser.wait_for("[data-run=trust-grpo]").await?;
    let log = r#"{"global_step": 40, "log_history": [{"step": 20, "reward": 0.25}, {"step": 40, "reward": 0.75}]}"#;
    drop_file(&browser, "trainer_state.json", log).await?;
    browser.wait_for("[data-run=trainer_state]").await?;
    browser
        .wait_until("document.querySelectorAll('[data-chart=reward] path.line').length === 2")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn checkpoints_play_one_episode_and_open_as_players() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    let complete = "[...document.querySelectorAll('[data-checkpoint] .score-cell')]
        .filter(cell => /^0\\.\\d{4}$/.test(cell.textContent)).length === 3";
    for world in ["cluster", "polyguard", "trust"] {
        show(&browser, &server, &format!("world={world}&page=training")).await?;
        browser.wait_until(complete).await?;
        let scores = browser.execute(SCORES, vec![]).await?;
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
            .click("[data-checkpoint='checkpoint:1-start'] a")
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
    browser.wait_until(complete).await?;
    browser.click("#compare-checkpoints").await?;
    browser
        .wait_for("[data-pane=versus][data-player='checkpoint:3-end']")
        .await?;
    is_silent(&browser).await
}

/// Returns the mean score of a policy as the shipped file has it.
async fn mean_of(browser: &Browser, evaluation: &str, policy: &str) -> Result<f64> {
    let script = "const done = arguments[arguments.length - 1];
        fetch('results/report/results.json').then(response => response.json()).then(file => done(
            file.evaluations.find(({id}) => id === arguments[0])
                .policies.find(({policy}) => policy === arguments[1]).score.mean));";
    let mean = browser
        .execute_async(script, vec![json!(evaluation), json!(policy)])
        .await?;
    mean.as_f64().context("the file has no such mean")
}

#[tokio::test]
async fn results_have_the_numbers_of_the_file_and_link_to_their_episodes() -> Result<()> {
    let (server, browser) = start("page=results").await?;
    browser.wait_for("[data-results=eval_post]").await?;
    save(&browser, "results-results.png").await?;
    for (evaluation, policy, row) in [
        ("eval_post", "trained", "Trained policy"),
        ("eval_cluster", "planner", "Planner"),
        ("eval_polyguard", "rules_only", "Rules only"),
    ] {
        let mean = mean_of(&browser, evaluation, policy).await?;
        let cell = format!("[data-table={evaluation}-scores] [data-row='{row}'] td.num");
        let text = browser.text(&cell).await?;
        ensure!(
            text.starts_with(&format!("{mean:.4} ±")),
            "{text} is not {mean}"
        );
    }
    // The sweeps are there, with a command for each number.
    browser
        .wait_until("document.querySelectorAll('[data-table$=-stages]').length === 2")
        .await?;
    browser
        .wait_until("document.querySelectorAll('[data-table$=-stages] .command').length > 8")
        .await?;
    // A link to an episode of another world leads to the score that it names.
    let link = "[data-table=eval_cluster-scores] [data-row='Trained policy'] a";
    browser.wait_for(link).await?;
    let named = browser
        .execute(
            &format!("return document.querySelector(\"{link}\").dataset.score"),
            vec![],
        )
        .await?;
    let named: f64 = named.as_str().unwrap_or_default().parse()?;
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
    browser.wait_for("[data-results=eval_post]").await?;
    drop(server);
    is_silent(&browser).await
}

/// Nothing of the two screens is fetched before they are opened.
#[tokio::test]
async fn records_are_fetched_when_they_are_needed() -> Result<()> {
    let (_server, browser) = start("policy=heuristic").await?;
    browser.wait_for("[data-ready]").await?;
    is_played(&browser).await?;
    let fetched = "return performance.getEntriesByType('resource').map(({name}) => name)
        .filter(name => /results\\/|sentinel-records/.test(name))";
    assert_eq!(browser.execute(fetched, vec![]).await?, json!([]));
    browser.click("[data-screen=results]").await?;
    browser.wait_for("[data-results]").await?;
    browser.click("[data-screen=training]").await?;
    browser.wait_for("[data-chart] path.line").await?;
    is_silent(&browser).await
}

const NO_SIDEWAYS: &str = "document.documentElement.scrollWidth <= window.innerWidth";

#[tokio::test]
async fn both_screens_fit_on_a_phone_and_in_the_dark() -> Result<()> {
    let (server, browser) = start("page=training&theme=dark").await?;
    for (width, shade) in [(1280, "dark"), (360, "light"), (360, "dark")] {
        browser.viewport(width, 900).await?;
        let runs = "trust-grpo:cluster-grpo:trust-micro-grpo";
        for (name, query, ready) in [
            (
                "training",
                format!("page=training&runs={runs}"),
                "[data-chart=reward]",
            ),
            (
                "results",
                "page=results".to_owned(),
                "[data-results=eval_post]",
            ),
        ] {
            show(&browser, &server, &format!("{query}&theme={shade}")).await?;
            browser.wait_for(ready).await?;
            browser.wait_until(NO_SIDEWAYS).await?;
            save(&browser, &format!("results-{name}-{width}-{shade}.png")).await?;
            for (part, selector) in [
                ("charts", "[data-chart=reward]"),
                ("sweep", "[data-table$=-stages]"),
            ] {
                let script = "const found = document.querySelector(arguments[0]);
                    found?.scrollIntoView(); return Boolean(found);";
                if browser.execute(script, vec![json!(selector)]).await? == json!(true) {
                    save(
                        &browser,
                        &format!("results-{name}-{part}-{width}-{shade}.png"),
                    )
                    .await?;
                }
            }
        }
    }
    is_silent(&browser).await
}
