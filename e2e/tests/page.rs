//! The built page in a real browser, served from a sub-path as a static host does: play, step, act,
//! and compare the page with a native run of the same crates.

use anyhow::Result;
use fantoccini::key::Key;
use sentinel_e2e::open_page;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{Session, Setup, Task};
use sentinel_policy::trust::PolicyName;

const CURSOR_0: &str = "document.querySelector('#count')?.textContent.startsWith('0 /')";

fn native(task: Task, seed: u64, streams: Streams, policy: PolicyName) -> Session {
    let mut session = Session::new(&Setup::new(task, seed, streams));
    let mut player = policy.player(seed, streams);
    while let Some(action) = player.act(session.episode()) {
        session.act(action).expect("a player acts while it may");
    }
    session
}

#[tokio::test]
async fn the_page_loads_from_a_sub_path() -> Result<()> {
    let (_server, browser) = open_page("").await?;
    assert_eq!(browser.title().await?, "Sentinel");
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// Every policy, played in the page, gives the same trajectory digest as natively.
#[tokio::test]
async fn what_is_shown_is_what_a_native_run_gives() -> Result<()> {
    for policy in PolicyName::ALL {
        let query = format!(
            "task=3&seed=77&policy={}&streams=reference&t=999",
            policy.name()
        );
        let (_server, browser) = open_page(&query).await?;
        let session = native(Task::Task3, 77, Streams::Reference, policy);
        let tally = session.episode().tally();
        let digest = session.digest().digest().to_string();
        assert!(
            browser.text(".digest").await?.contains(&digest),
            "{}",
            policy.name()
        );
        assert_eq!(browser.text(".big").await?, format!("{:.3}", tally.score()));
        let count = format!("{0} / {0}", tally.actions);
        assert_eq!(browser.text("#count").await?, count);
        assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    }
    Ok(())
}

#[tokio::test]
async fn buttons_and_keys_move_through_the_episode() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.click("#forward").await?;
    browser
        .wait_until("document.querySelector('#count').textContent.startsWith('1 /')")
        .await?;
    let first = native(Task::Task1, 5, Streams::Independent, PolicyName::Heuristic);
    let reward = format!("Reward {:.4}", first.steps()[0].grades.reward);
    assert!(browser.text("[data-reward]").await?.contains(&reward));
    browser.press(&Key::End.to_string()).await?;
    browser
        .wait_until(
            "(([a, b]) => a === b)(document.querySelector('#count').textContent.split(' / '))",
        )
        .await?;
    browser.press(&Key::Home.to_string()).await?;
    browser.wait_until(CURSOR_0).await?;
    browser.press(&Key::Right.to_string()).await?;
    browser
        .wait_until("document.querySelector('#count').textContent.startsWith('1 /')")
        .await?;
    browser.press("?").await?;
    browser.wait_for("[role=dialog]").await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser
        .wait_until("!document.querySelector('[role=dialog]')")
        .await?;
    browser.click("#play").await?;
    browser
        .wait_until("Number.parseInt(document.querySelector('#count').textContent) >= 3")
        .await?;
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// The address holds the whole view: after own actions, a reload shows the same.
#[tokio::test]
async fn own_actions_branch_and_the_address_keeps_them() -> Result<()> {
    let (_server, browser) = open_page("task=2&seed=9&policy=bayes&t=2").await?;
    browser.click("[data-act=v3]").await?;
    browser.wait_for("[data-note=branch]").await?;
    browser.click("#solve").await?;
    browser
        .wait_until("location.search.includes('acts=v3s') && location.search.includes('at=2')")
        .await?;
    assert_eq!(browser.text("#count").await?, "4 / 4");
    browser.click("#resume").await?;
    browser
        .wait_until("location.search.includes('resume=1')")
        .await?;
    let digest = browser.text(".digest").await?;
    browser.refresh().await?;
    browser.wait_for("[data-note=branch]").await?;
    assert_eq!(browser.text(".digest").await?, digest);
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// The other pane's episode may be longer; acting after the end of one's own episode acts at its
/// end.
#[tokio::test]
async fn acting_beyond_ones_own_end_keeps_what_was_done() -> Result<()> {
    let (_server, browser) =
        open_page("task=2&seed=9&policy=you&at=0&acts=d0d1v2&vs=bayes&t=999").await?;
    browser.click("[data-act=d4]").await?;
    browser
        .wait_until("location.search.includes('acts=d0d1v2d4')")
        .await?;
    browser
        .wait_until("location.search.includes('t=4')")
        .await?;
    Ok(())
}

/// Standings are computed in the page, and link to the episodes behind them.
#[tokio::test]
async fn standings_are_played_in_the_tab() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic&streams=reference").await?;
    browser.click("#league").await?;
    browser
        .wait_until(
            "document.querySelector('#league-note')?.textContent.startsWith('800 episodes')",
        )
        .await?;
    let scores = (0..100).map(|seed| {
        let session = native(Task::Task1, seed, Streams::Reference, PolicyName::Heuristic);
        sentinel_env::num::round_to(session.episode().tally().score(), 4)
    });
    let mean = scores.fold(0.0, |sum, score| sum + score) / 100.0;
    let shown = browser.text("[data-mean=heuristic]").await?;
    assert!(shown.starts_with(&format!("{mean:.3} ±")), "{shown}");
    let first = "document.querySelector('[data-mean]').dataset.mean";
    let first = browser.execute(&format!("return {first};"), vec![]).await?;
    let first = first.as_str().unwrap_or_default().to_owned();
    browser.click(".league .link").await?;
    browser
        .wait_until(&format!("location.search.includes('policy={first}')"))
        .await?;
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

#[tokio::test]
async fn truth_is_hidden_until_it_is_asked_for() -> Result<()> {
    let (_server, browser) = open_page("task=3&seed=42&policy=oracle_lite&t=999").await?;
    let page = browser.text("main").await?;
    for secret in ["adversarial", "accurate-slow", "caught"] {
        assert!(!page.contains(secret), "the agent's view says {secret}");
    }
    browser.click("#truth").await?;
    browser.wait_for(".identity").await?;
    let page = browser.text("main").await?;
    let caught = native(
        Task::Task3,
        42,
        Streams::Independent,
        PolicyName::OracleLite,
    );
    let caught = format!("{} caught", caught.episode().tally().detections);
    for shown in ["adversarial", "accurate-slow", &caught] {
        assert!(page.contains(shown), "the truth does not say {shown}");
    }
    Ok(())
}

#[tokio::test]
async fn two_policies_stand_side_by_side() -> Result<()> {
    let (_server, browser) = open_page("task=3&seed=42&policy=bayes&vs=heuristic&t=5").await?;
    browser
        .wait_until("document.querySelectorAll('article.pane').length === 2")
        .await?;
    assert!(
        browser
            .text(".differs")
            .await?
            .starts_with("First differs at action")
    );
    Ok(())
}

#[tokio::test]
async fn a_recorded_episode_plays_without_a_miss() -> Result<()> {
    let query = "task=3&seed=4&streams=reference&policy=replay:heuristic-reference&t=999";
    let (_server, browser) = open_page(query).await?;
    browser.wait_until("document.querySelector('[data-note=replay]')?.textContent.includes('recorded actions')").await?;
    assert!(
        browser
            .text("[data-note=replay]")
            .await?
            .contains(" 0 misses")
    );
    let session = native(Task::Task3, 4, Streams::Reference, PolicyName::Heuristic);
    let digest = session.digest().digest().to_string();
    assert!(browser.text(".digest").await?.contains(&digest));
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// Choosing a recording shows an episode that it holds, whatever was shown before.
#[tokio::test]
async fn a_replay_from_the_menu_plays_an_episode_that_it_holds() -> Result<()> {
    let (_server, browser) = open_page("task=2&seed=424242&policy=random").await?;
    browser
        .wait_for("#player option[value='replay:bayes-reference']")
        .await?;
    let menu = browser.find(fantoccini::Locator::Css("#player")).await?;
    menu.select_by_value("replay:bayes-reference").await?;
    browser
        .wait_until(
            "document.querySelector('[data-note=replay]')?.textContent.includes(' 0 misses')",
        )
        .await?;
    browser
        .wait_until(
            "location.search.includes('seed=0') && location.search.includes('streams=reference')",
        )
        .await?;
    let session = native(Task::Task2, 0, Streams::Reference, PolicyName::Bayes);
    let digest = session.digest().digest().to_string();
    assert!(browser.text(".digest").await?.contains(&digest));
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}
