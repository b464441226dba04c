//! Products of a decode step and of training by the strategies of cubek, compared with f64 at eight places.

use anyhow::{Context as _, Result, anyhow};
use cubecl::ir::{AddressType, ElemType};
use cubecl::std::tensor::TensorHandle;
use cubek::matmul::definition::{MatmulElems, MatmulGlobalElems, MatmulProblem};
use cubek::matmul::multi_level::Strategy as Routine;
use cubek::matmul::multi_level::components::stage::PartitionBuffering;
use cubek::matmul::multi_level::components::tile::TileMatmulKind;
use cubek::matmul::multi_level::definition::{BatchMatmulBlueprint, TilingScheme};
use cubek::matmul::multi_level::routines::batch::double_buffering::DoubleBufferingArgs;
use cubek::matmul::multi_level::routines::batch::simple::SimpleArgs;
use cubek::matmul::routine::BlueprintStrategy;
use cubek::matmul::strategy::Strategy;
use cubek::std::cube_count::{CubeCountStrategy, GlobalOrder, HypercubeBlueprint};
use cubek::std::{InputBinding, MatrixLayout};
use half::bf16;
use serde_json::json;

use super::{Args, BF16, Bench, F32, VOCABULARY, format_name, noise, print_line, seed_of};

/// The weights of a graph together, in bytes: several times the second-level cache of an H100 or H200.
const WEIGHTS: usize = 256 << 20;

/// The frozen products of Qwen2.5-0.5B: name, outputs, inputs.
pub(super) const SHAPES: [(&str, usize, usize); 5] = [
    ("qkv", 1152, 896),
    ("output", 896, 896),
    ("gate_up", 9728, 896),
    ("down", 896, 4864),
    ("head", VOCABULARY, 896),
];

/// A way to compute `x Wᵀ`.
struct Way {
    name: String,
    /// `W xᵀ` is computed.
    transposed: bool,
    /// Number of parts of the inputs, each an entry of a batch. The sum over the parts is not computed.
    parts: usize,
    strategy: Strategy,
}

/// Returns the strategies whose tiles the library chooses.
fn inferred_ways(kind: ElemType, rows: usize) -> Vec<Way> {
    let way = |name: &str, strategy: Strategy| Way {
        name: name.to_owned(),
        transposed: false,
        parts: 1,
        strategy,
    };
    let simple = |multi_rows| {
        BlueprintStrategy::Inferred(SimpleArgs {
            multi_rows,
            tile_matmul: TileMatmulKind::Mma,
        })
    };
    let double = |tile_matmul| DoubleBufferingArgs {
        specialized: false,
        tile_matmul,
    };
    let (mma, cmma) = (double(TileMatmulKind::Mma), double(TileMatmulKind::Cmma));
    let simple_mma = Routine::SimpleCyclicMma(simple(false));
    let rows_mma = Routine::SimpleCyclicMma(simple(true));
    let double_mma = Routine::DoubleCyclicMma(BlueprintStrategy::Inferred(mma));
    let double_cmma = Routine::DoubleCyclicCmma(BlueprintStrategy::Inferred(cmma));
    let tma_mma = Routine::SpecializedTmaMma(BlueprintStrategy::Inferred(().into()));
    let double_tma = Routine::DoubleTmaMma(BlueprintStrategy::Inferred(mma));
    let async_mma = Routine::DoubleAsyncCyclicMma(BlueprintStrategy::Inferred(mma));
    let transposed = Way {
        transposed: true,
        ..way("auto, W xT", Strategy::Auto)
    };
    let gemm = Routine::Gemm(BlueprintStrategy::default());
    let unit = Routine::DoubleUnit(BlueprintStrategy::default());
    let all = [
        (true, way("auto", Strategy::Auto)),
        (rows <= 64, transposed),
        (rows <= 16, way("gemm", gemm.into())),
        (true, way("simple mma", simple_mma.into())),
        (rows >= 64, way("simple mma, rows", rows_mma.into())),
        (true, way("double mma", double_mma.into())),
        (true, way("double cmma", double_cmma.into())),
        (true, way("tma mma", tma_mma.into())),
        (rows >= 64, way("double tma mma", double_tma.into())),
        (rows >= 64, way("async mma", async_mma.into())),
        (kind == F32 && rows > 256, way("double unit", unit.into())),
    ];
    let chosen = all.into_iter().filter(|(applies, _)| *applies);
    chosen.map(|(_, way)| way).collect()
}

/// A tile of a block, in numbers of tiles of 16 rows, 8 outputs and 16 inputs.
#[derive(Clone, Copy)]
struct Tile {
    /// Planes along the rows.
    planes: u32,
    /// Tiles of a plane along the rows.
    tall: u32,
    /// Tiles of a plane along the outputs.
    wide: u32,
    /// Tiles of a plane along the inputs.
    deep: u32,
}

/// Returns strategies with given tiles, for products in bf16 with up to 256 rows.
fn forced_ways(rows: usize, outputs: usize, inputs: usize) -> Vec<Way> {
    let rows_of_tile = (rows as u32).next_multiple_of(16).min(128);
    let mut ways = Vec::new();
    for (planes, tall) in [(1, 1), (2, 1), (4, 1), (8, 1), (4, 2), (8, 2)] {
        if 16 * planes * tall != rows_of_tile {
            continue;
        }
        for (wide, deep) in [(4, 2), (4, 4), (8, 2), (8, 4), (16, 2), (16, 4)] {
            for parts in [1, 4, 8] {
                let height = (16 * planes * tall) as usize;
                let blocks = outputs.div_ceil(8 * wide as usize) * rows.div_ceil(height);
                if inputs.is_multiple_of(parts * 32) && (parts == 1 || blocks <= 132) {
                    let tile = Tile {
                        planes,
                        tall,
                        wide,
                        deep,
                    };
                    ways.extend(ways_of_tile(tile, [rows, outputs, inputs], parts));
                }
            }
        }
    }
    ways
}

/// Returns the strategies with one tile; the inputs are divided into parts.
fn ways_of_tile(tile: Tile, [rows, outputs, inputs]: [usize; 3], parts: usize) -> Vec<Way> {
    let Tile {
        planes,
        tall,
        wide,
        deep,
    } = tile;
    let scheme = TilingScheme::builder()
        .with_tile_size((16, 8, 16).into())
        .with_partition_size((tall, wide, deep).into())
        .with_stage_size((planes, 1, 1).into())
        .build();
    let Ok(scheme) = scheme else {
        return Vec::new();
    };
    let globals = MatmulGlobalElems {
        lhs: BF16,
        rhs: BF16,
        out: BF16,
    };
    let problem = MatmulProblem::from_parameters(
        rows,
        outputs,
        inputs / parts,
        [parts].into(),
        [parts].into(),
        MatrixLayout::RowMajor,
        MatrixLayout::ColMajor,
        MatrixLayout::RowMajor,
        None,
        None,
        globals,
        AddressType::U32,
    );
    let hypercube = HypercubeBlueprint::builder()
        .global_order(GlobalOrder::RowMajor)
        .cube_count_strategy(CubeCountStrategy::FromProblem)
        .build();
    let blueprint = BatchMatmulBlueprint::builder(TileMatmulKind::Mma, scheme, 32, &problem)
        .partition_buffering(PartitionBuffering::Single)
        .stage_buffering(2)
        .hypercube_blueprint(hypercube)
        .build();
    let shape = [16 * planes * tall, 8 * wide, 16 * deep].map(|n| n.to_string());
    let way = |name: &str, strategy: Routine| Way {
        name: format!("{name} {} by {planes}, {parts} parts", shape.join("x")),
        transposed: false,
        parts,
        strategy: strategy.into(),
    };
    let double = Routine::DoubleCyclicMma(BlueprintStrategy::Forced(blueprint.clone()));
    let parallel = Routine::DoubleAsyncCyclicMma(BlueprintStrategy::Forced(blueprint.clone()));
    let tma = Routine::DoubleTmaMma(BlueprintStrategy::Forced(blueprint));
    let mut ways = vec![way("double", double), way("async", parallel)];
    ways.extend((rows >= 64).then(|| way("tma", tma)));
    ways
}

/// Measures `x Wᵀ` of one shape in every way.
pub(super) fn products(
    bench: &Bench,
    kind: ElemType,
    rows: usize,
    (label, outputs, inputs): (&str, usize, usize),
    args: &Args,
) -> Result<()> {
    let copies = WEIGHTS
        .div_ceil(outputs * inputs * kind.size())
        .clamp(1, 128);
    let copies = if bench.compile { 1 } else { copies };
    let scale = 1.0 / (inputs as f32).sqrt();
    let weights: Vec<TensorHandle> = (0..copies)
        .map(|copy| bench.noise(&[outputs, inputs], kind, seed_of(copy), scale))
        .collect();
    let x = bench.noise(&[rows, inputs], kind, 77, 1.0);
    let mut ways = inferred_ways(kind, rows);
    if args.forced && kind == BF16 && rows <= 256 {
        ways.extend(forced_ways(rows, outputs, inputs));
    }
    for way in ways {
        if !way.name.contains(&args.only) {
            continue;
        }
        let shape = if way.parts > 1 {
            vec![way.parts, rows, outputs]
        } else {
            vec![rows, outputs]
        };
        let out = if way.transposed {
            vec![outputs, rows]
        } else {
            shape
        };
        let out = bench.empty(&out, kind);
        let work = || -> Result<()> {
            for weight in &weights {
                product(bench, &way, kind, (rows, outputs, inputs), &x, weight, &out)?;
            }
            Ok(())
        };
        // A strategy that does not apply to a shape may panic while its kernel is made.
        let found =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| bench.time(copies, work)));
        let mut line = json!({
            "part": "product", "shape": label, "rows": rows, "kind": format_name(kind), "way": way.name, "copies": copies,
        });
        match found {
            Ok(Ok((us, first))) => {
                let bytes = (outputs * inputs * kind.size()) as f64;
                line["us"] = json!((us * 100.0).round() / 100.0);
                line["first_s"] = json!((first * 100.0).round() / 100.0);
                line["gb_per_s"] = json!((bytes / us / 1e3).round());
                line["tflop_per_s"] =
                    json!((2.0 * (rows * outputs * inputs) as f64 / us / 1e5).round() / 10.0);
                line["error"] = json!(largest_error(
                    bench,
                    &way,
                    kind,
                    (rows, outputs, inputs),
                    seed_of(copies - 1),
                    scale,
                    &out
                )?);
            }
            Ok(Err(error)) => {
                line["refused"] = json!(format!("{error:#}").chars().take(160).collect::<String>());
            }
            Err(_) => line["refused"] = json!("panicked"),
        }
        print_line(&line)?;
    }
    Ok(())
}

fn product(
    bench: &Bench,
    way: &Way,
    kind: ElemType,
    (rows, outputs, inputs): (usize, usize, usize),
    x: &TensorHandle,
    weight: &TensorHandle,
    out: &TensorHandle,
) -> Result<()> {
    let view = |of: &TensorHandle, shape: Vec<usize>, strides: Vec<usize>| {
        TensorHandle::new(of.handle.clone(), shape, strides, kind)
    };
    let (lhs, rhs) = if way.transposed {
        (
            view(weight, vec![outputs, inputs], vec![inputs, 1]),
            view(x, vec![inputs, rows], vec![1, inputs]),
        )
    } else if way.parts > 1 {
        // The memory of both is read as [parts, rows, inputs / parts], as if it had been packed that way.
        let (parts, of_part) = (way.parts, inputs / way.parts);
        (
            view(
                x,
                vec![parts, rows, of_part],
                vec![rows * of_part, of_part, 1],
            ),
            view(
                weight,
                vec![parts, of_part, outputs],
                vec![outputs * of_part, 1, of_part],
            ),
        )
    } else {
        (
            view(x, vec![rows, inputs], vec![inputs, 1]),
            view(weight, vec![inputs, outputs], vec![1, inputs]),
        )
    };
    let mut elems = MatmulElems::from_globals(&MatmulGlobalElems {
        lhs: kind,
        rhs: kind,
        out: kind,
    });
    cubek::matmul::launch::launch_ref(
        &way.strategy,
        &bench.client,
        InputBinding::new(lhs.binding(), kind),
        InputBinding::new(rhs.binding(), kind),
        out.clone().binding(),
        &mut elems,
    )
    .map_err(|error| anyhow!("{error:?}"))
}

/// Returns the largest difference from the product in f64 at eight places.
fn largest_error(
    bench: &Bench,
    way: &Way,
    kind: ElemType,
    (rows, outputs, inputs): (usize, usize, usize),
    seed: u32,
    scale: f32,
    out: &TensorHandle,
) -> Result<f64> {
    if bench.compile {
        return Ok(0.0);
    }
    let bytes =
        (bench.client.read_one(out.handle.clone())).map_err(|error| anyhow!("{error:?}"))?;
    let value = |at: usize| -> Result<f64> {
        if kind == F32 {
            let four = bytes.get(4 * at..4 * at + 4).context("a place")?;
            Ok(f64::from(f32::from_le_bytes([
                four[0], four[1], four[2], four[3],
            ])))
        } else {
            let two = bytes.get(2 * at..2 * at + 2).context("a place")?;
            Ok(bf16::from_le_bytes([two[0], two[1]]).to_f64())
        }
    };
    let (parts, of_part) = (way.parts, inputs / way.parts);
    let mut largest = 0.0f64;
    for place in 0..8 {
        let (row, output, part) = (
            place * 37 % rows,
            (place * 20_011 + 13) % outputs,
            place % parts,
        );
        let mut sum = 0.0;
        for i in 0..of_part {
            let x = noise((part * rows + row) * of_part + i, 77, 1.0, kind);
            sum += x * noise((part * outputs + output) * of_part + i, seed, scale, kind);
        }
        let at = if way.transposed {
            output * rows + row
        } else {
            (part * rows + row) * outputs + output
        };
        let error = (value(at)? - sum).abs();
        largest = if error.is_finite() {
            largest.max(error)
        } else {
            f64::INFINITY
        };
    }
    Ok(largest)
}
