//! The analysis of an episode in a real browser.

use anyhow::{Context, Result};
use sentinel_e2e::{Browser, is_played, is_silent, open, open_page, screenshots};
use sentinel_env::Environment as _;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Setup, Task, TrustEnv};
use sentinel_policy::Scripted as _;
use sentinel_policy::analysis::{Analysis, AnalysisConfig, Trajectory};
use sentinel_policy::nn::{Model, TrainedPolicy};
use sentinel_policy::trust::PolicyName;
use sentinel_policy::trust::learned::TrustNet;
use serde_json::{Value, json};
use std::sync::Arc;

const COMPLETE: &str = "document.querySelector('[data-analysis=complete]')";

/// Looks at the analysis on a phone: nothing is wider than the screen.
async fn fits_on_a_phone(browser: &Browser, name: &str) -> Result<()> {
    browser.viewport(360, 740).await?;
    let overflow = "document.documentElement.scrollWidth > window.innerWidth";
    browser.wait_until(&format!("!({overflow})")).await?;
    let row = "document.querySelector('.analysis tbody tr')";
    browser
        .execute(
            &format!("{row}.scrollIntoView({{block: 'center'}})"),
            vec![],
        )
        .await?;
    // Stacked, so that a name has the whole width.
    let wide = format!("{row}.firstElementChild.getBoundingClientRect().width > 200");
    browser.wait_until(&wide).await?;
    browser
        .save_screenshot(&screenshots().join(format!("analysis-360-{name}.png")))
        .await?;
    browser.viewport(1280, 800).await
}

#[tokio::test]
async fn decisions_are_judged_in_every_world_and_mistakes_lead_to_branches() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for query in [
        "world=polyguard&task=DDI-easy&seed=42&policy=no_change&t=1",
        "world=cluster&task=task1&seed=5&policy=random&t=3",
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        browser.click("#analyze").await?;
        browser.wait_for(".analysis tbody tr").await?;
        fits_on_a_phone(&browser, &query[6..9]).await?;
    }
    // The longest episodes take long enough to be stopped before the analysis is complete.
    let long = "world=cluster&task=task3&seed=5&policy=random&t=3";
    open(&browser, &server, long).await?;
    is_played(&browser).await?;
    browser.click("#analyze").await?;
    browser.wait_for("#analyze-stop:not([hidden])").await?;
    browser.click("#analyze-stop").await?;
    browser.wait_for("#analyze:not([hidden])").await?;
    open(&browser, &server, "task=task3&seed=42&policy=random").await?;
    is_played(&browser).await?;
    browser.click("#analyze").await?;
    browser.wait_until(COMPLETE).await?;
    // The last action of the list led to the cursor; the next mistake is reached by its key.
    browser.press("b").await?;
    browser
        .wait_until("document.querySelector('.verdict[data-tone=bad]')")
        .await?;
    browser
        .save_screenshot(&screenshots().join("analysis.png"))
        .await?;
    let rows = "return document.querySelectorAll('[data-pane=main] .analysis tbody tr').length";
    assert_eq!(browser.execute(rows, vec![]).await?, json!(12));
    let hidden = "return document.querySelector('.analysis [data-truth]') === null";
    assert_eq!(browser.execute(hidden, vec![]).await?, json!(true));
    let cursor = "return Number(document.getElementById('scrubber').value)";
    let at: Value = browser.execute(cursor, vec![]).await?;
    let first: Value = browser
        .execute(
            "return document.querySelector('[data-instead]').dataset.instead",
            vec![],
        )
        .await?;
    browser.click("[data-instead]").await?;
    browser
        .wait_until("document.querySelector('[data-note=branch]')")
        .await?;
    let address: Value = browser.execute("return location.search", vec![]).await?;
    let (address, before) = (address.as_str().unwrap_or(""), at.as_u64().unwrap_or(0) - 1);
    let code = first.as_str().unwrap_or("none");
    assert!(address.contains(&format!("at={before}")), "{address}");
    assert!(address.contains(&format!("acts={code}")), "{address}");
    is_silent(&browser).await
}

#[tokio::test]
async fn hindsight_is_shown_with_the_truth_only() -> Result<()> {
    let (server, browser) = open_page("").await?;
    open(&browser, &server, "task=task1&seed=3&policy=heuristic").await?;
    is_played(&browser).await?;
    browser.click("#analyze").await?;
    browser.wait_until(COMPLETE).await?;
    browser.press("t").await?;
    browser
        .wait_until("document.querySelector('.analysis [data-truth] table')")
        .await?;
    browser.press("t").await?;
    browser
        .wait_until("!document.querySelector('.analysis [data-truth]')")
        .await?;
    is_silent(&browser).await
}

/// Analyzes an episode of the heuristic natively, as `sentinel analyze` does: accuracy in percent,
/// and the values of the actions at the first step, best first.
fn native_analysis(setup: &Setup) -> Result<(String, Vec<String>)> {
    let file = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../replays/grpo/model.safetensors"
    );
    let model: Model<TrustNet> = Model::from_bytes(&std::fs::read(file)?)?;
    let policy = PolicyName::parse("heuristic").context("a policy")?;
    let mut player = policy.start(setup);
    let (mut states, mut actions) = (vec![TrustEnv::reset(setup)], Vec::new());
    while let Some(action) = player.act(states.last().context("a state")?) {
        let mut next = *states.last().context("a state")?;
        next.step(action)?;
        states.push(next);
        actions.push(action);
    }
    let played = Trajectory::from_states(states, actions);
    let config = AnalysisConfig {
        hindsight: false,
        ..AnalysisConfig::default()
    };
    let mut analysis = Analysis::new(&played, &TrainedPolicy::new(Arc::new(model)), config);
    while analysis.advance() {}
    let report = analysis.report();
    let first = report.steps[0]
        .belief
        .as_ref()
        .context("an analyzed step")?;
    let values = first.values.iter().zip(&first.errors);
    let mut values: Vec<String> = values
        .map(|(value, error)| format!("{value:.3} ± {:.3}", error.unwrap_or(f64::NAN)))
        .collect();
    values.sort_by(|a, b| b.cmp(a));
    let accuracy = 100.0 * report.accuracy.context("an accuracy")?;
    Ok((format!("{accuracy:.0} %"), values))
}

#[tokio::test]
async fn page_and_command_find_the_same_values() -> Result<()> {
    let (accuracy, values) = native_analysis(&Setup::new(Task::Task1, 3, Streams::Independent))?;
    let query = "task=task1&seed=3&streams=independent&policy=heuristic&t=1";
    let (_server, browser) = open_page(query).await?;
    is_played(&browser).await?;
    browser.click("#analyze").await?;
    browser.wait_until(COMPLETE).await?;
    let cells = "return [...document.querySelectorAll('.analysis tbody tr')]\
        .map(row => row.querySelector('td.num').textContent).sort().reverse()";
    assert_eq!(browser.execute(cells, vec![]).await?, json!(values));
    let text = browser.text(".analysis").await?;
    assert!(text.contains(&accuracy), "no {accuracy} in {text}");
    is_silent(&browser).await
}

#[tokio::test]
async fn mistake_keys_answer_when_there_is_nothing_to_find() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    is_played(&browser).await?;
    browser.wait_for("#brief-note").await?;
    browser.press("b").await?;
    let note = "document.querySelector('#brief-note').textContent";
    browser
        .wait_until(&format!("{note}.startsWith('Find the mistakes first')"))
        .await?;
    browser.wait_until(&format!("{note} === ''")).await?;
    is_silent(&browser).await
}
