//! Times natively the loops that `cargo xtask bench-wasm` times in WebAssembly, and prints the same
//! table.
#![allow(
    clippy::print_stdout,
    reason = "a command line program talks on the terminal"
)]

use std::time::Instant;

use sentinel_testkit::bench::{KINDS, run};

/// Number of runs, of which the fastest counts, because noise only ever adds time.
const RUNS: usize = 5;

fn main() {
    println!("step         steps     best ms      steps/s   checksum");
    for (kind, name, steps) in KINDS {
        let mut best = f64::INFINITY;
        let mut sum = run(kind, steps / 10);
        for _ in 0..RUNS {
            let start = Instant::now();
            sum = run(kind, steps);
            best = best.min(start.elapsed().as_secs_f64() * 1000.0);
        }
        let rate = f64::from(steps) / best * 1000.0;
        println!("{name:<9} {steps:>8} {best:>11.1} {rate:>12.0}   {sum}");
    }
}
