//! Replays with prompts and completions: kept, and checked against episode and action.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::{PolyguardEnv, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_env::rules::Rules;
use sentinel_env::trust::{Task, TrustEnv};
use sentinel_env::{EpisodeSpec, World};
use sentinel_play::corpus::record_transcripts::record_transcripts;
use sentinel_play::rollout::RolloutConfig;
use sentinel_policy::replay::{Recordable, Replay, ReplayRow, to_lines, verify};
use sentinel_policy::text::ParserStrictness;

use crate::common;
use common::Callback;

const SKIP: &str = r#"{"action_type":"skip"}"#;
const SOLVE: &str = r#"{"action_type":"solve_independently","subtask_response":"x"}"#;

fn setups<W: World>(task: W::Task, count: u64) -> Vec<W::Setup> {
    let streams = W::streams_or_default(Streams::Independent);
    let setup = |seed| {
        EpisodeSpec::<W> {
            task,
            seed,
            streams,
            rules: Rules::REFERENCE,
        }
        .setup()
    };
    (100_000..100_000 + count).map(setup).collect()
}

/// Returns a model that gives the same completion for every prompt.
fn always(text: &str) -> Callback<impl FnMut(&[String]) -> Vec<String>> {
    Callback(move |prompts: &[String]| vec![text.to_owned(); prompts.len()])
}

fn recorded() -> Vec<ReplayRow<TrustEnv>> {
    let mut asked = 0;
    let mut model = Callback(|prompts: &[String]| {
        let format_action = |n: usize| match n % 3 {
            0 => SOLVE.to_owned(),
            1 => format!("I say {SKIP}"),
            _ => "hm".to_owned(),
        };
        let first = asked;
        asked += 1;
        (first..first + prompts.len()).map(format_action).collect()
    });
    let rollout_config = RolloutConfig {
        reader: ParserStrictness::Repair,
        ..RolloutConfig::default()
    };
    let found = record_transcripts::<TrustEnv>(
        &setups::<TrustEnv>(Task::Task2, 3),
        rollout_config,
        "toy",
        &mut model,
        &|| (),
    );
    let found = found.unwrap();
    assert!(found.repaired > 5 && found.fallbacks > 5 && found.scores.len() == 3);
    found.rows
}

#[test]
fn transcripts_roundtrip_and_verify() {
    let rows = recorded();
    let text = to_lines(&rows).unwrap();
    assert!(text.contains("\"fallback\":true") && text.contains("\"repaired\":true"));
    let replay = Replay::<TrustEnv>::parse(&text);
    assert_eq!(replay.problem_count(), 0, "{:?}", replay.problems());
    let back: Vec<ReplayRow<TrustEnv>> = replay.iter().map(|row| row.row.clone()).collect();
    assert_eq!(back, rows);
    assert_eq!(to_lines(&back).unwrap(), text);
    let found = verify(&replay);
    assert!(found.fits() && found.texts == 0, "{found:?}");
    assert!(
        !serde_json::to_string(&found).unwrap().contains("texts"),
        "left out where all fit"
    );
}

#[test]
fn transcript_that_contradicts_action_is_reported() {
    type Change = fn(&mut ReplayRow<TrustEnv>);
    let changes: [(Change, &str); 6] = [
        (
            |row| row.transcript.as_mut().unwrap().completion = Some("hm".to_owned()),
            "completion is not an action",
        ),
        (
            |row| row.transcript.as_mut().unwrap().completion = Some(SKIP.to_owned()),
            "and solve_independently was done",
        ),
        (
            |row| row.transcript.as_mut().unwrap().prompt = Some("trust me".to_owned()),
            "prompt is not one",
        ),
        (
            |row| row.transcript.as_mut().unwrap().repaired = true,
            "repaired should be false",
        ),
        (
            |row| row.transcript.as_mut().unwrap().fallback = true,
            "no fallback",
        ),
        (
            |row| row.transcript.as_mut().unwrap().completion = Some(format!("so {SOLVE}")),
            "completion is not an action",
        ),
    ];
    for (change, what) in changes {
        let mut rows = recorded();
        change(&mut rows[0]);
        let found = verify(&Replay::from_rows(rows));
        assert!(!found.fits() && found.texts == 1, "{what}");
        let reasons = found
            .episodes
            .iter()
            .flat_map(|e| &e.findings)
            .map(|f| f.reason.clone());
        let reasons: Vec<String> = reasons.collect();
        assert!(
            reasons.len() == 1 && reasons[0].contains(what),
            "{what}: {reasons:?}"
        );
    }
}

#[test]
fn transcript_keys_are_optional_and_type_checked() {
    let row = |more: &str| {
        let text = r#"{"task_type":"task1","seed":0,"step":0,"action":{"action_type":"skip"},"scenario_id":"x","model_source":"y""#;
        serde_json::from_str::<ReplayRow<TrustEnv>>(&format!("{text}{more}}}"))
            .map_err(|e| e.to_string())
    };
    assert_eq!(row("").unwrap().transcript, None);
    assert_eq!(
        row(r#","prompt":null,"fallback":false"#)
            .unwrap()
            .transcript,
        None
    );
    assert!(
        row(r#","fallback":true"#)
            .unwrap()
            .transcript
            .unwrap()
            .fallback
    );
    assert!(
        row(r#","prompt":5"#)
            .unwrap_err()
            .contains("prompt is 5: it must be text")
    );
    assert!(
        row(r#","completion":[]"#)
            .unwrap_err()
            .contains("completion is a list")
    );
    assert!(
        row(r#","repaired":"no""#)
            .unwrap_err()
            .contains("repaired is the text")
    );
    assert!(
        row(r#","fallback":1"#)
            .unwrap_err()
            .contains("true or false")
    );
}

/// The other worlds record transcripts too; in polyguard an unreadable answer is a step of its own.
#[test]
fn polyguard_and_cluster_record_transcripts() {
    let generator = || always(r#"{"candidate_id":"cand_01","rationale":"egfr","confidence":0.5}"#);
    fn fits<W: Recordable>(rows: &[ReplayRow<W>]) {
        let replay = Replay::<W>::parse(&to_lines(rows).unwrap());
        let found = verify(&replay);
        assert!(replay.problem_count() == 0 && found.fits(), "{found:?}");
    }
    let polyguard = setups::<PolyguardEnv>(TaskSpec::ALL[8], 2);
    let rollout_config = RolloutConfig::default();
    let found = record_transcripts::<PolyguardEnv>(
        &polyguard,
        rollout_config,
        "toy",
        &mut generator(),
        &|| (),
    )
    .unwrap();
    fits(&found.rows);
    let found = record_transcripts::<PolyguardEnv>(
        &polyguard,
        rollout_config,
        "toy",
        &mut always("no"),
        &|| (),
    );
    let found = found.unwrap();
    assert_eq!(found.fallbacks, 0, "what cannot be read is an action there");
    fits(&found.rows);
    let cluster = setups::<ClusterEnv>(Task::Task1, 1);
    let tick = r#"{"action_type":"allocate"}"#;
    let found = record_transcripts::<ClusterEnv>(
        &cluster,
        rollout_config,
        "toy",
        &mut always(tick),
        &|| (),
    )
    .unwrap();
    fits(&found.rows);
}
