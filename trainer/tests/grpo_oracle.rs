//! Compares losses and advantages with values computed by TRL 1.16.0, and gradients with finite
//! differences of the loss. `SENTINEL_TESTDATA` names another folder of recorded data.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    reason = "a test stops at the first thing that is not there, and says what it leaves out"
)]

#[path = "grpo_oracle/slopes.rs"]
mod slopes;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use sentinel_rl::Metrics;
use sentinel_rl::advantage::{AdvantageConfig, Rewards, advantages};
use sentinel_rl::config::{LossConfig, LossType};
use sentinel_rl::importance_sampling::{
    ImportanceSamplingConfig, ImportanceSamplingMode, completion_mask, importance_sampling_ratio,
};
use sentinel_rl::loss::{Advantages, LossInput, grpo_loss};
use serde::Deserialize;

type Table<T> = Vec<Vec<T>>;

#[derive(Deserialize)]
struct Oracle {
    loss_cases: Vec<LossCase>,
    score_cases: Vec<ScoreCase>,
}

#[derive(Deserialize)]
struct LossCase {
    name: String,
    config: LossConfig,
    inputs: LossInputs,
    expected: LossExpected,
}

#[derive(Deserialize)]
struct LossInputs {
    logps: Table<f64>,
    old_logps: Option<Table<f64>>,
    ref_logps: Option<Table<f64>>,
    entropies: Option<Table<f64>>,
    completion_mask: Table<u8>,
    tool_mask: Option<Table<u8>>,
    advantages: Vec<f64>,
    num_items_in_batch: Option<f64>,
    importance_sampling_ratio: Option<Table<f64>>,
    sampling_logps: Option<Table<Option<f64>>>,
}

#[derive(Deserialize)]
struct LossExpected {
    loss: f64,
    grad_logps: Table<f64>,
    grad_entropies: Option<Table<f64>>,
    metrics: BTreeMap<String, Option<f64>>,
}

#[derive(Deserialize)]
struct ScoreCase {
    name: String,
    config: ScoreConfig,
    inputs: ScoreInputs,
    expected: ScoreExpected,
}

#[derive(Deserialize)]
struct ScoreConfig {
    mask_truncated_completions: bool,
    vllm_importance_sampling_mode: Option<ImportanceSamplingMode>,
    vllm_importance_sampling_clip_max: Option<f64>,
    vllm_importance_sampling_clip_min: Option<f64>,
    #[serde(flatten)]
    rest: serde_json::Map<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct ScoreInputs {
    rewards_per_func: Table<Option<f64>>,
    completion_lengths: Vec<usize>,
    truncated_rows: Vec<usize>,
    tool_mask: Option<Table<u8>>,
    old_logps: Option<Table<f64>>,
    sampling_logps: Option<Table<Option<f64>>>,
}

#[derive(Deserialize)]
struct ScoreExpected {
    advantages: Vec<f64>,
    completion_mask: Table<u8>,
    num_items_in_batch: f64,
    importance_sampling_ratio: Option<Table<f64>>,
    metrics: BTreeMap<String, Option<f64>>,
}

/// Returns the recorded cases; `None` if `SENTINEL_TESTDATA` names a folder without them.
fn oracle() -> Option<Oracle> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let other = std::env::var_os("SENTINEL_TESTDATA").filter(|folder| !folder.is_empty());
    let testdata = other.as_ref().map_or("testdata".into(), |f| root.join(f));
    let folder = root.join(testdata).join("oracle/grpo");
    if other.is_some() && !folder.is_dir() {
        eprintln!("{} is not there: nothing is compared", folder.display());
        return None;
    }
    let text = std::fs::read_to_string(folder.join("cases.json")).unwrap_or_else(|_| {
        let file = folder.join("cases.json.gz");
        let bytes = std::fs::read(&file).unwrap_or_else(|e| panic!("{}: {e}", file.display()));
        let mut text = String::new();
        let mut decoder = flate2::read::MultiGzDecoder::new(bytes.as_slice());
        decoder.read_to_string(&mut text).unwrap();
        text
    });
    let oracle: Oracle = serde_json::from_str(&text).unwrap();
    if other.is_none() {
        let counts = (oracle.loss_cases.len(), oracle.score_cases.len());
        assert_eq!(counts, (114, 31), "recorded cases are missing");
    }
    Some(oracle)
}

fn flat<T: Copy>(table: &Table<T>) -> Vec<T> {
    table.concat()
}

fn flags(table: &Table<u8>) -> Vec<bool> {
    table.iter().flatten().map(|on| *on != 0).collect()
}

/// Combines two masks with a logical and, in place.
fn both(mask: &mut [bool], other: &[bool]) {
    assert_eq!(mask.len(), other.len());
    for (on, other) in mask.iter_mut().zip(other) {
        *on &= *other;
    }
}

/// Joins rows of any length into one table with `tokens` columns.
fn padded<T: Copy>(table: &Table<T>, tokens: usize, pad: T) -> Vec<T> {
    let row = |row: &Vec<T>| {
        let mut row = row.clone();
        row.resize(tokens, pad);
        row
    };
    table.iter().flat_map(row).collect()
}

/// Returns `true` if both values are equal within `tolerance`, absolute below 1 and relative above.
fn near(got: f64, expected: f64, tolerance: f64) -> bool {
    (got.is_nan() && expected.is_nan())
        || (got - expected).abs() <= tolerance * expected.abs().max(1.0)
}

/// The failures of a test, and the largest differences by name of the compared value.
#[derive(Default)]
struct Report {
    failures: Vec<String>,
    greatest: BTreeMap<String, f64>,
}

impl Report {
    fn compare(&mut self, case: &str, what: &str, got: &[f64], expected: &[f64], tolerance: f64) {
        if got.len() != expected.len() {
            let lengths = (got.len(), expected.len());
            self.failures
                .push(format!("{case}: {what} has lengths {lengths:?}"));
            return;
        }
        let greatest = self.greatest.entry(what.to_owned()).or_default();
        let mut first = None;
        for (at, (got, expected)) in got.iter().zip(expected).enumerate() {
            *greatest = greatest.max((got - expected).abs());
            if first.is_none() && !near(*got, *expected, tolerance) {
                first = Some(format!("{case}: {what}[{at}] is {got}, not {expected}"));
            }
        }
        self.failures.extend(first);
    }

    fn compare_metrics(
        &mut self,
        case: &str,
        got: &Metrics,
        expected: &BTreeMap<String, Option<f64>>,
    ) {
        let names = (
            got.keys().collect::<Vec<_>>(),
            expected.keys().collect::<Vec<_>>(),
        );
        if names.0 != names.1 {
            self.failures.push(format!("{case}: metrics {names:?}"));
            return;
        }
        for (name, expected) in expected {
            let expected = expected.unwrap_or(f64::NAN);
            let what = format!("metric {name}");
            self.compare(case, &what, &[got[name]], &[expected], 1e-6);
        }
    }

    fn finish(self, cases: usize) {
        eprintln!("{cases} cases; greatest distances {:#?}", self.greatest);
        let count = self.failures.len();
        assert!(count == 0, "{count} differ:\n{}", self.failures.join("\n"));
    }
}

#[test]
fn grpo_losses_and_gradients_match_trl() {
    let Some(oracle) = oracle() else { return };
    let mut report = Report::default();
    for case in &oracle.loss_cases {
        let (name, inputs, expected) = (&case.name, &case.inputs, &case.expected);
        let tokens = inputs.logps[0].len();
        let old_logps = inputs.old_logps.as_ref().map(flat);
        let ref_logps = inputs.ref_logps.as_ref().map(flat);
        let entropies = inputs.entropies.as_ref().map(flat);
        // TRL multiplies the two.
        let mut mask = flags(&inputs.completion_mask);
        if let Some(tools) = &inputs.tool_mask {
            both(&mut mask, &flags(tools));
        }
        let ratio = inputs.importance_sampling_ratio.as_ref().map(flat);
        let sampled = inputs.sampling_logps.as_ref().map(|table| {
            let number = |value: &Option<f64>| value.unwrap_or(f64::NAN);
            table.iter().flatten().map(number).collect::<Vec<f64>>()
        });
        let input = LossInput {
            tokens,
            logps: &flat(&inputs.logps),
            old_logps: old_logps.as_deref(),
            ref_logps: ref_logps.as_deref(),
            entropies: entropies.as_deref(),
            completion_mask: &mask,
            advantages: Advantages::PerSequence(&inputs.advantages),
            num_items_in_batch: inputs.num_items_in_batch,
            importance_sampling_ratio: ratio.as_deref(),
            sampling_logps: sampled.as_deref(),
        };
        let output = grpo_loss(&case.config, &input).unwrap();
        // TRL keeps SAPO's temperatures in single precision.
        let sapo = case.config.loss_type == LossType::Sapo;
        let (kind, tolerance) = if sapo { ("sapo ", 1e-6) } else { ("", 1e-9) };
        let what = |what: &str| format!("{kind}{what}");
        let (loss, recorded) = ([output.loss], [expected.loss]);
        report.compare(name, &what("loss"), &loss, &recorded, tolerance);
        let recorded = flat(&expected.grad_logps);
        let got = &output.grad_logps;
        report.compare(name, &what("grad_logps"), got, &recorded, tolerance);
        let recorded = expected.grad_entropies.as_ref().map(flat);
        let (got, recorded) = (
            output.grad_entropies.unwrap_or_default(),
            recorded.unwrap_or_default(),
        );
        report.compare(name, &what("grad_entropies"), &got, &recorded, tolerance);
        report.compare_metrics(name, &output.metrics, &expected.metrics);
    }
    report.finish(oracle.loss_cases.len());
}

/// Computes the loss mask of a case, and compares it with the recorded one.
fn loss_mask(case: &ScoreCase, report: &mut Report) -> Vec<bool> {
    let (inputs, expected) = (&case.inputs, &case.expected);
    let tokens = expected.completion_mask[0].len();
    let rows = inputs.completion_lengths.len();
    let mask_truncated = case.config.mask_truncated_completions;
    let mask = |row: usize| {
        let truncated = inputs.truncated_rows.contains(&row);
        let mut mask = completion_mask(inputs.completion_lengths[row], truncated, mask_truncated);
        mask.resize(tokens, false);
        mask
    };
    let mut mask: Vec<bool> = (0..rows).flat_map(mask).collect();
    let as_numbers =
        |flags: &[bool]| -> Vec<f64> { flags.iter().map(|on| f64::from(u8::from(*on))).collect() };
    let recorded = as_numbers(&flags(&expected.completion_mask));
    let got = as_numbers(&mask);
    report.compare(&case.name, "completion_mask", &got, &recorded, 0.0);
    if let Some(tools) = &inputs.tool_mask {
        let tools = padded(tools, tokens, 1);
        both(
            &mut mask,
            &tools.iter().map(|on| *on != 0).collect::<Vec<_>>(),
        );
    }
    let items = [mask.iter().filter(|on| **on).count() as f64];
    let recorded = [expected.num_items_in_batch];
    report.compare(&case.name, "num_items_in_batch", &items, &recorded, 0.0);
    mask
}

#[test]
fn advantages_masks_and_ratios_match_trl() {
    let Some(oracle) = oracle() else { return };
    let mut report = Report::default();
    for case in &oracle.score_cases {
        let (name, inputs, expected) = (&case.name, &case.inputs, &case.expected);
        let config: AdvantageConfig =
            serde_json::from_value(case.config.rest.clone().into()).unwrap();
        let names = ["reward_0", "reward_1", "reward_2"];
        let rewards = Rewards {
            names: &names[..inputs.rewards_per_func[0].len()],
            values: &flat(&inputs.rewards_per_func),
        };
        let output = advantages(&config, rewards).unwrap();
        let got = &output.advantages;
        report.compare(name, "advantages", got, &expected.advantages, 1e-5);

        let tokens = expected.completion_mask[0].len();
        let mask = loss_mask(case, &mut report);
        let mut metrics = output.metrics;
        let mut ratios = Vec::new();
        if let Some(mode) = case.config.vllm_importance_sampling_mode {
            let config = ImportanceSamplingConfig {
                mode,
                clip_min: case.config.vllm_importance_sampling_clip_min,
                clip_max: case.config.vllm_importance_sampling_clip_max,
            };
            let old = flat(inputs.old_logps.as_ref().unwrap());
            let sampled = padded(inputs.sampling_logps.as_ref().unwrap(), tokens, Some(0.0));
            let sampled: Vec<f64> = sampled.iter().map(|v| v.unwrap_or(f64::NAN)).collect();
            let output = importance_sampling_ratio(config, tokens, &old, &sampled, &mask);
            let output = output.unwrap();
            metrics.extend(output.metrics);
            ratios = output.ratios;
        }
        let recorded = expected.importance_sampling_ratio.as_ref().map(flat);
        let recorded = recorded.unwrap_or_default();
        report.compare(name, "importance_sampling_ratio", &ratios, &recorded, 1e-5);
        report.compare_metrics(name, &metrics, &expected.metrics);
    }
    report.finish(oracle.score_cases.len());
}
