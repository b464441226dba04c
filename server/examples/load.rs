//! Measures a running server: steps per second and the latency of a message, over WebSockets and
//! over HTTP.
//!
//! ```sh
//! cargo run --release -p sentinel-server --example load -- http://127.0.0.1:8000
//! ```
//!
//! Each line is a JSON object: `world`, `transport`, `connections`, `steps`, `steps_per_s`, the median
//! and the 99th percentile of the time between a step and its reply, and with `--server-pid` the
//! processor time of the server per step, all in microseconds. The latter is the figure to compare on a
//! machine that does other work. A WebSocket plays a session; an HTTP request has no session, so that
//! the server starts an episode for it. The client uses one core.
#![allow(clippy::print_stdout, reason = "a program prints what it measured")]

use std::time::{Duration, Instant};

use clap::Parser as _;
use futures_util::future::try_join_all;
use futures_util::{SinkExt as _, StreamExt as _};
use sentinel_env::WorldName;
use serde_json::json;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;

type Error = Box<dyn std::error::Error>;

/// The options of the program.
#[derive(clap::Parser)]
struct Cli {
    /// Address of the server, such as `http://127.0.0.1:8000`.
    address: String,
    /// Connections at a time.
    #[arg(long, default_value_t = 16)]
    connections: u64,
    /// Steps of each connection.
    #[arg(long, default_value_t = 2_000)]
    steps: u64,
    /// Seed of the first episode of the first connection.
    #[arg(long, default_value_t = 100_000)]
    seed: u64,
    /// Id of the server's process on this machine (Linux), for its processor time.
    #[arg(long)]
    server_pid: Option<u32>,
}

/// Returns an action that is valid at every step of an episode.
fn action(world: WorldName) -> serde_json::Value {
    match world {
        WorldName::Trust => json!({"action_type": "delegate", "specialist_id": "S1"}),
        WorldName::Cluster => json!({"action_type": "tick"}),
        WorldName::Polyguard => json!({"candidate_id": "cand_01", "rationale": "keep the regimen"}),
    }
}

/// Plays over a WebSocket and returns the latency of each step.
async fn play_session(
    host: &str,
    world: WorldName,
    seed: u64,
    steps: u64,
) -> Result<Vec<Duration>, Error> {
    let stream = TcpStream::connect(host).await?;
    stream.set_nodelay(true)?;
    let (mut socket, _) = client_async(format!("ws://{host}/ws"), stream).await?;
    let step = json!({"type": "step", "data": action(world)}).to_string();
    let mut latencies = Vec::new();
    let mut ended = true;
    let mut episodes = 0;
    while (latencies.len() as u64) < steps {
        let message = if ended {
            let data = json!({"world": world, "seed": seed + episodes});
            episodes += 1;
            json!({"type": "reset", "data": data}).to_string()
        } else {
            step.clone()
        };
        let sent = Instant::now();
        socket.send(Message::text(message)).await?;
        let reply = loop {
            match socket
                .next()
                .await
                .ok_or("the server closed the connection")??
            {
                Message::Text(reply) => break reply,
                Message::Close(_) => return Err("the server closed the connection".into()),
                _ => {}
            }
        };
        if !ended {
            latencies.push(sent.elapsed());
        }
        if !reply.starts_with(r#"{"type":"observation""#) {
            return Err(reply.as_str().into());
        }
        ended = reply.contains(r#""done":true"#);
    }
    socket.close(None).await?;
    Ok(latencies)
}

/// Sends steps over a kept HTTP connection and returns the latency of each.
async fn post_steps(
    host: &str,
    world: WorldName,
    seed: u64,
    steps: u64,
) -> Result<Vec<Duration>, Error> {
    let mut stream = BufReader::new(TcpStream::connect(host).await?);
    stream.get_ref().set_nodelay(true)?;
    let mut latencies = Vec::new();
    let (mut line, mut body) = (String::new(), Vec::new());
    for number in 0..steps {
        let sends =
            json!({"world": world, "seed": seed + number, "action": action(world)}).to_string();
        let request = format!(
            "POST /step HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{sends}",
            sends.len()
        );
        let sent = Instant::now();
        stream.write_all(request.as_bytes()).await?;
        let (mut status, mut length) = (String::new(), 0);
        loop {
            line.clear();
            if stream.read_line(&mut line).await? == 0 {
                return Err("the server closed the connection".into());
            }
            let header = line.trim_end();
            if header.is_empty() {
                break;
            }
            match header.split_once(':') {
                Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                    length = value.trim().parse()?;
                }
                Some(_) => {}
                None => header.clone_into(&mut status),
            }
        }
        body.resize(length, 0);
        stream.read_exact(&mut body).await?;
        latencies.push(sent.elapsed());
        if !status.starts_with("HTTP/1.1 200") {
            return Err(format!("{status}: {}", String::from_utf8_lossy(&body)).into());
        }
    }
    Ok(latencies)
}

/// Clock ticks per second in `/proc`.
const TICKS: f64 = 100.0;

/// Returns the processor time of a process so far, in seconds.
fn processor_seconds(pid: u32) -> Result<f64, Error> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let (_, fields) = stat.rsplit_once(')').ok_or("the process has no name")?;
    let times = fields.split_whitespace().skip(11).take(2);
    let ticks: f64 = times.map(str::parse::<f64>).sum::<Result<f64, _>>()?;
    Ok(ticks / TICKS)
}

/// One measurement: a world, a transport, and the time at its start.
struct Measurement {
    world: WorldName,
    transport: &'static str,
    server_pid: Option<u32>,
    start: Instant,
    processor: Option<f64>,
}

impl Measurement {
    fn start(world: WorldName, transport: &'static str, cli: &Cli) -> Result<Self, Error> {
        Ok(Self {
            world,
            transport,
            server_pid: cli.server_pid,
            start: Instant::now(),
            processor: cli.server_pid.map(processor_seconds).transpose()?,
        })
    }

    /// Prints what was measured.
    fn report(&self, each: Vec<Vec<Duration>>) -> Result<(), Error> {
        let wall = self.start.elapsed().as_secs_f64();
        let processor = self.server_pid.map(processor_seconds).transpose()?;
        let mut latencies = each.concat();
        latencies.sort_unstable();
        let steps = latencies.len();
        let percentile = |percent: usize| {
            let place = (steps * percent / 100).min(steps.saturating_sub(1));
            latencies.get(place).map(Duration::as_micros)
        };
        let mut line = json!({
            "world": self.world,
            "transport": self.transport,
            "connections": each.len(),
            "steps": steps,
            "steps_per_s": (steps as f64 / wall).round(),
            "p50_us": percentile(50),
            "p99_us": percentile(99),
        });
        if let (Some(before), Some(after)) = (self.processor, processor) {
            line["server_us_per_step"] =
                ((1e7 * (after - before) / steps as f64).round() / 10.0).into();
        }
        println!("{line}");
        Ok(())
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let cli = Cli::parse();
    let (host, steps) = (
        cli.address
            .trim_start_matches("http://")
            .trim_end_matches('/'),
        cli.steps,
    );
    for &world in WorldName::ALL {
        let seeds = (0..cli.connections).map(|connection| cli.seed + connection * steps);
        let measurement = Measurement::start(world, "websocket", &cli)?;
        let plays = seeds
            .clone()
            .map(|seed| play_session(host, world, seed, steps));
        measurement.report(try_join_all(plays).await?)?;
        let measurement = Measurement::start(world, "http", &cli)?;
        let posts = seeds.map(|seed| post_steps(host, world, seed, steps));
        measurement.report(try_join_all(posts).await?)?;
    }
    Ok(())
}
