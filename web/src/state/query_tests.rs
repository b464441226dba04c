//! Addresses: every view survives its own, and nonsense is named.

use super::*;
use sentinel_env::rng::Streams;
use sentinel_env::{cluster, rules, trust};
use sentinel_policy::trust::PolicyName;

use crate::cluster::Cluster;
use crate::trust::Trust;
use trust::{Action, Task};

#[test]
fn a_view_survives_its_address() {
    let view = View {
        screen: Screen::Training,
        task: Task::Task1,
        seed: SEED_MAX,
        streams: Streams::Reference,
        rules: rules::Rules::HARDENED.without(trust::Change::Completion),
        source: Source::Replay("my run_2.v1".to_owned()),
        versus: Some(Source::Policy(PolicyName::OracleLite)),
        branch: Some(Branch {
            at: 3,
            actions: Action::ALL.to_vec(),
            resume: true,
        }),
        cursor: 7,
        truth: true,
        hints: false,
        embed: true,
        theme: Theme::Dark,
        speed: Speed::Four,
    };
    assert_eq!(parse_query::<Trust>(&to_query(&view)), (view, vec![]));
    for source in [Source::Trained, Source::You] {
        let view = View {
            versus: Some(source.clone()),
            source,
            ..View::<Trust>::default()
        };
        assert_eq!(parse_query::<Trust>(&to_query(&view)), (view, vec![]));
    }
    assert_eq!(
        parse_query::<Trust>(&to_query(&View::<Trust>::default())),
        (View::<Trust>::default(), vec![])
    );
}

#[test]
fn nonsense_in_every_field_is_named_and_harmless() {
    let query = "?page=x&task=9&seed=-1&policy=god&streams=x&vs=../../etc&at=999&acts=d9&resume=maybe\
        &t=1e9&view=&embed=yes&theme=pink&wat=1&%%%&=&seed=9223372036854775808&seed=NaN";
    let (view, problems) = parse_query::<Trust>(query);
    assert_eq!(view, View::<Trust>::default());
    assert_eq!(problems.len(), 18, "{problems:#?}");
}

#[test]
fn what_a_host_adds_is_no_matter() {
    let (view, problems) = parse_query::<Trust>("?utm_source=x&__theme=dark&seed=5&_=1");
    assert_eq!((view.seed, problems.len()), (5, 0));
    for half in ["at=3", "at=3&acts=", "acts="] {
        let (view, problems) = parse_query::<Trust>(half);
        assert!(view.branch.is_none() && !problems.is_empty(), "{half}");
    }
}

#[test]
fn own_actions_keep_all_that_was_played_before_them() {
    let played = Action::ALL;
    let first = View::<Trust>::default().with_action(&played[..2], Action::Skip);
    let branch = first.branch.clone().expect("own actions");
    assert_eq!((branch.at, branch.actions.len(), first.cursor), (2, 1, 3));
    // The source resumed and played up to action 6; then the person acts again.
    let resumed = View {
        branch: Some(Branch {
            resume: true,
            ..branch
        }),
        ..first
    };
    let again = resumed
        .clone()
        .with_action(&played[..6], Action::SolveIndependently);
    let branch = again.branch.expect("own actions");
    assert_eq!(branch.at, 2);
    assert_eq!(branch.actions[..4], played[2..6]);
    assert_eq!(
        (branch.actions.len(), branch.resume, again.cursor),
        (5, false, 7)
    );
    // Before the branch: a new one from there.
    let earlier = resumed.with_action(&played[..1], Action::Skip);
    assert_eq!(
        earlier.branch.map(|b| (b.at, b.actions.len())),
        Some((1, 1))
    );
}

#[test]
fn a_view_of_the_cluster_survives_its_address() {
    let action = cluster::Action::Verify {
        job: Some(cluster::JobId(12)),
        worker: None,
        force_flag: true,
    };
    let view = View::<Cluster> {
        task: Task::Task2,
        rules: rules::Rules::REFERENCE.with(cluster::Change::Health),
        versus: Some(Source::You),
        branch: Some(Branch {
            at: 119,
            actions: vec![action, cluster::Action::Tick],
            resume: false,
        }),
        ..View::default()
    };
    let query = to_query(&view);
    assert!(
        query.starts_with("world=cluster&task=task2&seed=42&"),
        "{query}"
    );
    assert!(
        query.contains("rules=reference+health&") && query.contains("acts=fj12t"),
        "{query}"
    );
    assert_eq!(parse_query::<Cluster>(&query), (view, vec![]));
    // Not a player of the other world, and no more actions than steps.
    let acts = "t".repeat(121);
    let query = format!("policy=bayes&world=trust&at=121&acts={acts}");
    let (view, problems) = parse_query::<Cluster>(&query);
    assert_eq!(
        (view, problems.len()),
        (View::default(), 4),
        "{problems:#?}"
    );
}

#[test]
fn another_world_keeps_what_every_world_knows() {
    let view = View::<Trust> {
        task: Task::Task1,
        seed: 7,
        source: Source::Trained,
        rules: rules::Rules::HARDENED,
        cursor: 9,
        truth: true,
        ..View::default()
    };
    assert_eq!(
        elsewhere(&view, "cluster"),
        "world=cluster&task=task1&seed=7&rules=hardened&view=truth"
    );
    let view = View::<Cluster> {
        rules: rules::Rules::HARDENED.without(cluster::Change::Health),
        ..View::default()
    };
    assert_eq!(elsewhere(&view, "trust"), "task=task3&seed=42");
    assert_eq!(parse_query::<Trust>("world=trust").1, Vec::<String>::new());
    assert_eq!(parse_query::<Trust>("world=cluster").1.len(), 1);
}
