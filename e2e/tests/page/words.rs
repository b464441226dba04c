//! Replays with prompts and completions of a language model: the panel beside the action, in every
//! world.

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::{Browser, drop_file, open_page, screenshots};
use sentinel_env::EpisodeSpec;
use sentinel_env::World;
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::{PolyguardEnv, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::trust::{Task, TrustEnv};
use sentinel_policy::replay::{LmTranscript, Recordable, RecordedAction, ReplayRow, to_lines};
use sentinel_policy::text::{
    InvalidActionPolicy, ParserStrictness, PromptState, PromptStyle, TextWorld,
};
use serde_json::{Value, json};

/// A completion that is neither an action nor markup.
const NONSENSE: &str = "<b>I would rather</b> &amp; not <script>say</script>";

/// Records an episode of a script that answers with a plain action, then with text around it, then
/// with no action.
fn episode<W: TextWorld>(setup: &W::Setup, style: PromptStyle) -> Vec<ReplayRow<W>> {
    let mut situation = PromptState::<W>::new(setup);
    let mut rows = Vec::new();
    while !situation.done() {
        let observation = situation.observation();
        let plain = W::format_action(style, observation, W::fallback(observation));
        let completion = match rows.len() % 3 {
            0 => plain,
            1 => format!("So I say:\n{plain}"),
            _ => NONSENSE.to_owned(),
        };
        let heard = W::parse_action(ParserStrictness::Repair, &completion, observation);
        let (action, repaired, fallback) = match heard {
            Ok(heard) => (heard.action, heard.repaired, false),
            Err(_) => match W::invalid_action_policy(&completion, observation) {
                InvalidActionPolicy::Step(action) => (action, false, false),
                InvalidActionPolicy::EndSample => (W::fallback(observation), false, true),
            },
        };
        rows.push(ReplayRow {
            origin: W::episode_spec(setup),
            step: W::step_count(observation),
            action: RecordedAction::new(observation, action),
            scenario_id: situation.episode().scenario_id(),
            model_source: "a script of the tests".to_owned(),
            probabilities: None,
            belief: None,
            transcript: Some(Box::new(LmTranscript {
                prompt: Some(situation.prompt(style)),
                completion: Some(completion),
                repaired,
                fallback,
            })),
        });
        situation.step(action).expect("the world's own actions fit");
    }
    rows
}

fn setup<W: World>(task: W::Task, rules: Rules<W::Change>) -> W::Setup {
    let streams = W::streams_or_default(Streams::Independent);
    EpisodeSpec::<W> {
        task,
        seed: 1007,
        streams,
        rules,
    }
    .setup()
}

/// Returns the panel of the first pane: its verdict on the parsing and the three texts; null if it
/// is not shown.
async fn panel(browser: &Browser) -> Result<Value> {
    let script = "const panel = document.querySelector('.words');
        if (!panel || getComputedStyle(panel).display === 'none') return null;
        return [panel.querySelector('p'), ...panel.querySelectorAll('pre')].map(e => e.textContent);";
    Ok(browser.execute(script, vec![]).await?)
}

/// Presses a key and waits until the page shows action `action`.
async fn to_action(browser: &Browser, key: Key, action: usize) -> Result<()> {
    browser.press(&key.to_string()).await?;
    let there = format!("document.querySelector('#count').textContent.startsWith('{action} /')");
    browser.wait_until(&there).await
}

async fn drop_rows<W: Recordable>(browser: &Browser, rows: &[ReplayRow<W>]) -> Result<()> {
    drop_file(browser, "words.jsonl", &to_lines(rows)?).await?;
    browser
        .wait_until(
            "document.querySelector('[data-note=source]')?.textContent.includes(' 0 misses')",
        )
        .await
}

/// Checks the first three actions of a world: each with its prompt, completion and action.
async fn steps_along<W: TextWorld>(
    setup: &W::Setup,
    style: PromptStyle,
    readings: [&str; 3],
    done: [&str; 3],
) -> Result<()> {
    let (_server, browser) = open_page(&format!("world={}", W::NAME)).await?;
    let rows = episode::<W>(setup, style);
    drop_rows(&browser, &rows).await?;
    for (index, row) in rows.iter().take(3).enumerate() {
        if index > 0 {
            to_action(&browser, Key::Right, index).await?;
        }
        let text = row.transcript.clone().unwrap_or_default();
        let shown = panel(&browser).await?;
        assert_eq!(shown[0], json!(readings[index]), "{} {index}", W::NAME);
        assert_eq!(
            (&shown[1], &shown[2]),
            (&json!(text.prompt), &json!(text.completion))
        );
        let action: Value = serde_json::from_str(shown[3].as_str().unwrap_or_default())?;
        assert!(action.to_string().contains(done[index]), "{action}");
        let whole = serde_json::to_value(&row.action)?;
        for (key, value) in action.as_object().expect("an object") {
            assert_eq!(&whole[key], value, "{key}");
        }
    }
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
    Ok(())
}

const STANDS: &str = "parsed as written";
const REPAIRED: &str = "parsed after a repair";
const FALLBACK: &str = "not an action: the replay’s fallback acted";

#[tokio::test]
async fn trust_shows_what_was_said() -> Result<()> {
    let setup = setup::<TrustEnv>(Task::Task2, Rules::REFERENCE);
    let done = ["action_type", "action_type", "specialist_id"];
    steps_along::<TrustEnv>(
        &setup,
        PromptStyle::Compact,
        [STANDS, REPAIRED, FALLBACK],
        done,
    )
    .await
}

#[tokio::test]
async fn cluster_shows_what_was_said() -> Result<()> {
    let setup = setup::<ClusterEnv>(Task::Task1, Rules::HARDENED);
    let done = ["action_type"; 3];
    let readings = [STANDS, REPAIRED, FALLBACK];
    steps_along::<ClusterEnv>(&setup, PromptStyle::Reference, readings, done).await
}

/// In PolyGuard a completion without an action is itself a step.
#[tokio::test]
async fn polyguard_shows_what_was_said() -> Result<()> {
    // A bare JSON object may have no text around it; only the line that the long prompt asks for
    // may.
    let setup = setup::<PolyguardEnv>(TaskSpec::ALL[8], Rules::HARDENED);
    let counted = "not an action: counts as an invalid step";
    let done = ["candidate_id", "candidate_id", "invalid"];
    let readings = [STANDS, REPAIRED, counted];
    steps_along::<PolyguardEnv>(&setup, PromptStyle::Reference, readings, done).await
}

/// A score that the fallback contributed to says so; own actions and other policies have no texts.
#[tokio::test]
async fn the_fallback_is_counted_and_words_are_only_the_model_s() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    let rows = episode::<TrustEnv>(
        &setup::<TrustEnv>(Task::Task2, Rules::REFERENCE),
        PromptStyle::Compact,
    );
    drop_rows(&browser, &rows).await?;
    let fallbacks = rows
        .iter()
        .filter(|row| row.transcript.as_ref().is_some_and(|t| t.fallback))
        .count();
    let note = browser.text("[data-note=source][data-tone=warn]").await?;
    let counted = format!(
        "{} recorded actions, {fallbacks} of them by the fallback",
        rows.len()
    );
    assert!(note.contains(&counted), "{note}");
    to_action(&browser, Key::Right, 1).await?;
    assert_eq!(panel(&browser).await?[0], REPAIRED);
    browser.click("[data-act=v3]").await?;
    browser.wait_for("[data-note=branch]").await?;
    browser
        .wait_until("!document.querySelector('.words')")
        .await?;
    // Before the own action the model was shown something, but the action is not its own.
    to_action(&browser, Key::Left, 1).await?;
    assert_eq!(panel(&browser).await?, Value::Null);
    to_action(&browser, Key::Left, 0).await?;
    assert_ne!(panel(&browser).await?, Value::Null);
    browser.click("#settings").await?;
    let menu = browser.find(fantoccini::Locator::Css("#player")).await?;
    menu.select_by_value("heuristic").await?;
    browser
        .wait_for("[data-pane=main][data-player=heuristic]")
        .await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser.click("#forward").await?;
    assert_eq!(panel(&browser).await?, Value::Null);
    Ok(())
}

/// The panel opens and closes by keys, keeps its state, and shows markup in a file as text.
#[tokio::test]
async fn the_panel_obeys_keys_and_shows_text_as_text() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    let rows = episode::<TrustEnv>(
        &setup::<TrustEnv>(Task::Task3, Rules::REFERENCE),
        PromptStyle::Compact,
    );
    drop_rows(&browser, &rows).await?;
    let summary = "document.querySelector('.words summary')";
    browser
        .execute(&format!("{summary}.focus()"), vec![])
        .await?;
    browser.press(" ").await?;
    browser
        .wait_until("!document.querySelector('.words details').open")
        .await?;
    assert_eq!(
        browser.text("#count").await?.split(' ').next(),
        Some("0"),
        "time stands"
    );
    to_action(&browser, Key::Right, 1).await?;
    to_action(&browser, Key::Right, 2).await?;
    browser
        .wait_until("!document.querySelector('.words details').open")
        .await?;
    browser
        .wait_until(&format!("document.activeElement === {summary}"))
        .await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser
        .wait_until("document.querySelector('.words details').open")
        .await?;
    assert_eq!(panel(&browser).await?[2], NONSENSE);
    browser
        .wait_until("!document.querySelector('.words b, .words script')")
        .await?;
    Ok(())
}

/// Nothing overflows in light and dark, on a wide screen, on a phone and side by side.
#[tokio::test]
async fn the_panel_looks_right() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    let rows = episode::<TrustEnv>(
        &setup::<TrustEnv>(Task::Task3, Rules::REFERENCE),
        PromptStyle::Reference,
    );
    drop_rows(&browser, &rows).await?;
    for (name, width, height, dark, action) in [
        ("words", 1280, 1800, false, 1),
        ("words-dark", 1280, 1800, true, 2),
        ("words-phone", 360, 2700, false, 3),
        ("words-phone-dark", 360, 2700, true, 4),
    ] {
        browser.viewport(width, height).await?;
        browser.prefer_dark(dark).await?;
        to_action(&browser, Key::Right, action).await?;
        browser
            .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
            .await?;
        browser
            .wait_until(
                "[...document.querySelectorAll('.words, .words pre')].every(e => e.scrollWidth <= e.clientWidth)",
            )
            .await?;
        browser
            .save_screenshot(&screenshots().join(format!("{name}.png")))
            .await?;
    }
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
    Ok(())
}
