//! The PolyGuard world in the page: a case is played by clicks and keys, the address holds it, the
//! agents' messages are shown, and everything agrees with a native run of the same crates; no
//! hidden state is in the document before the viewer asks for it.

use anyhow::Result;
use fantoccini::Locator;
use sentinel_e2e::{Browser, open_page};
use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::TrajectoryDigest;
use sentinel_env::polyguard::{End, Episode, Lab, PolyguardEnv, Setup, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_policy::polyguard::PolicyName;
use sentinel_policy::replay::{record_episode, to_lines};
use serde_json::json;

/// Runs an episode natively and returns the numbers of the chosen candidates, the episode at its
/// end, and the digest of its trajectory.
fn native(setup: &Setup, policy: PolicyName) -> (Vec<u8>, Episode, String) {
    let mut player = policy.player(setup.seed, Streams::Independent);
    let (mut episode, mut digest) = (Episode::reset(setup), TrajectoryDigest::default());
    let mut chosen = Vec::new();
    while let Some(action) = player.act(&episode) {
        chosen.extend(action.id().map(|id| id.number()));
        let step = episode.step(action).expect("a player names what there is");
        digest.push(&episode, &step.info);
    }
    (chosen, episode, digest.digest().to_string())
}

fn case(name: &str) -> TaskSpec {
    TaskSpec::parse(name).expect("a case")
}

/// Returns the first seed below 500 for which `holds` is true; panics if there is none.
fn seed(case: TaskSpec, holds: impl Fn(u64) -> bool) -> u64 {
    let found = (0..500).find(|seed| holds(*seed));
    found.unwrap_or_else(|| panic!("no seed of {case} does"))
}

/// The quick policies that these tests play.
const PLAYERS: [PolicyName; 9] = [
    PolicyName::Random,
    PolicyName::NoChange,
    PolicyName::GreedyRegimen,
    PolicyName::RulesOnly,
    PolicyName::BeamSearchPlanner,
    PolicyName::StackDebate,
    PolicyName::StackRouted,
    PolicyName::Stack,
    PolicyName::StackReplan,
];

async fn no_errors(browser: &Browser) -> Result<()> {
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}

/// Policies on cases of every kind give the same trajectory digest and score as natively.
#[tokio::test]
async fn what_is_shown_is_what_a_native_run_gives() -> Result<()> {
    let (server, browser) = open_page("world=polyguard").await?;
    let cases = (0..100).filter_map(TaskSpec::from_number).step_by(5);
    for (case, policy) in cases.zip(PLAYERS.iter().cycle()) {
        let query = format!(
            "world=polyguard&task={case}&seed=7&policy={}&t=999",
            policy.name()
        );
        browser.goto(&format!("{}?{query}", server.url())).await?;
        browser.wait_for("#count").await?;
        let (_, episode, digest) = native(&Setup::new(case, 7), *policy);
        assert!(browser.text(".digest").await?.contains(&digest), "{query}");
        let score = format!("{:.3}", episode.score());
        assert_eq!(browser.text(".big").await?, score, "{query}");
        let steps = episode.observation().step_count;
        assert_eq!(browser.text("#count").await?, format!("{steps} / {steps}"));
    }
    no_errors(&browser).await
}

/// A person reads, clicks, and is shown the reasons for each step's reward.
#[tokio::test]
async fn a_case_is_played_by_clicks_and_the_address_holds_it() -> Result<()> {
    let case = case("DDI-medium");
    let solved = |seed| {
        let (chosen, episode, _) = native(&Setup::new(case, seed), PolicyName::RulesOnly);
        episode.observation().end == Some(End::SafeResolution) && chosen.len() > 2
    };
    let seed = seed(case, solved);
    let (chosen, episode, digest) = native(&Setup::new(case, seed), PolicyName::RulesOnly);
    let (_server, browser) = open_page(&format!(
        "world=polyguard&task={case}&seed={seed}&policy=you"
    ))
    .await?;
    let warning = browser.text(".warning").await?;
    assert!(warning.contains("simulation") && warning.contains("never for patient care"));
    for (step, number) in chosen.iter().enumerate() {
        browser
            .click(&format!("[data-candidate='{number}']"))
            .await?;
        let letters: String = chosen[..=step]
            .iter()
            .map(|n| (n % 10).to_string())
            .collect();
        let end = if step + 1 == chosen.len() { "" } else { "&" };
        let expected = format!("acts={letters}{end}");
        browser
            .wait_until(&format!("location.search.includes({})", json!(expected)))
            .await?;
        browser.wait_for(".why li").await?;
    }
    let situation = browser.text(".situation").await?;
    assert!(situation.contains("safe resolution"), "{situation}");
    // Four channels, thirteen components and their totals are shown beside the last step.
    let script = "return [document.querySelectorAll('.rewards [data-channel]').length,
        document.querySelectorAll('.rewards tr').length, document.querySelectorAll('.log li').length];";
    let shown = browser.execute(script, vec![]).await?;
    assert_eq!(shown, json!([4, 13 + 3, chosen.len()]));
    assert_eq!(
        browser.text(".big").await?,
        format!("{:.3}", episode.score())
    );
    assert!(browser.text(".digest").await?.contains(&digest));
    browser.refresh().await?;
    browser.wait_for("[data-note=branch]").await?;
    assert!(browser.text(".digest").await?.contains(&digest));
    no_errors(&browser).await
}

/// With the keyboard alone in a policy's episode: it branches, and the policy can continue from
/// there.
#[tokio::test]
async fn a_key_branches_and_two_episodes_stand_side_by_side() -> Result<()> {
    let query = "world=polyguard&task=DDI-hard&seed=5&policy=stack_replan&vs=rules_only&t=1";
    let (_server, browser) = open_page(query).await?;
    browser
        .wait_until("document.querySelectorAll('article.pane').length === 2")
        .await?;
    browser.wait_for(".differs").await?;
    // Only the user's own pane accepts actions.
    let own = "document.querySelectorAll('article.pane')[1].querySelectorAll('[data-candidate]').length === 0";
    browser.wait_until(own).await?;
    browser.press("1").await?;
    browser
        .wait_until("location.search.includes('at=1') && location.search.includes('acts=1')")
        .await?;
    browser.click("#resume").await?;
    browser
        .wait_until("location.search.includes('resume=1')")
        .await?;
    let setup = Setup::new(case("DDI-hard"), 5);
    let mut player = PolicyName::StackReplan.player(5, Streams::Independent);
    let (mut episode, mut digest) = (Episode::reset(&setup), TrajectoryDigest::default());
    let mut at = 0;
    while !episode.observation().done() {
        player.observe(&episode);
        let keep = sentinel_env::polyguard::CandidateId::FIRST;
        let kept =
            sentinel_env::polyguard::Action::with_grounded_rationale(episode.observation(), keep);
        let action = if at == 1 {
            Some(kept)
        } else {
            player.choose(&episode)
        };
        let step = episode.step(action.expect("not over"))?;
        digest.push(&episode, &step.info);
        at += 1;
    }
    let digest = digest.digest().to_string();
    browser
        .wait_until(&format!(
            "document.querySelector('.digest').textContent.includes({})",
            json!(digest)
        ))
        .await?;
    no_errors(&browser).await
}

/// A missing value is labeled as missing.
#[tokio::test]
async fn a_missing_value_is_shown_as_missing() -> Result<()> {
    let case = case("WEB_SEARCH_MISSING_DATA-hard");
    let (_server, browser) = open_page(&format!("world=polyguard&task={case}&seed=3")).await?;
    let episode = Episode::reset(&Setup::new(case, 3));
    let labs = &episode.observation().labs;
    assert!(labs.get(Lab::Egfr).is_none(), "the case hides it");
    for lab in Lab::ALL {
        let shown = browser.text(&format!("[data-lab={}]", lab.name())).await?;
        match labs.get(lab) {
            None => assert!(shown.contains("missing"), "{shown}"),
            Some(value) => assert!(
                shown.contains(&format!("{:.0}", value.floor())[..1]),
                "{shown}"
            ),
        }
    }
    no_errors(&browser).await
}

/// The hidden state is not in the document until the viewer asks for it.
#[tokio::test]
async fn nothing_hidden_is_in_the_document_before_it_is_asked_for() -> Result<()> {
    let case = case("DDI-hard");
    // A case with a serious interaction that is not flagged, and with a withheld value.
    let has = |seed| {
        let episode = Episode::reset(&Setup::new(case, seed));
        let o = episode.observation();
        let unseen = episode.serious_pairs() & !o.flagged != 0;
        unseen && episode.hidden().withheld().count() > 0
    };
    let seed = seed(case, has);
    let query = format!("world=polyguard&task={case}&seed={seed}&policy=random&t=0&vs=rules_only");
    let (_server, browser) = open_page(&query).await?;
    let html = "return document.querySelector('main').innerHTML;";
    let page = browser.execute(html, vec![]).await?;
    let page = page.as_str().unwrap_or_default().to_lowercase();
    for secret in [
        "in truth",
        "arc unseen",
        "withheld",
        "data-issue",
        ">true risk",
    ] {
        assert!(!page.contains(secret), "the agent's view has {secret:?}");
    }
    browser.click("#truth").await?;
    browser.wait_for(".beneath").await?;
    let page = browser.execute(html, vec![]).await?;
    let page = page.as_str().unwrap_or_default().to_lowercase();
    for told in ["in truth", "arc unseen", "withheld", "data-issue"] {
        assert!(page.contains(told), "the truth has no {told:?}");
    }
    no_errors(&browser).await
}

/// Sub-environment, difficulty, split and formulary are chosen in the page, and the address holds
/// them.
#[tokio::test]
async fn the_cell_is_chosen_and_the_address_has_it() -> Result<()> {
    let (_server, browser) = open_page("world=polyguard&seed=3").await?;
    let select = async |selector: &str, value: &str| -> Result<()> {
        let menu = browser.find(Locator::Css(selector)).await?;
        Ok(menu.select_by_value(value).await?)
    };
    let address = async |task: &str| {
        let is = format!(
            "location.search.includes({})",
            json!(format!("task={task}&"))
        );
        browser.wait_until(&is).await
    };
    select("#sub", "DEPRESCRIBING").await?;
    address("DEPRESCRIBING-medium").await?;
    browser.click("[data-difficulty=easy]").await?;
    address("DEPRESCRIBING-easy").await?;
    select("#split", "holdout").await?;
    address("DEPRESCRIBING-easy-holdout").await?;
    select("#formulary", "reference").await?;
    address("DEPRESCRIBING-easy-reference").await?;
    // A cell that the reference lacks belongs to the extended formulary.
    select("#sub", "REGIMEN_RISK").await?;
    address("REGIMEN_RISK-easy").await?;
    let situation = browser.text(".situation").await?;
    assert!(situation.contains("Too much of a kind"), "{situation}");
    no_errors(&browser).await
}

/// The messages of every agent are shown, among them those of a critic, a planner and a supervisor.
#[tokio::test]
async fn agents_are_heard() -> Result<()> {
    let query = "world=polyguard&task=REGIMEN_RISK-medium&seed=4&policy=stack&t=0";
    let (server, browser) = open_page(query).await?;
    browser
        .wait_until("document.querySelectorAll('.trace [data-agent]').length === 9")
        .await?;
    let said = browser.text("[data-agent=Planner]").await?;
    let (chosen, ..) = native(
        &Setup::new(case("REGIMEN_RISK-medium"), 4),
        PolicyName::Stack,
    );
    assert!(said.contains("sequential_pipeline"), "{said}");
    let next = format!("[data-candidate='{}'].next", chosen[0]);
    browser.wait_for(&next).await?;
    // A policy without agents shows no messages.
    let query = query.replace("policy=stack", "policy=rules_only");
    browser.goto(&format!("{}?{query}", server.url())).await?;
    browser.wait_for(".candidates").await?;
    browser
        .wait_until("!document.querySelector('.trace')")
        .await?;
    no_errors(&browser).await
}

/// A replay of a scripted policy plays as the policy does.
#[tokio::test]
async fn a_recorded_episode_is_played_again() -> Result<()> {
    let setup = Setup::new(case("BANDIT_MINING-easy"), 6);
    let mut player = PolicyName::RulesOnly.player(6, Streams::Independent);
    let (_, rows) = record_episode::<PolyguardEnv>(&setup, &mut player, "rules_only");
    let (_, episode, digest) = native(&setup, PolicyName::RulesOnly);
    let (_server, browser) = open_page("world=polyguard").await?;
    let script = "const data = new DataTransfer();
        data.items.add(new File([arguments[0]], 'mine.jsonl'));
        window.dispatchEvent(new DragEvent('drop', {dataTransfer: data, bubbles: true, cancelable: true}));";
    browser
        .execute(script, vec![json!(to_lines(&rows)?)])
        .await?;
    browser.wait_for("[data-note=replay]").await?;
    browser
        .wait_until("location.search.includes('task=BANDIT_MINING-easy')")
        .await?;
    let note = browser.text("[data-note=replay]").await?;
    let expected = format!("{} recorded actions, 0 misses", rows.len());
    assert!(note.contains(&expected), "{note}");
    assert!(browser.text(".digest").await?.contains(&digest));
    browser.click("[aria-label=Last]").await?;
    let score = format!("{:.3}", episode.score());
    browser
        .wait_until(&format!(
            "document.querySelector('.big').textContent === '{score}'"
        ))
        .await?;
    no_errors(&browser).await
}

/// The anti-cheat's verdict is shown, and a candidate that it would flag is marked beforehand.
#[tokio::test]
async fn what_the_anti_cheat_sees_is_shown() -> Result<()> {
    let case = case("DDI-easy");
    let query = format!("world=polyguard&task={case}&seed=2&policy=no_change&t=1");
    let (_server, browser) = open_page(&query).await?;
    browser
        .wait_until("document.querySelectorAll('.cheats [data-rule]').length === 8")
        .await?;
    browser
        .wait_for("[data-candidate='1'] .cand-warning")
        .await?;
    browser.click("[aria-label=Last]").await?;
    browser.wait_for("[data-rule=noop_high_risk].hit").await?;
    let situation = browser.text(".situation").await?;
    assert!(situation.contains("cheating"), "{situation}");
    no_errors(&browser).await
}

/// Every invalid value in the address gives a message, and the page plays on.
#[tokio::test]
async fn bad_values_in_the_address_are_named() -> Result<()> {
    let query = "world=polyguard&task=DDI-impossible&seed=-1&policy=god&vs=bayes&rules=soft&acts=x9&at=99&t=x";
    let (server, browser) = open_page(query).await?;
    let notices = browser.text("#notices").await?;
    for part in [
        "task=DDI-impossible",
        "seed=-1",
        "policy=god",
        "vs=bayes",
        "unknown rules",
        "acts=x9",
        "at=99",
        "t=x",
    ] {
        assert!(notices.contains(part), "{part} is not named in {notices}");
    }
    browser.wait_for(".candidates").await?;
    // A candidate that is not shown is refused by the world, and the page reports it.
    let query = "world=polyguard&task=DDI-easy&seed=2&policy=you&acts=0&t=1";
    browser.goto(&format!("{}?{query}", server.url())).await?;
    let shown = Episode::reset(&Setup::new(case("DDI-easy"), 2));
    let tenth = sentinel_env::polyguard::CandidateId::new(10).expect("a number");
    if shown.observation().candidates.get(tenth).is_none() {
        let situation = browser.text(".situation").await?;
        assert!(situation.contains("refused"), "{situation}");
    }
    // Missing weights are named, and no other policy plays in their place; weights that exist play.
    let query = "world=polyguard&task=DDI-easy&seed=2&policy=grpo";
    browser.goto(&format!("{}?{query}", server.url())).await?;
    browser
        .wait_until("!/^Loading/.test(document.querySelector('[data-note=model]')?.textContent ?? 'Loading')")
        .await?;
    let note = browser.text("[data-note=model]").await?;
    let there =
        sentinel_e2e::input("SENTINEL_DIST")?.join("replays/polyguard-grpo/model.safetensors");
    if there.is_file() {
        assert!(note.contains("parameters"), "{note}");
    } else {
        assert!(
            note.contains("replays/polyguard-grpo/model.safetensors"),
            "{note}"
        );
        assert_eq!(browser.text("#count").await?, "0 / 0");
    }
    Ok(())
}
