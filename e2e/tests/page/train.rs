//! Training in the page: it learns for real, and a run is a function of its settings.

use crate::files::{KEEP_SAVED, saved_by};
use crate::results::{show, start};
use anyhow::{Context, Result, ensure};
use fantoccini::key::Key;
use sentinel_e2e::{Browser, ask, inspect_view, is_silent};
use sentinel_env::trust::TrustEnv;
use sentinel_policy::nn::{Model, NetworkWorld};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::io::Read as _;

/// A script that types settings into the fields, by identifier.
const TYPE: &str = "for (const [id, value] of Object.entries(arguments[0])) {
    const field = document.getElementById(id);
    field.value = value;
    field.dispatchEvent(new Event('input', {bubbles: true}));
}";

/// The files of a run that is saved, by name.
const RUN_FILES: [&str; 5] = [
    "checkpoint.safetensors",
    "config.json",
    "events.jsonl",
    "model.safetensors",
    "trainer_state.json",
];

/// A script that keeps the digest after each update.
pub(super) const WATCH: &str = "window.digests = {};
    const look = () => {
        const found = document.querySelector('#train-digest');
        if (found?.textContent) digests[found.dataset.updates] = found.textContent;
    };
    new MutationObserver(look).observe(document.querySelector('#train'), {subtree: true, childList: true, characterData: true, attributes: true});
    look();";

/// A script that reads the rates, and for each attempt the number of its cells and the number of actions
/// that its name counts.
const LEARNED: &str = r"return {
    rates: [...document.querySelectorAll('#train-learned .rates tbody tr')].map(row => row.textContent),
    rows: [...document.querySelectorAll('#train-learned .attempt[role=img]')].map(row => ({
        cells: row.querySelectorAll('.cells > i').length,
        counted: row.ariaLabel.split('; ')[1].split(', ').reduce((sum, part) => sum + (parseInt(part) || 0), 0),
    })),
};";

/// Settings of updates that take a fraction of a second in a debug build of the browser, too.
pub(super) const SMALL: [(&str, &str); 3] =
    [("episodes", "24"), ("group-size", "4"), ("hidden", "16")];

pub(super) async fn press_start(browser: &Browser, settings: &[(&str, &str)]) -> Result<()> {
    browser.wait_for("#train-start").await?;
    let settings: serde_json::Map<String, Value> = settings
        .iter()
        .map(|(id, value)| ((*id).to_owned(), json!(value)))
        .collect();
    browser.execute(TYPE, vec![Value::Object(settings)]).await?;
    browser.execute(WATCH, vec![]).await?;
    browser.click("#train-start").await
}

/// Digests of the weights by the number of updates.
pub(super) type Digests = BTreeMap<String, String>;

/// Waits until the policy had `updates` updates; returns the digests since [`WATCH`].
pub(super) async fn digests_until(browser: &Browser, updates: u32) -> Result<Digests> {
    let enough =
        format!("Number(document.querySelector('#train-digest')?.dataset.updates) >= {updates}");
    browser.wait_until(&enough).await?;
    let found = browser.execute("return digests;", vec![]).await?;
    serde_json::from_value(found).context("digests")
}

/// Trains until the policy had `updates` updates; returns the digests on the way.
pub(super) async fn digests(
    browser: &Browser,
    settings: &[(&str, &str)],
    updates: u32,
) -> Result<Digests> {
    press_start(browser, settings).await?;
    let found = digests_until(browser, updates).await?;
    browser.click("#train-reset").await?;
    Ok(found)
}

/// Checks that two runs had the same weights after the same numbers of updates, at least two of them.
pub(super) fn ensure_equal(one: &Digests, other: &Digests) -> Result<()> {
    let both: Vec<_> = one
        .keys()
        .filter(|updates| other.contains_key(*updates))
        .collect();
    let is_equal = both.iter().all(|updates| one[*updates] == other[*updates]);
    ensure!(both.len() > 1 && is_equal, "{one:?} {other:?}");
    Ok(())
}

#[tokio::test]
async fn the_same_settings_give_the_same_weights() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    let first = digests(&browser, &SMALL, 5).await?;
    show(&browser, &server, "page=training").await?;
    let again = digests(&browser, &SMALL, 5).await?;
    ensure_equal(&first, &again)?;
    let seeded = [SMALL[0], SMALL[1], SMALL[2], ("training-seed", "2")];
    show(&browser, &server, "page=training").await?;
    let other = digests(&browser, &seeded, 5).await?;
    let is_equal = |(updates, digest)| first.get(updates) == Some(digest);
    ensure!(!other.iter().any(is_equal), "{first:?} {other:?}");
    is_silent(&browser).await
}

/// With the preset the policy passes the heuristic, and then plays an episode.
#[tokio::test]
async fn a_policy_learns_and_plays() -> Result<()> {
    let (_server, browser) = start("page=training").await?;
    press_start(&browser, &[]).await?;
    let passes = "[...document.querySelectorAll('#train-passed li')].some(line => line.textContent.includes('above Heuristic ('))";
    ensure!(
        browser
            .becomes(passes, std::time::Duration::from_secs(120))
            .await?,
        "it did not learn"
    );
    browser.click("#train-pause").await?;
    browser
        .wait_until("document.querySelector('#train-pause').textContent === 'Continue'")
        .await?;
    let findings = inspect_view(&browser, "training-run").await?;
    assert_eq!(findings, Vec::<String>::new());
    let learned = browser.execute(LEARNED, vec![]).await?;
    let rows = learned["rows"].as_array().context("rows")?;
    ensure!((2..=6).contains(&rows.len()), "{learned}");
    for row in rows {
        ensure!(row["cells"] == row["counted"], "{learned}");
    }
    ensure!(
        learned["rates"]
            .as_array()
            .is_some_and(|rates| rates.len() == 4),
        "{learned}"
    );
    let first = learned["rates"][0].as_str().unwrap_or_default();
    ensure!(
        first.starts_with("Fooled by the liar") && first.ends_with("of 100 high-stakes steps"),
        "{learned}"
    );
    saves_run(&browser).await?;
    browser.click("#train-play").await?;
    browser
        .wait_until("decodeURIComponent(location.search).includes('policy=model:tab') && document.querySelector('[data-ready] #play')")
        .await?;
    is_silent(&browser).await
}

/// The folder of a run is saved in an archive, and the buttons wait for it.
async fn saves_run(browser: &Browser) -> Result<()> {
    browser.execute(KEEP_SAVED, vec![]).await?;
    let (name, content) = saved_by(browser, "#train-save-run").await?;
    ensure!(name == "trust-grpo.tar", "{name}");
    browser
        .wait_until("!document.querySelector('#train-save-run').disabled")
        .await?;
    let mut files = BTreeMap::new();
    for entry in tar::Archive::new(&content[..]).entries()? {
        let mut entry = entry?;
        let (name, mut content) = (entry.path()?.display().to_string(), Vec::new());
        entry.read_to_end(&mut content)?;
        files.insert(name, content);
    }
    let names: Vec<_> = files.keys().map(String::as_str).collect();
    ensure!(
        names == RUN_FILES.map(|name| format!("trust-grpo/{name}")),
        "{names:?}"
    );
    let state: Value = serde_json::from_slice(&files["trust-grpo/trainer_state.json"])?;
    let updates = "return Number(document.querySelector('#train-digest').dataset.updates);";
    let updates = browser.execute(updates, vec![]).await?;
    ensure!(state["global_step"] == updates, "{updates} {state}");
    Model::<<TrustEnv as NetworkWorld>::Net>::from_bytes(&files["trust-grpo/model.safetensors"])?;
    Ok(())
}

/// Every world trains; a number that cannot be read and a rate that is too high are named.
#[tokio::test]
async fn every_world_trains_and_faults_are_named() -> Result<()> {
    let (server, browser) = start("page=training").await?;
    for world in ["cluster", "polyguard"] {
        show(&browser, &server, &format!("world={world}&page=training")).await?;
        let found = digests(&browser, &SMALL, 2).await?;
        ensure!(found.len() > 1, "{world}: {found:?}");
    }
    show(&browser, &server, "page=training").await?;
    press_start(
        &browser,
        &[("learning-rate", "1e38"), SMALL[0], SMALL[1], SMALL[2]],
    )
    .await?;
    let said = |words: &str| {
        format!("document.querySelector('#train-state').textContent.includes('{words}')")
    };
    browser.wait_until(&said("Training ended: ")).await?;
    browser.click("#train-reset").await?;
    press_start(&browser, &[("group-size", "1"), ("learning-rate", "")]).await?;
    browser.wait_until(&said("Training cannot start: ")).await?;
    browser.click("#train-reset").await?;
    press_start(&browser, &[("group-size", "eight")]).await?;
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('group size')")
        .await
}

/// A learning rate at which the policy always takes the same action is named as the likely reason.
#[tokio::test]
async fn a_policy_that_stands_still_is_explained() -> Result<()> {
    let (_server, browser) = start("page=training&lr=0.5&episodes=96").await?;
    press_start(&browser, &[]).await?;
    let explained = "document.querySelector('#train-doubt')?.textContent.includes('learning rate')";
    ensure!(
        browser
            .becomes(explained, std::time::Duration::from_secs(90))
            .await?,
        "the page does not say why it does not learn"
    );
    is_silent(&browser).await
}

/// The board shows an episode of the newest policy, again and again, and stands still when it is paused.
#[tokio::test]
async fn the_newest_policy_plays_on_a_board() -> Result<()> {
    let (_server, browser) = start("page=training").await?;
    press_start(&browser, &SMALL).await?;
    browser
        .wait_for("#train-board[data-updates] .cast > li")
        .await?;
    let first = "Number(document.querySelector('#train-board').dataset.updates)";
    let before = ask(&browser, first).await?.as_f64().context("updates")?;
    browser
        .wait_until("document.querySelector('#train-board-step').value >= 2")
        .await?;
    browser.wait_until(&format!("{first} > {before}")).await?;
    browser.click("#train-pause").await?;
    browser.click("#train-board-play").await?;
    let scrub = "const field = document.querySelector('#train-board-step');
        field.value = 3;
        field.dispatchEvent(new Event('input', {bubbles: true}));";
    browser.execute(scrub, vec![]).await?;
    browser
        .wait_until(
            "/^3 \\/ \\d+$/.test(document.querySelector('.board-controls .num').textContent)",
        )
        .await?;
    let pressed = "document.querySelector('#train-board .focal').inert";
    ensure!(ask(&browser, pressed).await? == true);
    browser.click("#train-reset").await?;
    browser
        .wait_until("document.querySelector('#train-board').hidden")
        .await?;
    is_silent(&browser).await
}

/// Returns the values of the fields and menus, by identifier.
async fn settings(browser: &Browser) -> Result<Value> {
    let values =
        "Object.fromEntries([...document.querySelectorAll('.train-settings :is(input, select)')]
        .filter(field => field.value).map(field => [field.id, field.value]))";
    ask(browser, values).await
}

/// A link with settings fills the form and starts nothing; the settings stay when the screen is left, and
/// belong to their world.
#[tokio::test]
async fn a_link_fills_the_form_and_the_form_stays() -> Result<()> {
    let link = "page=training&lr=0.002&group=4&episodes=24&width=16&credit=episode&train-seed=7\
        &train-rules=reference&without=calibration&workers=1";
    let (_server, browser) = start(link).await?;
    browser.wait_for("#train-start").await?;
    let linked = json!({"learning-rate": "0.002", "group-size": "4", "episodes": "24", "hidden": "16",
        "training-credit": "episode", "training-seed": "7", "training-rules": "reference",
        "training-without": "calibration", "training-workers": "1"});
    assert_eq!(settings(&browser).await?, linked);
    assert_eq!(
        ask(&browser, "document.querySelector('#train-pause').hidden").await?,
        json!(true)
    );
    // What is typed is in the address, in the same entry of the history.
    let entries = ask(&browser, "history.length").await?;
    let typed = json!({"learning-rate": "1e-3"});
    browser.execute(TYPE, vec![typed]).await?;
    let parameter = |name: &str, value: &str| {
        format!("new URLSearchParams(location.search).get('{name}') === {value}")
    };
    browser.wait_until(&parameter("lr", "'1e-3'")).await?;
    assert_eq!(ask(&browser, "history.length").await?, entries);
    for name in ["group", "train-rules", "without"] {
        let is_there = format!("new URLSearchParams(location.search).has('{name}')");
        assert_eq!(ask(&browser, &is_there).await?, json!(true), "{name}");
    }
    let mut changed = linked;
    changed["learning-rate"] = json!("1e-3");
    for elsewhere in ["results", "episode"] {
        browser.click(&format!("[data-screen={elsewhere}]")).await?;
        browser.wait_until(&parameter("lr", "null")).await?;
        browser.click("[data-screen=training]").await?;
        browser.wait_for("#train-start").await?;
        assert_eq!(settings(&browser).await?, changed, "{elsewhere}");
    }
    browser.click("[data-world=cluster]").await?;
    let presets = json!({"training-credit": "step", "training-rules": "hardened"});
    browser
        .wait_until("document.querySelector('#learning-rate')?.value === ''")
        .await?;
    assert_eq!(settings(&browser).await?, presets);
    browser.click("[data-world=trust]").await?;
    browser
        .wait_until("document.querySelector('#learning-rate')?.value === '1e-3'")
        .await?;
    assert_eq!(settings(&browser).await?, changed);
    is_silent(&browser).await
}

/// While a run exists its values are shown and cannot be changed; a link in the header leads back to it
/// from other screens and worlds.
#[tokio::test]
async fn a_run_locks_its_settings_and_leads_back() -> Result<()> {
    let (_server, browser) = start("page=training&episodes=24&group=4&width=16").await?;
    press_start(&browser, &[]).await?;
    browser
        .wait_for("fieldset[disabled] #learning-rate")
        .await?;
    browser
        .wait_until("document.querySelector('#learning-rate').value !== ''")
        .await?;
    let found = settings(&browser).await?;
    assert_eq!(
        (&found["group-size"], &found["training-seed"]),
        (&json!("4"), &json!("1"))
    );
    browser.wait_for("#train-locked:not([hidden])").await?;
    let indicator = "document.querySelector('.train-indicator')";
    assert_eq!(
        ask(&browser, &format!("{indicator}.hidden")).await?,
        json!(true)
    );
    browser
        .wait_for("#train-board[data-updates]:not([hidden])")
        .await?;
    browser.click("[data-screen=results]").await?;
    browser
        .wait_until(&format!(
            "!{indicator}.hidden && {indicator}.textContent.startsWith('Training “Whom to trust”: ')"
        ))
        .await?;
    let findings = inspect_view(&browser, "training-elsewhere").await?;
    assert_eq!(findings, Vec::<String>::new());
    browser.click("[data-world=cluster]").await?;
    browser.click("#train-indicator").await?;
    browser
        .wait_for("[data-of=trust] fieldset[disabled] #learning-rate")
        .await?;
    // Another world has a form of its own, and says where the run is.
    browser.click("[data-world=cluster]").await?;
    browser
        .wait_for("[data-of=cluster] #train-start:not([hidden])")
        .await?;
    browser
        .wait_for("fieldset:not([disabled]) #learning-rate")
        .await?;
    let is_hidden = "document.querySelector('#train-board').hidden";
    ensure!(
        ask(&browser, is_hidden).await? == true,
        "the board of trust"
    );
    browser.click("#train-show").await?;
    browser
        .wait_for("[data-of=trust] fieldset[disabled] #learning-rate")
        .await?;
    browser.click("#train-reset").await?;
    browser
        .wait_for("fieldset:not([disabled]) #learning-rate")
        .await?;
    let found = settings(&browser).await?;
    assert_eq!(
        (&found["group-size"], &found["learning-rate"]),
        (&json!("4"), &Value::Null)
    );
    is_silent(&browser).await
}

/// The end of the question offers to train a policy of its world.
#[tokio::test]
async fn the_question_ends_with_training() -> Result<()> {
    let (_server, browser) = start("world=cluster").await?;
    browser.wait_for("[data-ready]").await?;
    browser.press(&Key::End.to_string()).await?;
    browser.wait_for(".spot[data-ended]").await?;
    browser.click("#train-own").await?;
    browser
        .wait_for("[data-of=cluster] #train-start:not([hidden])")
        .await?;
    browser
        .wait_until("new URLSearchParams(location.search).get('page') === 'training'")
        .await?;
    is_silent(&browser).await
}
