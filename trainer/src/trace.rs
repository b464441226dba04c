//! `sentinel trace`: an episode as rows that anyone can compare with another implementation.
//!
//! The keys are those of the golden traces: reset, step…, final.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::ArgGroup;
use sentinel_env::controller::Controller;
use sentinel_env::rng::Streams;
use sentinel_env::trust::{ActionMessage, Session, Setup, Task, TraceFinal, TraceReset, TraceStep};
use sentinel_policy::PolicyName;
use sentinel_policy::replay::World;
use serde::Serialize;

use crate::Error;
use crate::args::{parse_policy, parse_streams, parse_task, parse_world};
use crate::seeds::parse_seed;

/// Longest reason that repeats a part of a file, in characters.
const REASON_MAX: usize = 200;

/// The name in the rows when actions are given.
const ACTIONS: &str = "actions";

/// Which episode to trace.
#[derive(Clone, Debug, clap::Args)]
#[command(group = ArgGroup::new("who").required(true).args(["policy", "actions"]))]
pub struct TraceConfig {
    /// The world; this build plays trust
    #[arg(long, default_value = "trust", value_parser = parse_world)]
    pub world: World,
    /// task1, task2 or task3
    #[arg(long, value_parser = parse_task)]
    pub task: Task,
    /// The seed
    #[arg(long, value_parser = parse_seed, allow_hyphen_values = true)]
    pub seed: u64,
    /// Who plays: random, heuristic, oracle_lite, self_solve or bayes
    #[arg(long, value_parser = parse_policy)]
    pub policy: Option<PolicyName>,
    /// JSON lines of actions ({"action_type":…, "specialist_id":…, "subtask_response":…}) to play
    /// instead of a policy; - reads them from standard input
    #[arg(long, value_name = "FILE")]
    pub actions: Option<PathBuf>,
    /// How random streams are seeded: reference or independent
    #[arg(long, value_name = "MODE", default_value = "reference", value_parser = parse_streams)]
    pub streams: Streams,
}

/// Whether a trace reached the end of its episode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The final row was written.
    Yes,
    /// The actions ran out after this many.
    NoMoreActions(u16),
}

#[derive(Serialize)]
struct Row<'a, T> {
    task: Task,
    seed: u64,
    policy: &'a str,
    #[serde(flatten)]
    row: &'a T,
}

/// Writes rows of one episode.
struct Tracer<'a> {
    task: Task,
    seed: u64,
    policy: &'static str,
    out: &'a mut dyn Write,
}

impl Tracer<'_> {
    fn row<T: Serialize>(&mut self, row: &T) -> Result<(), Error> {
        let row = Row {
            task: self.task,
            seed: self.seed,
            policy: self.policy,
            row,
        };
        let text = serde_json::to_string(&row)?;
        writeln!(self.out, "{text}").map_err(Error::Output)
    }

    /// The rows of the step just taken: the step, and the end if it was the last.
    fn step(&mut self, session: &Session, random_next: Option<f64>) -> Result<(), Error> {
        if let Some(step) = session.last_step() {
            self.row(&TraceStep::of(session, step))?;
        }
        match TraceFinal::of(session, random_next) {
            Some(end) => self.row(&end),
            None => Ok(()),
        }
    }
}

fn start(config: &TraceConfig) -> Session {
    Session::new(&Setup::new(config.task, config.seed, config.streams))
}

/// Traces an episode that `policy` plays.
///
/// # Errors
/// If `out` takes no more.
pub fn trace_policy(
    config: &TraceConfig,
    policy: PolicyName,
    out: &mut dyn Write,
) -> Result<Ended, Error> {
    let mut session = start(config);
    let mut player = policy.player(config.seed, config.streams);
    // The reference seeds a stream for every policy, also for those that never draw.
    let unused = PolicyName::Random
        .player(config.seed, config.streams)
        .peek_random();
    let (task, seed, policy) = (config.task, config.seed, policy.name());
    let mut tracer = Tracer {
        task,
        seed,
        policy,
        out,
    };
    tracer.row(&TraceReset::of(&session))?;
    while let Some(action) = player.act(session.episode()) {
        if session.act(action).is_err() {
            break;
        }
        tracer.step(&session, player.peek_random().or(unused))?;
    }
    Ok(Ended::Yes)
}

/// Traces an episode of given actions, one JSON object a line. `name` is what errors call the file.
///
/// # Errors
/// At the first line that is no action, also at one that comes after the end; the rows before it
/// are written then.
pub fn trace_actions(
    config: &TraceConfig,
    name: &str,
    actions: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Ended, Error> {
    let mut session = start(config);
    let (task, seed) = (config.task, config.seed);
    let mut tracer = Tracer {
        task,
        seed,
        policy: ACTIONS,
        out,
    };
    tracer.row(&TraceReset::of(&session))?;
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        let failed = |reason: String| Error::Action {
            file: name.to_owned(),
            line,
            // What is wrong may be as long as the line.
            reason: reason.chars().take(REASON_MAX).collect(),
        };
        let read = actions
            .read_until(b'\n', &mut bytes)
            .map_err(|e| failed(e.to_string()))?;
        if read == 0 {
            break;
        }
        let message = match read_action(&bytes, line) {
            Ok(Some(message)) => message,
            Ok(None) => continue,
            Err(reason) => return Err(failed(reason)),
        };
        let stepped = session.step(&message, &mut Controller::new());
        stepped.map_err(|error| failed(error.to_string()))?;
        tracer.step(&session, None)?;
    }
    let taken = session.episode().tally().actions;
    Ok(if session.episode().observation().done() {
        Ended::Yes
    } else {
        Ended::NoMoreActions(taken)
    })
}

/// The action on a line; `None` for a blank line.
fn read_action(bytes: &[u8], line: usize) -> Result<Option<ActionMessage>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    let text = if line == 1 {
        text.strip_prefix('\u{feff}').unwrap_or(text)
    } else {
        text
    };
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    if !text.starts_with('{') {
        return Err("not a JSON object: write {\"action_type\": …} on each line".to_owned());
    }
    let message = serde_json::from_str(text).map_err(|error| {
        let said = error.to_string();
        let what = said.split(" at line ").next().unwrap_or(&said);
        format!("{what} (column {})", error.column())
    })?;
    Ok(Some(message))
}
