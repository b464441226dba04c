//! Readable names for the players, tasks and rows of reports: those of the page's menus.

use sentinel_env::cluster::ClusterEnv;
use sentinel_env::polyguard::{PolyguardEnv, TaskSpec};
use sentinel_env::trust::{Behavior, TrustEnv};
use sentinel_env::{Named as _, World as _};
use sentinel_page_protocol::readable_task;

use crate::format::capitalized;
use crate::polyguard::task_label;
use crate::trust::short;
use crate::world::{PageWorld, TRAINED_LABEL};

/// Name of the trained policy in evaluations.
pub(super) const TRAINED_PLAYER: &str = "trained";
/// Folders of the trained policies, which some charts name instead.
const FOLDERS: &str = "replays/";

/// Returns the readable name of a player of a world.
pub(super) fn player_name(world: &str, policy: &str) -> String {
    known_player(world, policy).unwrap_or_else(|| capitalized(&policy.replace('_', " ")))
}

fn known_player(world: &str, policy: &str) -> Option<String> {
    if policy == TRAINED_PLAYER {
        return Some(TRAINED_LABEL.to_owned());
    }
    let label = match world {
        TrustEnv::NAME => label::<TrustEnv>(policy),
        ClusterEnv::NAME => label::<ClusterEnv>(policy),
        PolyguardEnv::NAME => label::<PolyguardEnv>(policy),
        _ => None,
    };
    label.map(str::to_owned)
}

fn label<W: PageWorld>(policy: &str) -> Option<&'static str> {
    W::PolicyName::parse(policy).map(W::policy_label)
}

/// Returns the readable name of a task of a world.
pub(super) fn task_name(world: &str, task: &str) -> String {
    let own = (world == PolyguardEnv::NAME).then(|| TaskSpec::parse(task));
    match own.flatten() {
        Some(task) => task_label(task),
        None => readable_task(task),
    }
}

/// Returns the readable name of a run whose policy lacked an input.
pub(super) fn ablation_name(row: &str) -> String {
    match row {
        "full" => "All inputs".to_owned(),
        row => match row.strip_prefix("no_") {
            Some(without) => format!("Without {}", without.replace('_', " ")),
            None => capitalized(&row.replace('_', " ")),
        },
    }
}

/// Returns the readable name of a row of the stack's ablation.
pub(super) fn stack_name(row: &str) -> String {
    let stack = label::<PolyguardEnv>("stack").unwrap_or_default();
    let known = match row {
        "bandit_only" => "Bandit alone",
        "llm_only" => "Language model alone",
        "llm_bandit" => "Language model and bandit",
        "stack_sequential_pipeline" => stack,
        "stack_supervisor_routed" => label::<PolyguardEnv>("stack_routed").unwrap_or_default(),
        "stack_replan_on_veto" => label::<PolyguardEnv>("stack_replan").unwrap_or_default(),
        "stack_lightweight_debate" => label::<PolyguardEnv>("stack_debate").unwrap_or_default(),
        _ => "",
    };
    match (known, row.strip_prefix("stack_without_")) {
        ("", Some(part)) => format!("{stack}, without {}", part.replace('_', " ")),
        ("", None) => capitalized(&row.replace('_', " ")),
        _ => known.to_owned(),
    }
}

/// Returns the name of a line, bar or group of a chart as the page's menus have it. Charts name players
/// as `sentinel report` does or did, such as `Oracle-lite` or `rules only`, and in differences, such as
/// `Trained − Random: +0.176 ± 0.022`; other names stay as they are.
pub(super) fn series_name(name: &str) -> String {
    if let Some((pair, value)) = name.split_once(": ") {
        let both: Vec<String> = pair.split(" − ").map(player_in_chart).collect();
        return format!("{}: {value}", both.join(" − "));
    }
    if let Some((slot, behavior)) = name.split_once(" (") {
        let behavior = behavior.strip_suffix(')').unwrap_or_default();
        let mut all = Behavior::ALL.into_iter();
        let behavior = all.find(|known| known.name().replace('_', "-") == behavior);
        return behavior.map_or_else(
            || name.to_owned(),
            |behavior| format!("{slot} ({})", short(behavior)),
        );
    }
    player_in_chart(name)
}

/// Returns the readable name of a player in a chart. A chart does not name its world; where two worlds
/// have the same player, they share its label.
fn player_in_chart(name: &str) -> String {
    if name.starts_with(FOLDERS) || name == "Trained policy" {
        return TRAINED_LABEL.to_owned();
    }
    let machine = name.to_lowercase().replace([' ', '-'], "_");
    let worlds = [TrustEnv::NAME, ClusterEnv::NAME, PolyguardEnv::NAME];
    let found = worlds
        .iter()
        .find_map(|world| known_player(world, &machine));
    found.unwrap_or_else(|| readable_task(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_name_players_and_tasks_as_the_menus_do() {
        let heuristic = "Heuristic with hidden state";
        assert_eq!(player_name("trust", "oracle_lite"), heuristic);
        assert_eq!(player_name("cluster", "oracle_lite"), heuristic);
        assert_eq!(player_name("cluster", "trust"), "Periodic checks");
        assert_eq!(player_name("polyguard", "trained"), TRAINED_LABEL);
        assert_eq!(player_name("polyguard", "no_such_player"), "No such player");
        let hard = task_name("polyguard", "DEPRESCRIBING-hard");
        assert_eq!(
            (hard.as_str(), task_name("trust", "task2").as_str()),
            ("Deprescribing, hard", "Task 2")
        );
        for task in TaskSpec::ALL {
            // What the shell shows for a world that is not loaded.
            assert_eq!(
                task_name("polyguard", task.name()),
                readable_task(task.name())
            );
        }
        assert_eq!(
            stack_name("stack_replan_on_veto"),
            "Nine agents, replanning"
        );
        assert_eq!(
            stack_name("stack_without_graph"),
            "Nine agents, without graph"
        );
        assert_eq!(ablation_name("no_history"), "Without history");
    }

    #[test]
    fn charts_name_players_as_the_menus_do() {
        for (name, shown) in [
            ("Oracle-lite", "Heuristic with hidden state"),
            ("bayes", "Bayes look-ahead"),
            ("rules only", "Rules only"),
            ("replays/polyguard-grpo", TRAINED_LABEL),
            ("Trained policy", TRAINED_LABEL),
            ("S4 (accurate-slow)", "S4 (slow)"),
            ("action loop", "action loop"),
            ("task2", "Task 2"),
        ] {
            assert_eq!(series_name(name), shown);
        }
        assert_eq!(
            series_name("Trained − Random: +0.176 ± 0.022"),
            format!("{TRAINED_LABEL} − Random: +0.176 ± 0.022")
        );
    }
}
