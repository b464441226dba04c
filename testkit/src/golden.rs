//! One recorded file, row by row.

use serde_json::Value;

use crate::Outcome;
use crate::episodes::Episodes;
use crate::{primitives, shapes};

/// Replays the content of one golden file (JSON lines) and compares every field of every row.
/// Rows of worlds that do not exist here yet are counted as skipped.
#[must_use]
pub fn check_golden(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut episodes = Episodes::default();
    let mut shapes = shapes::Shapes::default();
    for (index, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let place = format!("line {}", index + 1);
        let row: Value = match serde_json::from_str(line) {
            Ok(row) => row,
            Err(error) => {
                outcome.row(&place, &[format!("not JSON: {error}")]);
                continue;
            }
        };
        let kind = row["kind"].as_str().unwrap_or_default();
        let other_world = row["env"].as_str().is_some_and(|env| env != "trust");
        let found = match kind {
            _ if other_world => None,
            "rng" | "round" | "scenario" => Some(primitives::check(kind, &row)),
            "reset" | "step" | "final" | "controller" => episodes.check(kind, &row),
            "" if row.get("n").is_some() => Some(shapes.check(&row)),
            _ => Some(vec![format!("unknown row kind {kind:?}")]),
        };
        match found {
            Some(differences) => outcome.row(&format!("{place} {}", name(&row)), &differences),
            None => outcome.skipped += 1,
        }
    }
    outcome
}

/// Task, seed, policy and step of a row, as far as it has them.
fn name(row: &Value) -> String {
    [
        "task", "seed", "policy", "kind", "episode", "step", "n", "id",
    ]
    .iter()
    .filter_map(|key| row.get(key).map(|value| format!("{key} {value}")))
    .collect::<Vec<_>>()
    .join(" ")
}
