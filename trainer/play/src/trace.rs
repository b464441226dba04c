//! `sentinel trace`: an episode as rows that can be compared with another implementation.
//!
//! The keys are those of the golden traces: reset, step…, final.

use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::ArgGroup;
use sentinel_base::task_selection::TasksError;
use sentinel_base::{EpisodeArgs, Error, arg_parsers};
use sentinel_env::message::parse_message;
use sentinel_env::rng::{PyRandom, Streams};
use sentinel_env::truncate::truncate_chars;
use sentinel_env::{EpisodeSpec, Named, Protocol, Session, TaskName as _};
use sentinel_policy::Scripted;
use sentinel_policy::policy::POLICY_STREAM;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::eval::Evaluated;

/// A world whose episodes can be traced row by row (spec trust §11.6, spec cluster §10.6).
pub trait Traced: Evaluated + Protocol {
    /// Returns the first row.
    fn reset_row(session: &Session<Self>) -> impl Serialize;
    /// Returns the row of the step just taken.
    fn step_row(session: &Session<Self>, step: &Self::Info) -> impl Serialize;
    /// Returns the last row; `None` while the episode runs. `random_next` is the next draw of the
    /// policy's own stream, if it has one.
    fn final_row(session: &Session<Self>, random_next: Option<f64>) -> Option<impl Serialize>;
}

/// The maximum length of an error's reason, in characters, since it may quote a part of a file.
const REASON_MAX: usize = 200;

/// The value of `policy` in the rows when actions are given.
const ACTIONS: &str = "actions";

/// The configuration of `sentinel trace`.
#[derive(Clone, Debug, clap::Args)]
#[command(
    group = ArgGroup::new("who").required(true).args(["policy", "actions"]),
    mut_arg("seeds", |arg| arg.required(true).alias("seed").value_name("SEED").help("The seed of the episode")),
    mut_arg("episodes", |arg| arg.hide(true)),
    mut_arg("task", |arg| arg.value_name("TASK").help("A task of the world"))
)]
pub struct TraceConfig {
    /// The policy of the world that plays
    #[arg(long)]
    pub policy: Option<String>,
    /// JSON lines of actions to play instead of a policy, in the form of the world, such as
    /// {"action_type":"skip"} in trust; - reads them from standard input
    #[arg(long, value_name = "FILE")]
    pub actions: Option<PathBuf>,
    #[command(flatten)]
    #[allow(missing_docs)]
    pub episode: EpisodeArgs,
}

impl TraceConfig {
    /// Returns the seed of the episode.
    ///
    /// # Errors
    /// Returns an error if there are several seeds, or none.
    fn seed(&self) -> Result<u64, Error> {
        let one = self.episode.seeds.filter(|seeds| seeds.count() == 1);
        one.map(|seeds| seeds.range().start).ok_or_else(|| {
            let reason = "a trace is of one episode: name one seed, as in --seeds 42";
            Error::argument("--seeds", reason.to_owned())
        })
    }
}

/// The way in which a trace ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// The final row was written.
    Yes,
    /// The actions ran out after this many steps.
    NoMoreActions(usize),
}

#[derive(Serialize)]
struct TraceRow<'a, T> {
    task: &'static str,
    seed: u64,
    policy: &'a str,
    #[serde(flatten)]
    row: &'a T,
}

/// A writer of the rows of one episode.
struct Tracer<'a> {
    task: &'static str,
    seed: u64,
    policy: &'static str,
    out: &'a mut dyn Write,
}

impl Tracer<'_> {
    fn row<T: Serialize>(&mut self, row: &T) -> Result<(), Error> {
        let row = TraceRow {
            task: self.task,
            seed: self.seed,
            policy: self.policy,
            row,
        };
        let text = serde_json::to_string(&row)?;
        writeln!(self.out, "{text}").map_err(Error::Output)
    }

    /// Writes the row of the step just taken, and the final row if it was the last.
    fn step<W: Traced>(
        &mut self,
        session: &Session<W>,
        random_next: Option<f64>,
    ) -> Result<(), Error> {
        if let Some(step) = session.last_step() {
            self.row(&W::step_row(session, step))?;
        }
        match W::final_row(session, random_next) {
            Some(end) => self.row(&end),
            None => Ok(()),
        }
    }
}

fn start<W: Traced>(config: &TraceConfig) -> Result<(W::Setup, Session<W>), Error> {
    let rules = config.episode.rules::<W>()?;
    let streams = config.episode.streams_or::<W>(Streams::Reference)?;
    let tasks = config.episode.tasks_or::<W>(None)?;
    let &[task] = &tasks[..] else {
        let count = tasks.len();
        let reason = format!("a trace is of one task, not of {count}: name it with --task");
        let world = W::NAME;
        return Err(TasksError { reason, world }.into());
    };
    let setup = EpisodeSpec::<W> {
        task,
        seed: config.seed()?,
        streams,
        rules,
    }
    .setup();
    Ok((setup, Session::new(&setup)))
}

/// Traces an episode that `policy` plays.
///
/// # Errors
/// Returns an error if the world has no such policy or rules, or `out` cannot be written to.
pub fn trace_policy<W: Traced>(
    config: &TraceConfig,
    policy: &str,
    out: &mut dyn Write,
) -> Result<Ended, Error> {
    let policy = arg_parsers::parse_policy::<W>(policy)?;
    let (setup, mut session) = start::<W>(config)?;
    let mut player = policy.start(&setup);
    // The reference seeds a stream for every policy, also for those that never draw.
    let origin = W::episode_spec(&setup);
    let unused = PyRandom::new(origin.streams.seed(origin.seed, POLICY_STREAM)).random();
    let mut tracer = Tracer {
        task: origin.task.name(),
        seed: origin.seed,
        policy: policy.name(),
        out,
    };
    tracer.row(&W::reset_row(&session))?;
    while let Some(action) = player.act(session.episode()) {
        if session.act(action).is_err() {
            break;
        }
        let next = player.peek_draw().unwrap_or(unused);
        tracer.step::<W>(&session, Some(next))?;
    }
    Ok(Ended::Yes)
}

/// Traces an episode of given actions, one JSON object per line. Errors call the file `name`.
///
/// # Errors
/// Returns an error at the first line that is not an action, or that comes after the end; the rows
/// before it are written then.
pub fn trace_actions<W: Traced>(
    config: &TraceConfig,
    name: &str,
    actions: &mut dyn BufRead,
    out: &mut dyn Write,
) -> Result<Ended, Error> {
    let (setup, mut session) = start::<W>(config)?;
    let mut tracer = Tracer {
        task: W::episode_spec(&setup).task.name(),
        seed: config.seed()?,
        policy: ACTIONS,
        out,
    };
    tracer.row(&W::reset_row(&session))?;
    let (mut bytes, mut taken) = (Vec::new(), 0);
    for line in 1.. {
        bytes.clear();
        let failed = |reason: String| Error::Line {
            file: name.to_owned(),
            line,
            // The reason may be as long as the line.
            reason: truncate_chars(&reason, REASON_MAX).to_owned(),
        };
        let read = actions
            .read_until(b'\n', &mut bytes)
            .map_err(|e| failed(e.to_string()))?;
        if read == 0 {
            break;
        }
        let message: W::Message = match read_action(&bytes, line) {
            Ok(Some(message)) => message,
            Ok(None) => continue,
            Err(reason) => return Err(failed(reason)),
        };
        let stepped = session.step(&message, &mut W::Curriculum::default());
        stepped.map_err(|error| failed(error.to_string()))?;
        taken += 1;
        tracer.step::<W>(&session, None)?;
    }
    let episode = session.episode();
    Ok(if W::is_done(W::observation(episode)) {
        Ended::Yes
    } else {
        Ended::NoMoreActions(taken)
    })
}

/// Parses the action on a line; `None` for a blank line.
fn read_action<M: DeserializeOwned>(bytes: &[u8], line: usize) -> Result<Option<M>, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "not UTF-8 text".to_owned())?;
    let text = if line == 1 {
        text.strip_prefix('\u{feff}').unwrap_or(text)
    } else {
        text
    };
    // The white space of JSON.
    let text = text.trim_matches([' ', '\t', '\r', '\n']);
    if text.is_empty() {
        return Ok(None);
    }
    if !text.starts_with('{') {
        return Err("not a JSON object: write an action of the world on each line".to_owned());
    }
    let message = parse_message(text).map_err(|error| error.to_string())?;
    Ok(Some(message))
}
