//! The process of ChromeDriver or geckodriver: one per browser, on a free port, stopped on drop.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::time::{Duration, Instant};

/// The time limit for starting the driver; a loaded machine starts programs slowly.
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// The maximum number of attempts to start the driver.
const STARTS: usize = 5;

/// A running driver process.
#[derive(Debug)]
pub struct Driver {
    process: Child,
    port: u16,
    lines: Receiver<String>,
    /// The request that ends the browser.
    stop: String,
}

impl Driver {
    /// Starts the driver and waits until it listens.
    ///
    /// # Errors
    /// Returns an error if the driver cannot be started, or names no port in time or in several
    /// attempts.
    pub fn start(program: &Path) -> Result<Self> {
        let start = Instant::now();
        let mut tried = Self::start_once(program);
        // The driver takes a port that is free for IPv4, and exits if another process has it for
        // IPv6.
        for _ in 1..STARTS {
            if tried.is_ok() || start.elapsed() > START_LIMIT {
                break;
            }
            tried = Self::start_once(program);
        }
        tried
    }

    fn start_once(program: &Path) -> Result<Self> {
        let shown = program.display();
        let mut process = Command::new(program)
            // The driver takes a free port itself and prints it: choosing one first would be a
            // race.
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {shown}"))?;
        let (sender, lines) = mpsc::channel();
        read_lines(process.stdout.take(), sender.clone());
        read_lines(process.stderr.take(), sender);
        let mut driver = Self {
            process,
            port: 0,
            lines,
            stop: "GET /shutdown".to_owned(),
        };
        let (start, mut said) = (Instant::now(), String::new());
        while driver.port == 0 {
            let left = START_LIMIT.saturating_sub(start.elapsed());
            let line = driver.lines.recv_timeout(left).with_context(|| {
                format!("{shown} named no port: does `{shown} --version` work? It printed: {said}")
            })?;
            driver.port = port_in(&line).unwrap_or(0);
            said.push_str(&line);
            said.push(' ');
        }
        Ok(driver)
    }

    /// Returns the driver's address for a WebDriver client.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// Names the session whose browser has to be ended: geckodriver leaves it running otherwise.
    pub fn ends_session(&mut self, session: &str) {
        self.stop = format!("DELETE /session/{session}");
    }

    /// Returns what driver and browser printed since the last call.
    #[must_use]
    pub fn take_output(&self) -> Vec<String> {
        self.lines.try_iter().collect()
    }

    /// Asks the driver to stop, which also ends every browser that it started.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(STOP_LIMIT))?;
        let host = format!("127.0.0.1:{}", self.port);
        let stop = &self.stop;
        write!(
            stream,
            "{stop} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        stream.read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A test that panics never closes its browser, so the driver has to; the kill is for a
        // driver that no longer answers, and for geckodriver, which stays.
        let asked = self.shut_down().is_ok() && self.stop.starts_with("GET");
        let start = Instant::now();
        while asked && start.elapsed() < STOP_LIMIT {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Sends all lines of a stream. It is read to the end, also after the port: a full pipe would block
/// the driver.
fn read_lines(stream: Option<impl Read + Send + 'static>, sender: Sender<String>) {
    std::thread::spawn(move || {
        for line in stream.into_iter().flat_map(|s| BufReader::new(s).lines()) {
            let _ = sender.send(line.unwrap_or_default());
        }
    });
}

/// Returns the port in `ChromeDriver was started successfully on port 41234.` and in geckodriver's
/// `Listening on 127.0.0.1:41234`.
fn port_in(line: &str) -> Option<u16> {
    let greetings = ["successfully on port ", "Listening on 127.0.0.1:"];
    let (_, rest) = greetings
        .iter()
        .find_map(|greeting| line.split_once(greeting))?;
    rest.trim_end_matches('.').parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A driver that exits at the first attempt, as if its port were taken, starts at the second.
    #[cfg(unix)]
    #[test]
    fn a_driver_that_exits_is_started_again() -> Result<()> {
        use std::os::unix::fs::PermissionsExt;

        let folder = tempfile::tempdir()?;
        let (driver, mark) = (folder.path().join("driver"), folder.path().join("mark"));
        let (mark, said) = (
            mark.display(),
            "ChromeDriver was started successfully on port 9.",
        );
        let script = format!(
            "#!/bin/sh\nif [ -e {mark} ]; then echo '{said}'; exec sleep 60; fi\n: > {mark}\necho taken\n"
        );
        std::fs::write(&driver, script)?;
        std::fs::set_permissions(&driver, PermissionsExt::from_mode(0o755))?;
        assert_eq!(Driver::start(&driver)?.port, 9);
        Ok(())
    }

    #[test]
    fn the_port_is_read_from_the_greeting() {
        let line = "ChromeDriver was started successfully on port 41234.";
        assert_eq!(port_in(line), Some(41234));
        let line = "1795439090491	geckodriver	INFO	Listening on 127.0.0.1:37575";
        assert_eq!(port_in(line), Some(37575));
        assert_eq!(port_in("Starting ChromeDriver 1.2 on port 0"), None);
    }
}
