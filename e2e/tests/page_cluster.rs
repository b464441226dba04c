//! The cluster world in the page: it plays, scrubs, branches, keeps its address and agrees with a
//! native run of the same crates; no hidden state is in the document before the viewer asks for it.

use anyhow::Result;
use fantoccini::Locator;
use fantoccini::key::Key;
use sentinel_e2e::{Browser, open_page};
use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::TrajectoryDigest;
use sentinel_env::cluster::{Action, Behavior, Episode, Setup, Task};
use sentinel_env::rng::Streams;
use sentinel_env::slot::Slot;
use sentinel_policy::cluster::PolicyName;
use serde_json::{Value, json};

/// Runs an episode natively and returns it at its end, with the digest of its trajectory.
fn native(setup: &Setup, policy: PolicyName) -> (Episode, String) {
    let mut player = policy.player(setup.seed, setup.streams);
    let (mut episode, mut digest) = (Episode::reset(setup), TrajectoryDigest::default());
    while let Some(action) = player.act(&episode) {
        let step = episode.step(action).expect("a player names what there is");
        digest.push(&episode, &step.info);
    }
    (episode, digest.digest().to_string())
}

fn setup(task: Task, seed: u64) -> Setup {
    Setup::new(task, seed, Streams::Independent)
}

async fn no_errors(browser: &Browser) -> Result<()> {
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// Every quick policy, on every task, gives the same trajectory digest and score as natively.
#[tokio::test]
async fn what_is_shown_is_what_a_native_run_gives() -> Result<()> {
    let (server, browser) = open_page("world=cluster").await?;
    let slow = ["lookahead", "oracle"];
    for policy in PolicyName::ALL
        .into_iter()
        .filter(|p| !slow.contains(&p.name()))
    {
        for task in Task::ALL {
            let query = format!(
                "world=cluster&task={task}&seed=7&policy={}&t=999",
                policy.name()
            );
            browser.goto(&format!("{}?{query}", server.url())).await?;
            browser.wait_for("#count").await?;
            let (episode, digest) = native(&setup(task, 7), policy);
            assert!(browser.text(".digest").await?.contains(&digest), "{query}");
            let score = format!("{:.3}", episode.tally().score());
            assert_eq!(browser.text(".big").await?, score, "{query}");
            let steps = episode.observation().step_count;
            assert_eq!(browser.text("#count").await?, format!("{steps} / {steps}"));
        }
    }
    no_errors(&browser).await
}

/// A slow policy's episode arrives piece by piece, and the part that has arrived can be viewed.
#[tokio::test]
async fn a_slow_policy_does_not_stop_the_page() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=1&seed=3&policy=lookahead").await?;
    browser.click("#forward").await?;
    browser
        .wait_until("!document.querySelector('[data-note=playing]')")
        .await?;
    browser.press(&Key::End.to_string()).await?;
    let (episode, digest) = native(&setup(Task::Task1, 3), PolicyName::Lookahead);
    let steps = episode.observation().step_count;
    browser
        .wait_until(&format!(
            "document.querySelector('#count').textContent === '{steps} / {steps}'"
        ))
        .await?;
    assert!(browser.text(".digest").await?.contains(&digest));
    no_errors(&browser).await
}

#[tokio::test]
async fn scrubbing_shows_the_moment_and_the_address_keeps_it() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=3&seed=42&policy=trust").await?;
    let scrub = "const bar = document.querySelector('#scrubber'); bar.value = arguments[0];
        bar.dispatchEvent(new Event('input', {bubbles: true}));";
    for step in [100, 1, 63] {
        browser.execute(scrub, vec![json!(step)]).await?;
        browser
            .wait_until(&format!(
                "document.querySelector('.situation').textContent.includes('Step {step} / 120')"
            ))
            .await?;
    }
    browser
        .wait_until("location.search.includes('t=63')")
        .await?;
    browser
        .wait_until("location.search.includes('world=cluster')")
        .await?;
    let script =
        "return ['.gpu', '.job', '.workers .slot', '.log li', '.attack-row', '.audit-rows .row']
        .map(what => document.querySelectorAll(what).length);";
    let shown = browser.execute(script, vec![]).await?;
    let mut episode = Episode::reset(&setup(Task::Task3, 42));
    let mut player = PolicyName::Trust.player(42, Streams::Independent);
    while episode.observation().step_count < 63 {
        let action = player.act(&episode).expect("not over");
        episode.step(action)?;
    }
    let o = episode.observation();
    let listed = o.anomalies.iter().count();
    assert_eq!(shown, json!([16, 30, 5, 120, o.counters.attempts, listed]));
    for (name, count) in [
        ("Attacks", o.counters.attempts),
        ("Detections", o.counters.detections),
        ("Drift", o.counters.drift_events),
    ] {
        let selector = format!("[data-count={name}]");
        assert_eq!(browser.text(&selector).await?, count.to_string(), "{name}");
    }
    browser.refresh().await?;
    browser.wait_for("#count").await?;
    assert_eq!(browser.text("#count").await?, "63 / 120");
    no_errors(&browser).await
}

/// Identities, true progress and kinds of attacks are not in the document until the viewer asks for
/// the truth.
#[tokio::test]
async fn nothing_hidden_is_in_the_document_before_it_is_asked_for() -> Result<()> {
    let (_server, browser) =
        open_page("world=cluster&task=3&seed=42&policy=trust&t=80&vs=blind").await?;
    let html = "return document.querySelector('main').innerHTML;";
    let page = browser.execute(html, vec![]).await?;
    let page = page.as_str().unwrap_or_default();
    let kinds = [
        "false completion",
        "false_completion",
        "coordinated",
        "in truth",
        "identity",
    ];
    for secret in Behavior::ALL.map(Behavior::name).iter().chain(&kinds) {
        // `reliable` is an ordinary word that the page also uses elsewhere.
        if *secret != "reliable" {
            assert!(!page.contains(secret), "the agent's view has {secret:?}");
        }
    }
    browser.click("#truth").await?;
    browser.wait_for(".identity").await?;
    let page = browser.execute(html, vec![]).await?;
    let page = page.as_str().unwrap_or_default();
    let episode = Episode::reset(&setup(Task::Task3, 42));
    for slot in Slot::ALL {
        let name = episode.hidden().assignment[slot].name();
        assert!(page.contains(name), "{slot}: {name} is not shown");
    }
    assert!(page.contains("in truth") && page.contains("level "));
    no_errors(&browser).await
}

#[tokio::test]
async fn two_policies_stand_side_by_side() -> Result<()> {
    let query = "world=cluster&task=2&seed=5&policy=trust&vs=oracle_lite&t=9";
    let (_server, browser) = open_page(query).await?;
    browser
        .wait_until("document.querySelectorAll('article.pane').length === 2")
        .await?;
    let differs = browser.text(".differs").await?;
    assert!(differs.starts_with("First differs at action"), "{differs}");
    // Only the user's own pane accepts actions.
    browser
        .wait_until("document.querySelectorAll('#act').length === 1")
        .await?;
    no_errors(&browser).await
}

/// With the keyboard alone: kind, job, GPU and worker in the form, then the button.
#[tokio::test]
async fn own_actions_by_keyboard_branch_and_the_address_keeps_them() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=1&seed=5&policy=blind&t=2").await?;
    let focus = |selector: &str| format!("document.querySelector({}).focus();", json!(selector));
    for (selector, keys) in [
        ("#act-job", "JOB-007"),
        ("#act-gpu", "GPU-03"),
        ("#act-worker", "S4"),
    ] {
        browser.execute(&focus(selector), vec![]).await?;
        browser.press(keys).await?;
    }
    browser.execute(&focus("#act"), vec![]).await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser
        .wait_until("location.search.includes('at=2') && location.search.includes('acts=aj7g3w4')")
        .await?;
    // Then the running job is verified, chosen in the table.
    browser
        .execute(&focus("[data-kind=verify]"), vec![])
        .await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser.execute(&focus("[data-pick=j7]"), vec![]).await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser.execute(&focus("#act"), vec![]).await?;
    browser.press(&Key::Enter.to_string()).await?;
    browser
        .wait_until("location.search.includes('acts=aj7g3w4vj7')")
        .await?;
    let mut episode = Episode::reset(&setup(Task::Task1, 5));
    let mut player = PolicyName::Blind.player(5, Streams::Independent);
    for _ in 0..2 {
        let action = player.act(&episode).expect("not over");
        episode.step(action)?;
    }
    let (job, gpu) = (action_job(), sentinel_env::cluster::GpuId(3));
    let worker = Some(Slot::ALL[4]);
    episode.step(Action::Allocate {
        job,
        gpu: Some(gpu),
        worker,
    })?;
    let step = episode.step(Action::Verify {
        job,
        worker: None,
        force_flag: false,
    })?;
    let reward = browser.text("[data-reward]").await?;
    assert!(
        reward.contains(&format!("{:.4}", step.info.grades.reward)),
        "{reward}"
    );
    assert_eq!(browser.text("#count").await?, "4 / 4");
    // The policy continues from there, and a reload shows the same.
    browser.click("#resume").await?;
    browser
        .wait_until("location.search.includes('resume=1')")
        .await?;
    let digest = browser.text(".digest").await?;
    browser.refresh().await?;
    browser.wait_for("[data-note=branch]").await?;
    assert_eq!(browser.text(".digest").await?, digest);
    no_errors(&browser).await
}

fn action_job() -> Option<sentinel_env::cluster::JobId> {
    Some(sentinel_env::cluster::JobId(7))
}

#[tokio::test]
async fn an_action_that_cannot_do_anything_is_warned_of() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=1&seed=5&policy=you").await?;
    browser.click("[data-kind=verify]").await?;
    browser.click("[data-pick=j4]").await?;
    browser
        .wait_until(
            "document.querySelector('#act-warning').textContent.includes('JOB-004 is queued')",
        )
        .await?;
    browser.click("[data-kind=allocate]").await?;
    browser
        .wait_until("document.querySelector('#act-warning').textContent === ''")
        .await?;
    Ok(())
}

#[tokio::test]
async fn bad_values_in_the_address_are_named() -> Result<()> {
    let query =
        "world=cluster&task=9&seed=-1&policy=bayes&vs=god&rules=soft&acts=vj99&at=999&page=x&t=x";
    let (server, browser) = open_page(query).await?;
    let notices = browser.text("#notices").await?;
    for part in [
        "task=9",
        "seed=-1",
        "policy=bayes",
        "vs=god",
        "unknown rules",
        "acts=vj99",
        "at=999",
        "page=x",
        "t=x",
    ] {
        assert!(notices.contains(part), "{part} is not named in {notices}");
    }
    // An action on a job that the task lacks is reported at the step where it is played.
    let query = "world=cluster&task=1&seed=5&policy=blind&at=1&acts=vj29";
    browser.goto(&format!("{}?{query}", server.url())).await?;
    let note = browser.text("[data-note=branch]").await?;
    assert!(
        note.contains("JOB-029") && note.contains("cannot be taken"),
        "{note}"
    );
    // For an unknown world the first one plays, and a notice says so.
    browser
        .goto(&format!("{}?world=atlantis", server.url()))
        .await?;
    let notices = browser.text("#notices").await?;
    assert!(notices.contains("world=atlantis"), "{notices}");
    no_errors(&browser).await
}

/// The rules are part of the address; a link to another world keeps the parameters that apply
/// there.
#[tokio::test]
async fn rules_and_worlds_are_chosen_in_the_page() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=2&seed=11&policy=trust&t=5").await?;
    let menu = browser.find(Locator::Css("#rules")).await?;
    menu.select_by_value("hardened").await?;
    browser
        .wait_until("location.search.includes('rules=hardened')")
        .await?;
    browser.click("[data-world=trust]").await?;
    browser.wait_for(".specialists:not(.workers)").await?;
    browser
        .wait_until("location.search === '?task=task2&seed=11&policy=bayes&rules=hardened'")
        .await?;
    browser.back().await?;
    browser.wait_for(".gpu-grid").await?;
    browser
        .wait_until("document.querySelector('#rules').value === 'hardened'")
        .await?;
    // Rule sets that only the address names appear in the menu too.
    let url = browser.current_url().await?;
    browser
        .goto(
            &url.as_str()
                .replace("rules=hardened", "rules=reference%2Bhealth"),
        )
        .await?;
    browser
        .wait_until("document.querySelector('#rules')?.value === 'reference+health'")
        .await?;
    no_errors(&browser).await
}

/// The standings are computed in the tab, with the means of native runs.
#[tokio::test]
async fn standings_are_played_in_the_tab() -> Result<()> {
    let (_server, browser) = open_page("world=cluster&task=1&seed=5&policy=trust").await?;
    browser.click("#league").await?;
    browser
        .wait_until("/^\\d+ episodes\\./.test(document.querySelector('#league-note')?.textContent)")
        .await?;
    let scores = (0..100).map(|seed| {
        let (episode, _) = native(&setup(Task::Task1, seed), PolicyName::Trust);
        sentinel_env::num::round_to(episode.tally().score(), 4)
    });
    let mean = scores.sum::<f64>() / 100.0;
    let shown = browser.text("[data-mean=trust]").await?;
    assert!(shown.starts_with(&format!("{mean:.3} ±")), "{shown}");
    let first = browser.execute(
        "return document.querySelector('[data-mean]').dataset.mean;",
        vec![],
    );
    let first: Value = first.await?;
    browser.click(".league .link").await?;
    let policy = first.as_str().unwrap_or_default();
    browser
        .wait_until(&format!("location.search.includes('policy={policy}')"))
        .await?;
    no_errors(&browser).await?;
    Ok(())
}
