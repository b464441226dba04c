//! The ChromeDriver process: one per browser, on a free port, stopped on drop.

use anyhow::{Context, Result};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};
use xtask::browser::Programs;

/// The time limit for starting the driver; a loaded machine starts programs slowly.
const START_LIMIT: Duration = Duration::from_secs(60);
const STOP_LIMIT: Duration = Duration::from_secs(5);
/// The maximum number of attempts to start the driver.
const STARTS: usize = 5;

/// A running ChromeDriver process.
#[derive(Debug)]
pub struct Driver {
    process: Child,
    port: u16,
}

impl Driver {
    /// Starts the driver and waits until it listens.
    ///
    /// # Errors
    /// Returns an error if the driver cannot be started, or names no port in time or in several
    /// attempts.
    pub fn start(programs: &Programs) -> Result<Self> {
        let start = Instant::now();
        let mut tried = Self::start_once(programs);
        // The driver takes a port that is free for IPv4, and exits if another process has it for
        // IPv6.
        for _ in 1..STARTS {
            if tried.is_ok() || start.elapsed() > START_LIMIT {
                break;
            }
            tried = Self::start_once(programs);
        }
        tried
    }

    fn start_once(programs: &Programs) -> Result<Self> {
        let shown = programs.driver.display();
        let mut process = Command::new(&programs.driver)
            // The driver takes a free port itself and prints it: choosing one first would be a
            // race.
            .arg("--port=0")
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .with_context(|| format!("cannot start {shown}"))?;
        let stdout = process.stdout.take();
        let mut driver = Self { process, port: 0 };
        let (sender, receiver) = mpsc::channel();
        std::thread::spawn(move || {
            // Read to the end, also after the port: a full pipe would block the driver.
            for line in stdout.into_iter().flat_map(|s| BufReader::new(s).lines()) {
                let _ = sender.send(line.unwrap_or_default());
            }
        });
        let (start, mut said) = (Instant::now(), String::new());
        while driver.port == 0 {
            let left = START_LIMIT.saturating_sub(start.elapsed());
            let line = receiver.recv_timeout(left).with_context(|| {
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

    /// Asks the driver to stop, which also ends every browser that it started.
    fn shut_down(&self) -> std::io::Result<()> {
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port))?;
        stream.set_read_timeout(Some(STOP_LIMIT))?;
        let host = format!("127.0.0.1:{}", self.port);
        write!(
            stream,
            "GET /shutdown HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
        )?;
        stream.read_to_end(&mut Vec::new())?;
        Ok(())
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        // A test that panics never closes its browser, so the driver has to; the kill is for a
        // driver that no longer answers.
        let asked = self.shut_down().is_ok();
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

/// Returns the port in `ChromeDriver was started successfully on port 41234.`
fn port_in(line: &str) -> Option<u16> {
    let (_, rest) = line.split_once("successfully on port ")?;
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
        let programs = Programs {
            browser: driver.clone(),
            driver,
        };
        assert_eq!(Driver::start(&programs)?.port, 9);
        Ok(())
    }

    #[test]
    fn the_port_is_read_from_the_greeting() {
        let line = "ChromeDriver was started successfully on port 41234.";
        assert_eq!(port_in(line), Some(41234));
        assert_eq!(port_in("Starting ChromeDriver 1.2 on port 0"), None);
    }
}
