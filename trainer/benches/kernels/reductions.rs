//! Reductions over a vocabulary by the routines of cubek.

use anyhow::{Result, anyhow};
use cubecl::ir::{ElemType, IntKind};
use cubecl::std::tensor::TensorHandle;
use cubek::reduce::components::instructions::ReduceOperationConfig;
use cubek::reduce::launch::{ReduceStrategy, RoutineStrategy, VectorizationStrategy};
use cubek::reduce::routines::{
    BlueprintStrategy, cube::CubeStrategy, plane::PlaneStrategy, unit::UnitStrategy,
};
use serde_json::json;

use super::{Bench, F32, VOCABULARY, print_line, seed_of};

/// Measures reductions of every kind.
pub(super) fn reductions(bench: &Bench) -> Result<()> {
    for (rows, strided) in [
        (1usize, false),
        (64, true),
        (64, false),
        (256, false),
        (1024, false),
    ] {
        for (op, config, out) in [
            ("max", ReduceOperationConfig::Max, F32),
            ("sum", ReduceOperationConfig::Sum, F32),
            (
                "argmax",
                ReduceOperationConfig::ArgMax,
                ElemType::Int(IntKind::I32),
            ),
        ] {
            let routines = [
                (
                    "unit",
                    RoutineStrategy::Unit(BlueprintStrategy::Inferred(UnitStrategy)),
                ),
                (
                    "plane",
                    RoutineStrategy::Plane(BlueprintStrategy::Inferred(PlaneStrategy {
                        independent: true,
                    })),
                ),
                (
                    "cube",
                    RoutineStrategy::Cube(BlueprintStrategy::Inferred(CubeStrategy {
                        use_planes: true,
                    })),
                ),
            ];
            for (routine, strategy) in routines {
                let copies = if rows == 1 { 24 } else { 4 };
                let inputs: Vec<TensorHandle> = (0..copies)
                    .map(|copy| {
                        let data = bench.noise(&[rows, VOCABULARY], F32, seed_of(copy), 4.0);
                        if strided {
                            TensorHandle::new(
                                data.handle,
                                vec![rows, VOCABULARY],
                                vec![1, rows],
                                F32,
                            )
                        } else {
                            data
                        }
                    })
                    .collect();
                let output = bench.empty(&[rows, 1], out);
                let found = bench.time(copies, || {
                    for input in &inputs {
                        let strategy = ReduceStrategy {
                            routine: strategy.clone(),
                            vectorization: VectorizationStrategy {
                                parallel_output_vectorization: false,
                            },
                            autotune_level: Default::default(),
                        };
                        cubek::reduce::reduce(
                            &bench.client,
                            input.clone().binding(),
                            output.clone().binding(),
                            1,
                            strategy,
                            config,
                            config.precision(F32, Some(out)),
                        )
                        .map_err(|error| anyhow!("{error:?}"))?;
                    }
                    Ok(())
                });
                let mut line = json!({
                    "part": "reduction", "op": op, "rows": rows, "strided": strided, "routine": routine,
                });
                match found {
                    Ok((us, first)) => {
                        line["us"] = json!((us * 10.0).round() / 10.0);
                        line["first_s"] = json!((first * 100.0).round() / 100.0);
                    }
                    Err(error) => line["refused"] = json!(format!("{error:#}")),
                }
                print_line(&line)?;
            }
        }
    }
    Ok(())
}
