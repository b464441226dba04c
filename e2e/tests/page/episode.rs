//! The built page in a real browser, served from a sub-path as a static host does: play, step, act,
//! and compare the page with native runs of the same crates, in every world.

use anyhow::Result;
use fantoccini::Locator;
use fantoccini::key::Key;
use sentinel_e2e::{Browser, Server, ask, is_played, is_silent, open, open_page, shows_action};
use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::PolyguardEnv;
use sentinel_env::rng::Streams;
use sentinel_env::trust::TrustEnv;
use sentinel_env::{EpisodeSpec, Named as _, TaskName as _, TrajectoryDigest};
use sentinel_policy::{Playable, Scripted as _};
use serde_json::{Value, json};

/// Plays an episode natively: digest, score and number of actions.
fn native<W: Playable>(origin: EpisodeSpec<W>, policy: W::PolicyName) -> (String, f64, usize) {
    let setup = origin.setup();
    let (mut episode, mut player) = (W::reset(&setup), policy.start(&setup));
    let (mut digest, mut actions) = (TrajectoryDigest::default(), 0);
    while let Some(action) = player.act(&episode) {
        let step = episode.step(action).expect("a player acts while it may");
        digest.push(&episode, &step.info);
        actions += 1;
    }
    (digest.digest().to_string(), episode.score(), actions)
}

/// Checks that policies play the same episode in the page as natively.
async fn plays_as_natively<W: Playable>(
    browser: &Browser,
    server: &Server,
    origin: EpisodeSpec<W>,
    policies: &[&str],
) -> Result<()> {
    for name in policies {
        let policy = W::PolicyName::parse(name).expect("a policy");
        let query = format!(
            "world={}&task={}&seed={}&streams={}&policy={name}&t=999",
            W::NAME,
            origin.task.name(),
            origin.seed,
            origin.streams.name()
        );
        open(browser, server, &query).await?;
        is_played(browser).await?;
        let (digest, score, actions) = native(origin, policy);
        let at = format!("{} {name}", W::NAME);
        assert_eq!(browser.text(".digest").await?, digest, "{at}");
        assert_eq!(browser.text(".score").await?, format!("{score:.3}"), "{at}");
        assert_eq!(
            browser.text("#count").await?,
            format!("{actions} / {actions}"),
            "{at}"
        );
        let slider = "const s = document.getElementById('scrubber'); return [s.value, s.max]";
        let end = actions.to_string();
        assert_eq!(
            browser.execute(slider, vec![]).await?,
            json!([end, end]),
            "{at}"
        );
    }
    is_silent(browser).await
}

#[tokio::test]
async fn page_plays_what_a_native_run_plays() -> Result<()> {
    let (server, browser) = open_page("").await?;
    let trust = EpisodeSpec::<TrustEnv> {
        streams: Streams::Reference,
        ..EpisodeSpec::new(sentinel_env::trust::Task::Task3, 77)
    };
    let policies = [
        "random",
        "heuristic",
        "oracle_lite",
        "self_solve",
        "bayes",
        "oracle",
    ];
    plays_as_natively(&browser, &server, trust, &policies).await?;
    let cluster = EpisodeSpec::<ClusterEnv>::new(sentinel_env::cluster::Task::Task2, 5);
    plays_as_natively(
        &browser,
        &server,
        cluster,
        &["random", "blind", "trust", "planner"],
    )
    .await?;
    let case = sentinel_env::polyguard::TaskSpec::parse("REGIMEN_RISK-hard").expect("a cell");
    let polyguard = EpisodeSpec::<PolyguardEnv>::new(case, 11);
    let policies = ["random", "rules_only", "stack", "stack_replan", "oracle"];
    plays_as_natively(&browser, &server, polyguard, &policies).await
}

#[tokio::test]
async fn buttons_and_keys_move_through_the_episode() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    browser.click("#forward").await?;
    shows_action(&browser, 1).await?;
    browser.press(&Key::End.to_string()).await?;
    browser
        .wait_until(
            "(([a, b]) => a === b)(document.querySelector('#count').textContent.split(' / '))",
        )
        .await?;
    browser.press(&Key::Home.to_string()).await?;
    shows_action(&browser, 0).await?;
    browser.press(&Key::Right.to_string()).await?;
    shows_action(&browser, 1).await?;
    browser.press("?").await?;
    browser.wait_for("dialog[open]").await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser
        .wait_until("!document.querySelector('dialog[open]')")
        .await?;
    browser.click("#play").await?;
    browser
        .wait_until("Number.parseInt(document.querySelector('#count').textContent) >= 3")
        .await?;
    is_silent(&browser).await
}

/// The end of the bar moves while an episode is computed, and the browser limits the value by it.
#[tokio::test]
async fn time_bar_stands_at_the_action_of_the_address() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for query in [
        "task=3&seed=42&policy=bayes&t=14&view=truth",
        "world=cluster&task=2&seed=42&policy=planner&t=20",
        "world=polyguard&seed=42&policy=stack_replan&t=2",
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        let (bar, count) = (
            "document.querySelector('#scrubber')",
            "document.querySelector('#count').textContent",
        );
        let agrees = format!("`${{{bar}.value}} / ${{{bar}.max}}` === {count}");
        browser.wait_until(&agrees).await?;
    }
    is_silent(&browser).await
}

/// The address holds the whole view: after own actions, a reload shows the same.
#[tokio::test]
async fn own_actions_branch_and_the_address_keeps_them() -> Result<()> {
    let (_server, browser) = open_page("task=2&seed=9&policy=bayes&t=2").await?;
    browser.click("[data-act=v3]").await?;
    browser.wait_for("[data-note=branch]").await?;
    browser.click("[data-act=s]").await?;
    browser
        .wait_until("location.search.includes('acts=v3s') && location.search.includes('at=2')")
        .await?;
    assert_eq!(browser.text("#count").await?, "4 / 4");
    browser.click("#resume").await?;
    browser
        .wait_until("location.search.includes('resume=1')")
        .await?;
    browser.press(&Key::End.to_string()).await?;
    is_played(&browser).await?;
    browser
        .wait_until("document.querySelector('.digest').textContent")
        .await?;
    let digest = browser.text(".digest").await?;
    // The address is written a moment later.
    browser
        .wait_until("/[?&]t=\\d\\d/.test(location.search)")
        .await?;
    browser.refresh().await?;
    browser.wait_for("[data-note=branch]").await?;
    browser
        .wait_until("document.querySelector('.digest').textContent")
        .await?;
    assert_eq!(browser.text(".digest").await?, digest);
    browser.click("#discard").await?;
    browser
        .wait_until("!location.search.includes('acts=')")
        .await?;
    is_silent(&browser).await
}

/// The episode beside it may be longer; acting after the end of one's own acts at its end.
#[tokio::test]
async fn acting_beyond_the_own_end_keeps_own_actions() -> Result<()> {
    let (_server, browser) =
        open_page("task=2&seed=9&policy=you&at=0&acts=d0d1v2&vs=bayes&t=999").await?;
    browser.wait_for("[data-act=d4]").await?;
    browser.click("[data-act=d4]").await?;
    browser
        .wait_until("location.search.includes('acts=d0d1v2d4')")
        .await?;
    is_silent(&browser).await
}

/// Back and forward lead through episodes and own actions.
#[tokio::test]
async fn back_and_forward_lead_through_what_was_played() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    let seed = |seed: u32| format!("document.querySelector('#seed').value === '{seed}'");
    browser.click("#settings").await?;
    browser.click("[aria-label='Next seed']").await?;
    browser
        .wait_until("location.search.includes('seed=6')")
        .await?;
    browser.press(&Key::Escape.to_string()).await?;
    browser.click("[data-act=d1]").await?;
    browser
        .wait_until("location.search.includes('acts=d1')")
        .await?;
    browser.back().await?;
    browser
        .wait_until("!document.querySelector('[data-note=branch]')")
        .await?;
    browser.wait_until(&seed(6)).await?;
    browser.back().await?;
    browser.wait_until(&seed(5)).await?;
    browser.execute("history.forward()", vec![]).await?;
    browser.wait_until(&seed(6)).await?;
    is_silent(&browser).await
}

/// Links of the page before: without a player, but with a moment or own actions, they keep the
/// player that they were made with.
#[tokio::test]
async fn older_links_keep_their_player() -> Result<()> {
    let server = sentinel_e2e::serve_page()?;
    let browser = Browser::start().await?;
    for (query, player) in [
        ("", "grpo"),
        ("task=3&seed=42&t=14", "bayes"),
        ("world=cluster&t=3", "planner"),
        ("world=polyguard&at=0&acts=1&resume=1", "stack_replan"),
        ("world=polyguard", "grpo"),
    ] {
        open(&browser, &server, query).await?;
        let pane = format!("[data-pane=main][data-player={player}]");
        browser.wait_for(&pane).await?;
    }
    is_silent(&browser).await
}

/// The same means as `sentinel eval` on the same seeds.
#[tokio::test]
async fn tournament_gives_the_means_of_the_evaluation() -> Result<()> {
    let (_server, browser) = open_page("task=1&streams=reference&policy=bayes").await?;
    browser.click("#tournament").await?;
    browser
        .wait_until("document.querySelector('#tournament-note').textContent.includes('Mean score')")
        .await?;
    let mean = browser.text("[data-mean=random]").await?;
    // 100 seeds of task1: `sentinel eval --task task1 --seeds 0..100 --policies random`.
    assert!(mean.starts_with("0.76"), "{mean}");
    browser
        .click(".result-table .link[data-player=random]")
        .await?;
    browser
        .wait_for("[data-pane=main][data-player=random]")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn two_players_stand_side_by_side() -> Result<()> {
    let (server, browser) = open_page("task=3&seed=42&policy=bayes&vs=heuristic&t=5").await?;
    browser
        .wait_for("[data-pane=versus][data-player=heuristic]")
        .await?;
    browser.wait_for(".differs").await?;
    open(
        &browser,
        &server,
        "world=cluster&policy=planner&vs=planner&task=1",
    )
    .await?;
    browser
        .wait_until("document.querySelector('.differs')?.textContent.includes('Same actions')")
        .await?;
    is_silent(&browser).await
}

/// Another world is another engine, not another load of the page.
#[tokio::test]
async fn worlds_and_rules_are_chosen_without_a_reload() -> Result<()> {
    let (_server, browser) = open_page("policy=heuristic").await?;
    browser.execute("window.stays = true", vec![]).await?;
    for world in ["cluster", "polyguard", "trust"] {
        browser.click(&format!("[data-world={world}]")).await?;
        browser
            .wait_for(&format!("[data-of={world}][data-ready]"))
            .await?;
        browser.wait_until("window.stays").await?;
    }
    browser.click("#settings").await?;
    // The rules as published are a switch, which is on here.
    browser.wait_for("#rules:checked").await?;
    browser.click("#rules").await?;
    browser
        .wait_until("location.search.includes('rules=hardened')")
        .await?;
    is_silent(&browser).await
}

/// Words of a world that are in the document only while the truth is shown.
#[tokio::test]
async fn truth_is_in_the_document_only_while_it_is_asked_for() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for (query, secrets) in [
        (
            "task=3&seed=42&policy=heuristic&t=12",
            &["AdversarialSpecialist", "reliability", "poison believed"][..],
        ),
        (
            "world=cluster&task=3&seed=7&policy=planner&t=30",
            &["honest", "false_completion", "Adversarial worker"][..],
        ),
        (
            "world=polyguard&task=DDI-hard&seed=3&policy=rules_only&t=2",
            &["true risk", "in truth"][..],
        ),
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        let html = browser.source().await?.to_lowercase();
        for secret in secrets {
            assert!(!html.contains(&secret.to_lowercase()), "{query}: {secret}");
        }
        browser
            .wait_until("!document.querySelector('[data-truth]:not([hidden])')")
            .await?;
        browser.press("t").await?;
        browser.wait_for(".truth-layer").await?;
        browser
            .wait_until("location.search.includes('view=truth')")
            .await?;
        browser.press("t").await?;
        browser
            .wait_until("!document.querySelector('.truth-layer')")
            .await?;
    }
    is_silent(&browser).await
}

#[tokio::test]
async fn candidates_are_taken_by_click_and_by_key() -> Result<()> {
    let (_server, browser) = open_page("world=polyguard&task=DDI-easy&seed=4&policy=you").await?;
    browser
        .wait_for("[data-panel=candidates] [data-act='1']")
        .await?;
    browser.click("[data-act='1']").await?;
    browser
        .wait_until("location.search.includes('acts=1')")
        .await?;
    shows_action(&browser, 1).await?;
    browser.press("1").await?;
    browser
        .wait_until("location.search.includes('acts=11')")
        .await?;
    is_silent(&browser).await
}

/// The title of a folded panel and its short text are two words, also to a screen reader.
#[tokio::test]
async fn folded_panels_separate_title_and_text() -> Result<()> {
    let (_server, browser) =
        open_page("world=polyguard&task=DDI-easy&seed=4&policy=no_change").await?;
    let title = browser.text("[data-panel=suspected] summary").await?;
    assert!(title.starts_with("Suspected pairs "), "{title}");
    is_silent(&browser).await
}

/// The parts of a stack of agents say what they weigh, and the menus choose the case.
#[tokio::test]
async fn agents_of_a_stack_are_shown_and_menus_choose_the_case() -> Result<()> {
    let (_server, browser) = open_page("world=polyguard&policy=stack&seed=4").await?;
    browser.wait_for("[data-panel=agents] [data-card]").await?;
    browser.click("#settings").await?;
    let menu = browser.find(Locator::Css("#axis-1")).await?;
    menu.select_by_label("Hard").await?;
    browser
        .wait_until("location.search.includes('-hard')")
        .await?;
    is_silent(&browser).await
}

/// The trained policy of every world plays to the end and says how likely its actions are.
#[tokio::test]
async fn trained_policy_plays_in_every_world() -> Result<()> {
    let server = sentinel_e2e::serve_page()?;
    let browser = Browser::start().await?;
    for world in ["trust", "cluster", "polyguard"] {
        open(
            &browser,
            &server,
            &format!("world={world}&seed=42&policy=grpo"),
        )
        .await?;
        is_played(&browser).await?;
        // In the drawer, which is closed.
        browser
            .wait_until("document.querySelector('#drawer [data-note=source]').textContent.includes('parameters')")
            .await?;
        let chances = "document.body.innerText.match(/\\d %/g)?.length > 2";
        browser.wait_until(chances).await?;
        browser.press(&Key::End.to_string()).await?;
        browser
            .wait_until("document.querySelector('.digest').textContent")
            .await?;
    }
    is_silent(&browser).await
}

#[tokio::test]
async fn training_screen_draws_the_curves_of_every_world() -> Result<()> {
    let server = sentinel_e2e::serve_page()?;
    let browser = Browser::start().await?;
    for world in ["trust", "cluster", "polyguard"] {
        let address = format!("{}?world={world}&page=training", server.url());
        browser.goto(&address).await?;
        browser
            .wait_for("[data-chart=evaluation] path.line")
            .await?;
        let charts = browser
            .execute(
                "return document.querySelectorAll('[data-chart]').length",
                vec![],
            )
            .await?;
        assert!(charts.as_u64() > Some(4), "{world}: {charts}");
    }
    is_silent(&browser).await
}

/// A recorded episode plays without a miss, and the menu opens an episode that the file has.
#[tokio::test]
async fn replay_from_the_menu_plays_an_episode_that_it_has() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5000&policy=heuristic").await?;
    browser
        .wait_for("#player option[value='replay:bayes-reference']")
        .await?;
    // The menu has groups, and no two entries look alike.
    let groups = "[...document.querySelectorAll('#player optgroup')].map(group => group.label)";
    let groups = ask(&browser, groups).await?;
    assert_eq!(
        groups,
        json!(["Players", "Recorded episodes", "Checkpoints"])
    );
    let labels = "[...document.querySelectorAll('#player option')].map(option => option.text)";
    let labels = ask(&browser, labels).await?;
    let labels: Vec<&str> = labels
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect();
    let unique: std::collections::BTreeSet<_> = labels.iter().collect();
    assert_eq!(unique.len(), labels.len(), "{labels:?}");
    assert!(
        labels.contains(&"Random: rules as published, 3 tasks"),
        "{labels:?}"
    );
    browser.click("#settings").await?;
    let menu = browser.find(Locator::Css("#player")).await?;
    menu.select_by_value("replay:bayes-reference").await?;
    browser
        .wait_until(
            "document.querySelector('[data-note=source]')?.textContent.includes(' 0 misses')",
        )
        .await?;
    let actions: Value = browser.execute("return location.search", vec![]).await?;
    assert!(
        actions
            .as_str()
            .unwrap_or_default()
            .contains("streams=reference"),
        "{actions}"
    );
    assert_ne!(actions, json!(""));
    is_silent(&browser).await
}
