//! Device time of the kernels of a decode step, one by one: products of cubek by strategy, reductions over the
//! vocabulary by routine, and launches with and without a graph. One JSON object for each measurement.
//!
//! Every measurement is a recorded graph of launches over different weights, replayed, so that neither starting
//! kernels nor the second-level cache hides the time. Products are compared with f64 at eight places.
//!
//! `cargo bench -p sentinel-trainer --features cuda --bench kernels -- --part products`
#![allow(missing_docs)]
#![expect(
    unsafe_code,
    reason = "a recorded graph is replayed while its buffers live"
)]

mod products;
mod reductions;

use std::io::Write as _;
use std::time::{Duration, Instant};

use anyhow::{Result, anyhow};
use clap::Parser;
use cubecl::client::Client;
use cubecl::future::block_on;
use cubecl::ir::{ElemType, FloatKind};
use cubecl::prelude::*;
use cubecl::std::tensor::TensorHandle;
use half::bf16;
use serde_json::{Value, json};

use products::{SHAPES, products};
use reductions::reductions;

const F32: ElemType = ElemType::Float(FloatKind::F32);
const BF16: ElemType = ElemType::Float(FloatKind::BF16);
const VOCABULARY: usize = 151_936;
/// Launches of a graph of small kernels: about as many as a step has kernels when all are fused.
const LAUNCHES: usize = 222;

#[derive(Parser)]
struct Args {
    /// products, training, reductions or graph
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "products,training,reductions,graph"
    )]
    part: Vec<String>,
    /// Only the products whose name contains this text
    #[arg(long, default_value = "")]
    only: String,
    /// Rows of the products of a decode step
    #[arg(long, value_delimiter = ',', default_value = "1,4,16,64,256")]
    rows: Vec<usize>,
    /// Also products in bf16 with given tiles, whose kernels take minutes to compile
    #[arg(long)]
    forced: bool,
    /// Kernels are compiled and not timed
    #[arg(long)]
    compile: bool,
    /// Given by `cargo bench` to every program
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let bench = Bench {
        client: cubecl::Device::default().client(),
        compile: args.compile,
    };
    for part in &args.part {
        match part.as_str() {
            "products" => {
                for kind in [BF16, F32] {
                    for &rows in &args.rows {
                        for shape in SHAPES {
                            products(&bench, kind, rows, shape, &args)?;
                        }
                    }
                }
            }
            "training" => {
                for kind in [BF16, F32] {
                    for shape in &SHAPES[..4] {
                        products(&bench, kind, 3072, *shape, &args)?;
                    }
                }
            }
            "reductions" => reductions(&bench)?,
            "graph" => graph(&bench)?,
            _ => return Err(anyhow!("there is no part {part:?}")),
        }
    }
    Ok(())
}

fn print_line(line: &Value) -> Result<()> {
    Ok(writeln!(std::io::stdout(), "{line}")?)
}

/// Returns the name of a number format.
fn format_name(kind: ElemType) -> &'static str {
    if kind == F32 { "f32" } else { "bf16" }
}

struct Bench {
    client: Client,
    compile: bool,
}

impl Bench {
    fn sync(&self) -> Result<()> {
        block_on(self.client.sync()).map_err(|error| anyhow!("{error:?}"))
    }

    fn empty(&self, shape: &[usize], kind: ElemType) -> TensorHandle {
        let count: usize = shape.iter().product();
        TensorHandle::new_contiguous(shape.to_vec(), self.client.empty(count * kind.size()), kind)
    }

    /// Returns numbers of [`noise`].
    fn noise(&self, shape: &[usize], kind: ElemType, seed: u32, scale: f32) -> TensorHandle {
        let out = self.empty(shape, kind);
        self.fill(&out, kind, seed, scale);
        out
    }

    fn fill(&self, out: &TensorHandle, kind: ElemType, seed: u32, scale: f32) {
        let count: usize = out.shape().iter().product();
        let blocks = u32::try_from(count.div_ceil(256))
            .unwrap_or(u32::MAX)
            .min(1024);
        fill::launch(
            &self.client,
            CubeCount::Static(blocks, 1, 1),
            CubeDim::new_1d(256),
            out.clone().into_arg(),
            seed,
            scale,
            u32::try_from(count).unwrap_or(u32::MAX),
            blocks as usize * 256,
            kind,
        );
    }

    /// Returns the microseconds that each of `launches` launches takes in a replayed graph, and the seconds before
    /// the graph was recorded.
    fn time(&self, launches: usize, mut run: impl FnMut() -> Result<()>) -> Result<(f64, f64)> {
        let start = Instant::now();
        if self.compile {
            run()?;
            self.sync()?;
            return Ok((0.0, start.elapsed().as_secs_f64()));
        }
        // A run that is refused must not leave a recording prepared.
        run()?;
        self.sync()?;
        (self.client.graph_prepare()).map_err(|error| anyhow!("{error:?}"))?;
        let first = start.elapsed().as_secs_f64();
        run()?;
        self.sync()?;
        (self.client.start_capture()).map_err(|error| anyhow!("{error:?}"))?;
        let recorded = run();
        let graph = (self.client.stop_capture()).map_err(|error| anyhow!("{error:?}"))?;
        recorded?;
        let mut best = Duration::MAX;
        for _ in 0..5 {
            let start = Instant::now();
            for _ in 0..4 {
                // SAFETY: every buffer of the launches lives until `run` is dropped, after the wait below.
                unsafe { graph.replay() }.map_err(|error| anyhow!("{error:?}"))?;
            }
            self.sync()?;
            best = best.min(start.elapsed());
        }
        Ok((best.as_secs_f64() * 1e6 / (4 * launches) as f64, first))
    }
}

/// A hash of a counter.
#[cube]
fn hash(x: u32) -> u32 {
    let mut h = x;
    h = (h ^ (h >> 16)) * 0x7feb_352d;
    h = (h ^ (h >> 15)) * 0x846c_a68b;
    h ^ (h >> 16)
}

/// Writes numbers between `-scale` and `scale`.
#[cube(launch)]
fn fill<F: Float>(
    out: &mut Tensor<F>,
    seed: u32,
    scale: f32,
    count: u32,
    threads: usize,
    #[define(F)] _kind: ElemType,
) {
    let mut i = ABSOLUTE_POS;
    while i < count as usize {
        let bits = hash(u32::cast_from(i) ^ seed) >> 8;
        out[i] = F::cast_from((f32::cast_from(bits) * 1.192_092_9e-7f32 - 1.0f32) * scale);
        i += threads;
    }
}

/// The number that `fill` writes at `at`.
fn noise(at: usize, seed: u32, scale: f32, kind: ElemType) -> f64 {
    let mut h = u32::try_from(at).unwrap_or(u32::MAX) ^ seed;
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^= h >> 16;
    let value = ((h >> 8) as f32 * 1.192_092_9e-7 - 1.0) * scale;
    f64::from(if kind == F32 {
        value
    } else {
        bf16::from_f32(value).to_f32()
    })
}

fn seed_of(copy: usize) -> u32 {
    u32::try_from(copy * 7919 + 5).unwrap_or(0)
}

/// Launches and replays of a graph of many small kernels.
fn graph(bench: &Bench) -> Result<()> {
    // A recorded graph writes to its outputs at every replay, so they live as long as it does.
    let mut kept = vec![bench.empty(&[64, 896], F32)];
    let mut step = |fresh: bool| {
        for _ in 0..LAUNCHES {
            if fresh {
                kept.push(bench.empty(&[64, 896], F32));
            }
            if let Some(out) = kept.last() {
                bench.fill(out, F32, 1, 1.0);
            }
        }
        Ok(())
    };
    for fresh in [false, true] {
        step(fresh)?;
        bench.sync()?;
        let start = Instant::now();
        for _ in 0..20 {
            step(fresh)?;
        }
        bench.sync()?;
        let eager = start.elapsed().as_secs_f64() * 1e6 / (20 * LAUNCHES) as f64;
        let (replayed, _) = bench.time(LAUNCHES, || step(fresh))?;
        print_line(&json!({
            "part": "graph", "launches": LAUNCHES, "new_outputs": fresh,
            "eager_us_per_launch": eager, "replay_us_per_launch": replayed,
        }))?;
    }
    Ok(())
}
