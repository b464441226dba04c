//! The golden rows and digests that native tests check, checked inside wasm in a real browser.

use anyhow::{Context, Result};
use sentinel_e2e::input;
use sentinel_e2e::testkit::{Report, Testkit};
use sentinel_env::WorldName;
use sentinel_testkit::digests::{DigestList, rule_sets};
use sentinel_testkit::testdata::{OURS, TestData};
use serde_json::Value;

async fn kit() -> Result<Testkit> {
    Testkit::start(&input("SENTINEL_TESTKIT_WASM")?).await
}

/// Returns the number of items compared; panics if any differs.
fn clean(name: &str, report: &Report) -> u64 {
    assert_eq!(
        report.failed,
        0,
        "{name}: {} of {} differ inside wasm:\n{}",
        report.failed,
        report.checked,
        report.messages.join("\n")
    );
    report.checked
}

#[tokio::test]
async fn golden_rows_hold_inside_wasm() -> Result<()> {
    let kit = kit().await?;
    let mut checked = 0;
    let data = TestData::find();
    for (name, text) in data.golden()? {
        let report = kit.check("check_golden", &name, text.as_bytes()).await?;
        let rows = clean(&name, &report);
        for (_, expected) in OURS.iter().filter(|(ours, _)| data.ours && *ours == name) {
            assert_eq!(rows, *expected as u64, "{name}: rows compared");
        }
        checked += rows;
    }
    assert!(checked > 0, "no row was checked");
    Ok(())
}

#[tokio::test]
async fn digests_hold_inside_wasm() -> Result<()> {
    let kit = kit().await?;
    let data = TestData::find();
    let lists = data.digests()?;
    for world in WorldName::ALL.iter().copied() {
        let all_there = rule_sets(world).iter().all(|rules| {
            let name = match *rules {
                "reference" => world.name().to_owned(),
                named => format!("{}_{named}", world.name()),
            };
            lists.iter().any(|(found, _)| *found == name)
        });
        assert!(
            all_there || !data.ours,
            "a list of {} is missing",
            world.name()
        );
    }
    for (name, text) in lists {
        let checked = clean(
            &name,
            &kit.check("check_digests", &name, text.as_bytes()).await?,
        );
        assert!(checked > 0, "{name}: no digest was checked");
    }
    Ok(())
}

/// Without this test, a check that compares nothing would pass the tests above.
#[tokio::test]
async fn a_wrong_row_is_found_inside_wasm() -> Result<()> {
    let golden = TestData::find().golden()?;
    let Some((_, text)) = golden.iter().find(|(name, _)| name == "trust") else {
        return Ok(()); // other data without trust rows
    };
    let kit = kit().await?;
    let report = kit
        .check("check_golden", "wrong", with_wrong_reward(text)?.as_bytes())
        .await?;
    assert!(report.failed > 0, "a changed reward went unseen");
    assert!(!report.messages.is_empty(), "the difference is not named");
    Ok(())
}

/// The compared digests cover the whole episode: one changed digit is found and located.
#[tokio::test]
async fn a_wrong_digest_is_found_inside_wasm() -> Result<()> {
    let kit = kit().await?;
    for (name, text) in TestData::find().digests()? {
        let mut list: DigestList = serde_json::from_str(&text)?;
        // A few episodes are enough; the list still names its world and rules.
        list.episodes.truncate(3);
        let wrong = list.episodes.last_mut().context("no episode")?;
        let changed = if wrong.digest.ends_with('0') {
            "1"
        } else {
            "0"
        };
        wrong
            .digest
            .replace_range(wrong.digest.len() - 1.., changed);
        let place = format!("{} seed {} {}", wrong.task, wrong.seed, wrong.policy);
        let text = serde_json::to_vec(&list)?;
        let report = kit.check("check_digests", &name, &text).await?;
        assert_eq!((report.checked, report.failed), (3, 1), "{name}");
        assert!(report.messages[0].contains(&place), "{report:?}");
    }
    Ok(())
}

/// Returns the same rows with another reward in the last step.
fn with_wrong_reward(text: &str) -> Result<String> {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    let is_step = |line: &String| line.contains(r#""kind":"step""#);
    let last = lines.iter().rposition(is_step).context("no step rows")?;
    let mut row: Value = serde_json::from_str(&lines[last])?;
    let reward = row["reward"].as_f64().context("a step has a reward")?;
    row["reward"] = Value::from(reward + 0.5);
    lines[last] = row.to_string();
    Ok(lines.join("\n") + "\n")
}
