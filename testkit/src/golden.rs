//! Checks one recorded file, row by row.

use serde_json::Value;

use crate::Outcome;
use crate::cluster::ClusterEpisodes;
use crate::cluster_shapes::ClusterShapes;
use crate::episodes::Episodes;
use crate::{primitives, shapes};

/// Replays the content of one golden file (JSON lines) and compares every field of every row. Rows
/// of worlds that are not implemented are counted as skipped.
#[must_use]
pub fn check_golden(text: &str) -> Outcome {
    let mut outcome = Outcome::default();
    let mut episodes = Episodes::default();
    let mut cluster = ClusterEpisodes::default();
    let mut cluster_shapes = ClusterShapes::default();
    let mut world = World::Trust;
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
        world = world.after(kind, &row);
        let found = match (world, kind) {
            (World::Other, _) => None,
            (_, "rng" | "round" | "scenario") => Some(primitives::check(kind, &row)),
            (World::Trust, "reset" | "step" | "final" | "controller") => episodes.check(kind, &row),
            (World::Cluster, "reset" | "step" | "final" | "controller") => {
                Some(cluster.check(kind, &row))
            }
            (World::Cluster, "") if row.get("n").is_some() => Some(cluster_shapes.check(&row)),
            (_, "") if row.get("n").is_some() => Some(shapes.check(&row)),
            _ => Some(vec![format!("unknown row kind {kind:?}")]),
        };
        match found {
            Some(differences) => outcome.row(&format!("{place} {}", name(&row)), &differences),
            None => outcome.skipped += 1,
        }
    }
    outcome
}

/// The world that a row belongs to.
#[derive(Clone, Copy)]
enum World {
    Trust,
    Cluster,
    Other,
}

impl World {
    /// Returns the world of the next row. Rows of a mixed file name it; in other files the form of
    /// the reset row shows it.
    fn after(self, kind: &str, row: &Value) -> Self {
        match row["env"].as_str() {
            Some("trust") => Self::Trust,
            Some("cluster") => Self::Cluster,
            Some(_) => Self::Other,
            None if kind == "reset" && row.get("scenario_id").is_some() => Self::Trust,
            None if kind == "reset" && row["jobs"].is_array() => Self::Cluster,
            None if kind == "reset" => Self::Other,
            None => self,
        }
    }
}

/// Returns a label of a row from the keys that identify it, as far as it has them.
fn name(row: &Value) -> String {
    [
        "task", "seed", "policy", "kind", "episode", "step", "n", "id",
    ]
    .iter()
    .filter_map(|key| row.get(key).map(|value| format!("{key} {value}")))
    .collect::<Vec<_>>()
    .join(" ")
}
