//! Times environment steps inside wasm in headless Chromium: `cargo xtask bench-wasm`.

// A command-line program prints to the terminal.
#![allow(clippy::print_stdout)]

use anyhow::Result;
use sentinel_e2e::input;
use sentinel_e2e::testkit::{Testkit, Timing};
use sentinel_testkit::bench::KINDS;

/// The number of runs; the fastest one counts, since noise only ever adds time.
const RUNS: usize = 5;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let kit = Testkit::start(&input("SENTINEL_TESTKIT_WASM")?).await?;
    println!("step         steps     best ms      steps/s   checksum");
    for (kind, name, steps) in KINDS {
        // A warm-up run: the browser compiles wasm twice, and the faster code arrives while it
        // runs.
        let mut best = kit.bench(kind, steps / 10).await?;
        best.ms = f64::INFINITY;
        for _ in 0..RUNS {
            let timing = kit.bench(kind, steps).await?;
            if timing.ms < best.ms {
                best = timing;
            }
        }
        print_row(name, steps, best);
    }
    Ok(())
}

fn print_row(name: &str, steps: u32, best: Timing) {
    let rate = f64::from(steps) / best.ms * 1000.0;
    println!(
        "{name:<9} {steps:>8} {:>11.1} {rate:>12.0}   {}",
        best.ms, best.checksum
    );
}
