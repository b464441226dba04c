//! Child processes: all output goes to a log file, with a progress line on the terminal now and
//! then.

use anyhow::{Context, Result, bail};
use std::fs::File;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

/// The interval between progress lines on the terminal.
const PROGRESS_EVERY: Duration = Duration::from_secs(12);
/// The time to wait for output after a child ended: a grandchild may keep the pipe open.
const DRAIN: Duration = Duration::from_secs(2);
/// The number of lines of a failed step's log that are shown.
const TAIL: usize = 25;

/// A counter that numbers the steps of a task, one line each.
#[derive(Debug)]
pub struct Steps {
    done: usize,
    total: usize,
    /// The indentation of the step's line, for steps inside another step.
    indent: &'static str,
}

impl Steps {
    /// Creates the counter of a task with `total` steps.
    #[must_use]
    pub fn new(total: usize) -> Self {
        Self {
            done: 0,
            total,
            indent: "",
        }
    }

    /// Creates the counter of `total` steps inside another task's step.
    #[must_use]
    pub fn inside(total: usize) -> Self {
        Self {
            indent: "      ",
            ..Self::new(total)
        }
    }

    /// Announces the next step: its action, its purpose, and its approximate duration.
    pub fn next(&mut self, line: &str) {
        self.done += 1;
        let (indent, done, total) = (self.indent, self.done, self.total);
        print_line(&format!("{indent}[{done}/{total}] {line}"));
    }
}

/// Prints a line below the current step.
pub fn print_note(line: &str) {
    print_line(&format!("      {line}"));
}

/// Prints a line. Errors are ignored: a reader that closed the pipe (`| head`) must not stop a
/// build.
pub fn print_line(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The result of a finished child process.
#[derive(Debug)]
pub struct Finished {
    /// `true` if it exited with 0 and in time.
    pub ok: bool,
    /// All lines that it printed, both streams in the order of arrival.
    pub lines: Vec<String>,
    /// The log file with the same lines.
    pub log: PathBuf,
    /// The exit status as text.
    ending: String,
}

impl Finished {
    /// Returns a success unchanged; turns a failure into an error with the end of the log and its
    /// path.
    ///
    /// # Errors
    /// Returns an error if the child failed; `what` names the step and `way_out` a remedy.
    pub fn require(self, what: &str, way_out: &str) -> Result<Self> {
        if self.ok {
            return Ok(self);
        }
        let tail = self.lines.len().saturating_sub(TAIL);
        let shown = self.lines[tail..].join("\n");
        bail!(
            "{what} failed ({}). The end of its log:\n{shown}\nFull log: {}\n{way_out}",
            self.ending,
            self.log.display()
        );
    }
}

/// Runs `command` to its end, or to `limit`, with its output in `log`.
///
/// # Errors
/// Returns an error if the program cannot be started or the log cannot be written. A failing child
/// is not an error here.
pub fn logged(command: &mut Command, log: &Path, limit: Option<Duration>) -> Result<Finished> {
    if let Some(folder) = log.parent() {
        std::fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
    }
    let mut file =
        File::create(log).with_context(|| format!("cannot write the log {}", log.display()))?;
    writeln!(file, "$ {command:?}")?;
    let mut child = command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {:?}", command.get_program()))?;
    let start = Instant::now();
    let (sender, receiver) = mpsc::channel();
    read_lines(child.stdout.take(), sender.clone());
    read_lines(child.stderr.take(), sender);
    let mut lines = Vec::new();
    let status = follow(&mut child, &receiver, limit, |line| {
        writeln!(file, "{line}")?;
        lines.push(line);
        Ok(())
    })?;
    if start.elapsed() >= PROGRESS_EVERY {
        print_note(&format!("{:>4} s  ended", start.elapsed().as_secs()));
    }
    Ok(Finished {
        ok: status.is_some_and(|status| status.success()),
        lines,
        log: log.to_owned(),
        ending: match status {
            Some(status) => status.to_string(),
            None => format!("stopped after {} s", limit.unwrap_or_default().as_secs()),
        },
    })
}

/// Passes the child's lines to `take` and prints progress until it ends; returns `None` at the time
/// limit.
fn follow(
    child: &mut Child,
    lines: &Receiver<String>,
    limit: Option<Duration>,
    mut take: impl FnMut(String) -> Result<()>,
) -> Result<Option<ExitStatus>> {
    let start = Instant::now();
    let mut last = String::new();
    let mut next_progress = PROGRESS_EVERY;
    let mut ended: Option<(ExitStatus, Instant)> = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(200)) {
            Ok(line) => {
                if !line.trim().is_empty() {
                    last = progress_text(&line);
                }
                take(line)?;
            }
            Err(RecvTimeoutError::Disconnected) => return Ok(Some(child.wait()?)),
            Err(RecvTimeoutError::Timeout) => {
                if ended.is_none() {
                    ended = child.try_wait()?.map(|status| (status, Instant::now()));
                }
            }
        }
        if let Some((status, since)) = ended
            && since.elapsed() > DRAIN
        {
            return Ok(Some(status));
        }
        if limit.is_some_and(|limit| start.elapsed() > limit) {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        if start.elapsed() >= next_progress {
            print_note(&format!("{:>4} s  {last}", start.elapsed().as_secs()));
            next_progress = start.elapsed() + PROGRESS_EVERY;
        }
    }
}

/// Returns one line of a log, shortened for a terminal.
fn progress_text(line: &str) -> String {
    let line = line.trim();
    let short: String = line.chars().take(88).collect();
    if short.len() < line.len() {
        format!("{short}…")
    } else {
        short
    }
}

fn read_lines(stream: Option<impl Read + Send + 'static>, sender: Sender<String>) {
    let Some(stream) = stream else { return };
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut bytes = Vec::new();
        // Bytes, not `lines()`: a child may print something that is not UTF-8.
        while stream.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let line = String::from_utf8_lossy(&bytes);
            if sender.send(line.trim_end().to_owned()).is_err() {
                return;
            }
            bytes.clear();
        }
    });
}

/// Returns the output of a short command, or `None` if it cannot run or fails.
#[must_use]
pub fn output(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Option<Duration>) -> (tempfile::TempDir, Finished) {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("deep/step.log");
        let mut command = Command::new("sh");
        let finished = logged(command.args(["-c", script]), &log, limit).expect("sh runs");
        (folder, finished)
    }

    #[test]
    fn command_keeps_stdout_stderr_and_log() {
        let (_folder, finished) = shell("echo out; echo err >&2", None);
        assert!(finished.ok);
        let mut lines = finished.lines.clone();
        lines.sort();
        assert_eq!(lines, ["err", "out"]);
        let log = std::fs::read_to_string(&finished.log).expect("the log exists");
        assert!(log.contains("out\n") && log.contains("err\n"), "{log}");
    }

    #[test]
    fn failure_error_names_step_log_and_remedy() {
        let script = "for i in $(seq 1 50); do echo line-$i-end; done; exit 3";
        let (_folder, finished) = shell(script, None);
        let error = finished.require("the step", "try this").expect_err("fails");
        let text = error.to_string();
        assert!(text.contains("the step failed") && text.contains("step.log"));
        assert!(text.contains("line-50-end") && text.contains("try this"));
        assert!(!text.contains("line-10-end"), "only the end: {text}");
    }

    #[test]
    fn child_is_stopped_at_time_limit() {
        let (_folder, finished) = shell("sleep 60", Some(Duration::from_millis(1)));
        assert!(!finished.ok);
        assert!(finished.ending.contains("stopped"), "{}", finished.ending);
    }

    #[test]
    fn grandchild_holding_pipe_does_not_block() {
        let (_folder, finished) = shell("sleep 8 & echo started", None);
        assert!(finished.ok);
        assert_eq!(finished.lines, ["started"]);
    }

    #[test]
    fn missing_program_error_names_program() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let log = folder.path().join("a.log");
        let error = logged(&mut Command::new("no-such-program"), &log, None).expect_err("fails");
        assert!(format!("{error:#}").contains("no-such-program"));
    }
}
