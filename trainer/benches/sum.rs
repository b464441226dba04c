//! Seconds that ranks take to sum gradients, by their number of values, and to exchange sampled tokens:
//! `mpirun -n 2 PROGRAM`, where `cargo bench -p sentinel-trainer --features mpi --bench sum --no-run`
//! prints the path of the program.
#![allow(clippy::print_stdout, reason = "a program that prints its figures")]

use std::error::Error;
use std::time::Instant;

use sentinel_run::distributed::{DistributedError, ProcessGroup, process_group};

/// Numbers of gradients: adapters of rank 16 on all linear layers of Qwen2.5-0.5B, 1.5B and 7B.
const COUNTS: [(&str, usize); 3] = [
    ("0.5B", 8_798_208),
    ("1.5B", 18_464_768),
    ("7B", 40_370_176),
];
/// Number of tokens of a rank with their log-probabilities, as bits.
const TOKENS: usize = 100_000;
/// Number of sums that are timed, after one that is not.
const REPETITIONS: usize = 9;

/// Returns the median time of an exchange in seconds. All ranks begin together.
fn median(
    group: &ProcessGroup,
    mut exchange: impl FnMut() -> Result<(), DistributedError>,
) -> Result<f64, DistributedError> {
    let mut seconds = Vec::new();
    for repetition in 0..=REPETITIONS {
        group.exchange::<_, DistributedError>(Ok(repetition))?;
        let start = Instant::now();
        exchange()?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    let timed = &mut seconds[1..];
    timed.sort_by(f64::total_cmp);
    Ok(timed[REPETITIONS / 2])
}

fn main() -> Result<(), Box<dyn Error>> {
    let group = process_group()?;
    let ranks = group.share().size;
    let print = |what: &str, seconds: f64| {
        if group.is_main() {
            println!("{what}, {ranks} ranks: median {seconds:.4} s");
        }
    };
    for (model, count) in COUNTS {
        let mut values = vec![1e-3_f32; count];
        let seconds = median(&group, || group.sum(&mut values))?;
        let megabytes = 4 * count / 1_000_000;
        print(
            &format!("sum for an adapter of {model}, {megabytes} MB"),
            seconds,
        );
    }
    let tokens = vec![(50_000_u32, (-1.5_f32).to_bits()); TOKENS];
    let seconds = median(&group, || {
        let all = group.exchange::<_, DistributedError>(Ok(tokens.clone()))?;
        assert_eq!(all.len(), ranks);
        Ok(())
    })?;
    print(&format!("exchange of {TOKENS} tokens per rank"), seconds);
    let seconds = median(&group, || {
        group.exchange::<_, DistributedError>(Ok(())).map(|_| ())
    })?;
    print("exchange of nothing", seconds);
    Ok(())
}
