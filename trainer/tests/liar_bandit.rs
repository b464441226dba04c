//! The example of an environment outside this repository trains, and its replay is verified.

#[path = "../examples/liar_bandit.rs"]
#[allow(dead_code, reason = "its `main` is for the command line")]
mod liar_bandit;

#[test]
fn an_environment_of_ones_own_learns_to_see_through_liars() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let scores = liar_bandit::run(&folder.path().join("run"), 30);
    let [trained, gullible] = scores.expect("a run of the example");
    assert!(trained > gullible + 0.15, "{trained} against {gullible}");
}
