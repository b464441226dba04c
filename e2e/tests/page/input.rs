//! The page with bad input: invalid values in the address, replays that do not fit, broken files.
//! Every case shows a message on the page, and the page still works.

use anyhow::Result;
use sentinel_e2e::{Browser, SUB_PATH, drop_file, input, open_page, serve};
use serde_json::json;

/// Checks that the page still plays: a step forward counts.
async fn goes_on(browser: &Browser) -> Result<()> {
    browser
        .execute(
            "document.querySelector('[aria-label=First]').click()",
            vec![],
        )
        .await?;
    browser
        .wait_until("document.querySelector('#count').textContent.startsWith('0 /')")
        .await?;
    browser
        .execute("document.querySelector('#forward').click()", vec![])
        .await?;
    browser
        .wait_until("document.querySelector('#count').textContent.startsWith('1 /')")
        .await
}

#[tokio::test]
async fn nonsense_in_every_field_of_the_address() -> Result<()> {
    let query = "task=9&seed=-1&policy=god&streams=x&vs=%2e%2e%2fetc&at=999&acts=d9&resume=maybe&t=1e9\
        &view=x&embed=yes&theme=pink&wat=1&seed=9223372036854775808&seed=NaN&%%%";
    let (_server, browser) = open_page(query).await?;
    let notices = browser.text("#notices").await?;
    for part in [
        "task=9",
        "seed=-1",
        "policy=god",
        "acts=d9",
        "seed=9223372036854775808",
        "seed=NaN",
    ] {
        assert!(notices.contains(part), "{part} is not named in {notices}");
    }
    goes_on(&browser).await?;
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_miss_is_marked_and_counted() -> Result<()> {
    let query = "task=3&seed=999999&streams=reference&policy=replay:heuristic-reference&t=3";
    let (_server, browser) = open_page(query).await?;
    browser
        .wait_for("[data-note=source][data-tone=warn]")
        .await?;
    let note = browser.text("[data-note=source]").await?;
    assert!(note.contains("0 recorded actions"), "{note}");
    assert!(!note.contains(" 0 misses"), "{note}");
    browser
        .wait_until("document.querySelector('.log').textContent.includes('miss')")
        .await?;
    Ok(())
}

#[tokio::test]
async fn a_replay_that_is_not_there() -> Result<()> {
    let (_server, browser) = open_page("policy=replay:nobody").await?;
    browser.wait_for(".notices").await?;
    assert!(
        browser
            .text("#notices")
            .await?
            .contains("replays/nobody.jsonl")
    );
    Ok(())
}

/// An address with a replay and nothing else shows an episode of the file, under the file's rules, and
/// the page's own address then names both.
#[tokio::test]
async fn a_replay_alone_opens_its_own_episode() -> Result<()> {
    let replay = "polyguard-tiny-lm-hardened";
    let (_server, browser) = open_page(&format!(
        "world=polyguard&policy=replay:{replay}&view=truth"
    ))
    .await?;
    let note = "document.querySelector('[data-note=source]')?.textContent.includes(' 0 misses')";
    browser.wait_until(note).await?;
    for part in ["task=", "seed=1000000", "rules=hardened"] {
        let named = format!("location.search.includes('{part}')");
        browser.wait_until(&named).await?;
    }
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_broken_file_shows_line_and_reason_and_the_rest_plays() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    let row = |step: u32, action: &str, slot: &str| {
        format!(
            r#"{{"task_type":"task1","seed":3,"step":{step},"action":{{"action_type":"{action}","specialist_id":"{slot}","subtask_response":null,"reasoning":null}},"scenario_id":"SCN-TASK1-016","model_source":"test"}}"#
        )
    };
    let text = [
        row(0, "delegate", "S1"),
        row(1, "trust", "S1"),
        row(2, "delegate", "S9"),
        row(0, "delegate", "S2"),
        "{\"task_type\": \"task1\", \"se".to_owned(),
        row(3, "delegate", "S1").replace("\"seed\":3", "\"seed\":NaN"),
        row(3, "delegate", "S1").replace("\"seed\":3", "\"seed\":-3"),
    ];
    drop_file(&browser, "broken.jsonl", &text.join("\n")).await?;
    for part in [
        "broken", "line 2", "line 3", "line 4", "line 5", "line 6", "1 more",
    ] {
        let named = format!("document.querySelector('#notices').textContent.includes('{part}')");
        browser.wait_until(&named).await?;
    }
    let note =
        "document.querySelector('[data-note=source]')?.textContent.includes('1 recorded action')";
    browser.wait_until(note).await?;
    goes_on(&browser).await?;
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// A replay of a stand-in model names the stand-in as the player.
#[tokio::test]
async fn a_replay_of_a_stand_in_is_marked() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    let row = r#"{"task_type":"task1","seed":3,"step":0,"action":{"action_type":"delegate","specialist_id":"S1"},"scenario_id":"SCN-TASK1-016","model_source":"tiny (fallback)"}"#;
    drop_file(&browser, "stand-in.jsonl", row).await?;
    browser
        .wait_for("[data-note=source][data-tone=warn]")
        .await?;
    let note = browser.text("[data-note=source]").await?;
    assert!(
        note.starts_with("Replay of tiny (fallback): 1 recorded action"),
        "{note}"
    );
    Ok(())
}

#[tokio::test]
async fn a_file_that_is_too_large_or_empty() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    let script = "const data = new DataTransfer();
        data.items.add(new File([new Uint8Array(50 * 1024 * 1024)], 'huge.jsonl'));
        window.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));";
    browser.execute(script, vec![]).await?;
    browser
        .wait_until(
            "document.querySelector('#notices').textContent.includes('huge.jsonl is 50 MiB')",
        )
        .await?;
    drop_file(&browser, "empty.jsonl", "").await?;
    browser
        .wait_until("document.querySelector('#notices').textContent.includes('has no row that can be played')")
        .await?;
    goes_on(&browser).await?;
    assert_eq!(browser.take_console_errors().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn a_seed_that_is_none() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5").await?;
    for bad in ["-1", "9223372036854775808", "1.5", "NaN", "five"] {
        let script = "const seed = document.querySelector('#seed'); seed.value = arguments[0];
            seed.dispatchEvent(new Event('change', {bubbles: true}));";
        browser.execute(script, vec![json!(bad)]).await?;
        let named = format!(
            "document.querySelector('#notices').textContent.includes('“{bad}” is not a seed')"
        );
        browser.wait_until(&named).await?;
    }
    goes_on(&browser).await?;
    Ok(())
}

#[tokio::test]
async fn a_part_that_cannot_be_loaded_is_named_and_the_rest_plays() -> Result<()> {
    let dist = input("SENTINEL_DIST")?;
    let folder = tempfile::tempdir()?;
    for entry in dist.read_dir()? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let is_extra = name.starts_with("sentinel-page-later-") && name.ends_with(".wasm");
        if entry.file_type()?.is_file() && !is_extra {
            std::fs::copy(entry.path(), folder.path().join(&name))?;
        }
    }
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = Browser::start().await?;
    // What the first visit shows needs none of them.
    browser.goto(&server.url()).await?;
    browser.wait_for("[data-ready] .spot").await?;
    let named = "document.querySelector('#notices')?.textContent.includes('analysis, tournament')";
    browser.wait_until(named).await?;
    goes_on(&browser).await
}
