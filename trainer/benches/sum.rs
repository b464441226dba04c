//! Seconds that ranks take to sum gradients, by their number of values:
//! `mpirun -n 2 PROGRAM`, where `cargo bench -p sentinel-trainer --features mpi --bench sum --no-run`
//! prints the path of the program.
#![allow(clippy::print_stdout, reason = "a program that prints its figures")]

use std::error::Error;
use std::time::Instant;

use sentinel_trainer::distributed::{DistributedError, process_group};

/// Numbers of gradients: adapters of rank 16 on all linear layers of Qwen2.5-0.5B, 1.5B and 7B.
const COUNTS: [(&str, usize); 3] = [
    ("0.5B", 8_798_208),
    ("1.5B", 18_464_768),
    ("7B", 40_370_176),
];
/// Number of sums that are timed, after one that is not.
const REPETITIONS: usize = 9;

fn main() -> Result<(), Box<dyn Error>> {
    let group = process_group()?;
    for (model, count) in COUNTS {
        let mut values = vec![1e-3_f32; count];
        let mut seconds = Vec::new();
        for repetition in 0..=REPETITIONS {
            // All ranks begin together.
            group.exchange::<_, DistributedError>(Ok(repetition))?;
            let start = Instant::now();
            group.sum(&mut values)?;
            seconds.push(start.elapsed().as_secs_f64());
        }
        let mut timed = seconds.split_off(1);
        timed.sort_by(f64::total_cmp);
        if group.is_main() {
            let (ranks, bytes) = (group.share().size, 4 * count);
            let (median, least) = (timed[timed.len() / 2], timed[0]);
            println!(
                "adapter of {model}, {} MB, {ranks} ranks: median {median:.3} s, least {least:.3} s",
                bytes / 1_000_000
            );
        }
    }
    Ok(())
}
