//! The parts that compile or run the trainer for browsers and other devices than the processor, or on
//! several ranks.

use super::context::{Ci, WORKSPACE};
use crate::apt;
use crate::test_counts::Tally;
use crate::wasm_target::TARGET;
use anyhow::Result;

/// The tests of the trainer whose device can be chosen, by the start of their names.
const DEVICE_TESTS: [&str; 8] = [
    "bf16::precision_",
    "device_",
    "forward::",
    "generation::",
    "gradients::",
    "logprobs::",
    "packing::",
    "segments::",
];
/// The features of the trainer for graphics processors.
const DEVICES: &str = "sentinel-trainer/wgpu,sentinel-trainer/cuda,sentinel-tensor/tuned-kernels";
/// The packages that compile for wasm32: what a page would train compact policies with.
const FOR_BROWSERS: [&str; 5] = [
    "sentinel-options",
    "sentinel-tensor",
    "sentinel-rl",
    "sentinel-run",
    "sentinel-compact",
];
/// The Debian packages of the part `mpi`: the library with its headers, `mpirun`, and the compiler library
/// by which the bindings are generated.
const MPI_PACKAGES: [&str; 3] = ["libopenmpi-dev", "openmpi-bin", "libclang-dev"];

/// Checks that the algorithms of compact policies compile for the browser, without the run around them.
pub(super) fn wasm32(ci: &mut Ci) -> Result<Tally> {
    let target = ci.wasm_target()?;
    let mut cargo = target.cargo(&ci.dirs);
    cargo.args(["check", "--target", TARGET]);
    for package in FOR_BROWSERS {
        cargo.args(["-p", package]);
    }
    ci.one_check("wasm32", &mut cargo)
}

/// Checks that training and its kernels compile for wgpu and CUDA, and lints them. This needs no toolkit and no graphics
/// processor: nothing is linked or run. With `DOCS_RS` burn's build script for CUDA downloads no
/// compiler.
pub(super) fn devices(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo
        .args([
            "clippy",
            "-p",
            "sentinel-tensor",
            "-p",
            "sentinel-lm",
            "-p",
            "sentinel-trainer",
            "--lib",
            "--bench",
            "kernels",
        ])
        .args(["--features", DEVICES])
        .args(["--", "-D", "warnings"])
        .env("DOCS_RS", "1");
    ci.one_check("devices", &mut cargo)
}

/// Runs the tests of recorded numbers on wgpu, which a software driver of Vulkan executes where there
/// is no graphics processor.
pub(super) fn wgpu(ci: &mut Ci) -> Result<Tally> {
    let drivers = std::fs::read_dir("/usr/share/vulkan/icd.d");
    let has_driver = drivers.is_ok_and(|mut drivers| drivers.next().is_some());
    if cfg!(target_os = "linux") && !has_driver {
        let packages = ["mesa-vulkan-drivers", "libvulkan1"];
        apt::install(&ci.dirs, &packages, "a software driver of Vulkan")?;
    }
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["test", "--no-fail-fast", "-p", "sentinel-trainer"])
        .args([
            "--features",
            "wgpu",
            "--test",
            "lm",
            "--test",
            "device",
            "--",
        ])
        .args(DEVICE_TESTS)
        .env("SENTINEL_TEST_DEVICE", "wgpu");
    ci.cargo_test("wgpu", &mut cargo)
}

/// Trains policies with the gradients of the page, optimized, for several seeds.
pub(super) fn learning(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["run", "--release", "-p", "sentinel-compact"])
        .args(["--no-default-features", "--example", "learning_curve"]);
    ci.one_check("learning", &mut cargo)
}

/// Tests training on two ranks with Open MPI, over the loopback device.
pub(super) fn mpi(ci: &mut Ci) -> Result<Tally> {
    apt::install(&ci.dirs, &MPI_PACKAGES, "training with MPI")?;
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["test", "--no-fail-fast", "--test", "mpi"])
        .args(WORKSPACE)
        .args(["--features", "sentinel-trainer/mpi"]);
    ci.cargo_test("mpi", &mut cargo)
}
