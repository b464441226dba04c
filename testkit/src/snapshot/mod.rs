//! Episodes of the polyguard world as plain text for human review.
//!
//! There is one episode per case, under the hardened rules, played by `rules_only`. The `snapshots`
//! binary records the files, and a test compares them, so that a change of the world shows its
//! effect on patients and not only as different digests.

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
mod chart;
mod hidden;
mod layout;
mod steps;

use std::path::{Path, PathBuf};

use sentinel_env::polyguard::{
    Episode, PolyguardEnv, Rules, Session, Setup, Step, TaskSpec, TraceReset, text,
};
use sentinel_policy::policy::Player;
use sentinel_policy::polyguard::RulesOnly;

use self::layout::{heading, line, number};

/// Seed of every episode: the published default.
const SEED: u64 = 42;
/// Command that records the files.
pub const COMMAND: &str = "cargo run -p sentinel-testkit --bin snapshots";

/// Returns the folder of the files.
#[must_use]
pub fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/snapshots/polyguard")
}

/// Returns the file name of a case.
#[must_use]
pub fn file_name(case: TaskSpec) -> String {
    format!("{}.txt", case.name())
}

/// Returns the episode of a case as text.
#[must_use]
pub fn render(case: TaskSpec) -> String {
    let setup = Setup::new(case, SEED).with_rules(Rules::HARDENED);
    let mut session = Session::new(&setup);
    let mut player = Player::<PolyguardEnv>::Public(Box::new(RulesOnly));
    let reset = TraceReset::new(&session);
    let mut out = head(&setup, &reset);
    chart::start(&mut out, session.episode());
    hidden::truth(&mut out, session.episode(), &reset);
    while let Some(action) = player.act(session.episode()) {
        let before = session.episode().clone();
        let Ok(step) = session.act(action) else { break };
        let issues = &reset.truth.issues;
        steps::step(&mut out, &before, session.episode(), &step.info, issues);
    }
    end(&mut out, session.episode(), session.steps());
    out
}

fn head(setup: &Setup, reset: &TraceReset) -> String {
    let case = setup.task;
    let mut out = format!("{}\n{}\n\n", case.name(), text::NOTICE);
    line(
        &mut out,
        &format!(
            "{} formulary, split {}, rules {}, seed {}, played by rules_only",
            case.formulary().name(),
            case.split().name(),
            setup.rules,
            setup.seed
        ),
    );
    let ids = format!("scenario {}, {}", reset.scenario_id, reset.patient_id);
    line(&mut out, &ids);
    out
}

fn end(out: &mut String, episode: &Episode, steps: &[Step]) {
    let (o, h) = (episode.observation(), episode.hidden());
    heading(out, "End");
    let how = o.end.map_or("still running", text::describe_end);
    let reason = o.end.map_or("none", |end| end.name());
    line(out, &format!("{how} ({reason})"));
    let (resolved, all) = episode.count_resolved();
    let returned: f64 = steps.iter().map(|step| step.total).sum();
    line(
        out,
        &format!(
            "score {}; {} of {} steps, {resolved} of {all} issues; returned {}, counted {}, \
             outcome {}",
            number(episode.score()),
            o.step_count,
            o.budget,
            number(returned),
            number(h.tally().counted),
            number(episode.outcome_value()),
        ),
    );
    line(
        out,
        &format!(
            "since the start: risk {} -> {}, burden {} -> {}, stability {} -> {}",
            number(h.start.risk),
            number(h.risk),
            number(h.start.burden),
            number(h.burden),
            number(h.start.stability),
            number(h.stability),
        ),
    );
}

/// Describes the first line in which a text differs from the recorded one, and the command that
/// records it; `None` if they are equal.
#[must_use]
pub fn difference(name: &str, recorded: &str, now: &str) -> Option<String> {
    if recorded == now {
        return None;
    }
    let (mut old, mut new) = (recorded.split('\n'), now.split('\n'));
    for number in 1.. {
        let (was, is) = (old.next(), new.next());
        if was != is {
            let show = |line: Option<&str>| line.map_or("(no more)".to_owned(), str::to_owned);
            return Some(format!(
                "{name}, line {number}:\n  recorded: {}\n  now:      {}\nIf this is meant: {COMMAND}",
                show(was),
                show(is)
            ));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn difference_names_first_line_and_command() {
        assert_eq!(difference("a.txt", "one\ntwo\n", "one\ntwo\n"), None);
        let changed = difference("a.txt", "one\ntwo\nthree\n", "one\n2\n3\n").expect("differs");
        assert!(changed.starts_with("a.txt, line 2:"), "{changed}");
        for part in ["recorded: two", "now:      2", COMMAND] {
            assert!(changed.contains(part), "{changed}");
        }
        let longer = difference("a.txt", "one", "one\nmore").expect("differs");
        assert!(longer.contains("line 2") && longer.contains("recorded: (no more)"));
        assert!(
            difference("a.txt", "one\n", "one").is_some(),
            "also a last newline"
        );
    }
}
