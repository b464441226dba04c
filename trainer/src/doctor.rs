//! Checks of this machine for what the commands need: `sentinel doctor`.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use sentinel_base::arg_parsers::named_enum_parser;
use sentinel_base::precision::Precision;
use sentinel_base::provenance::Provenance;
use sentinel_http::{HfEnvironment, HttpClient, HttpConfig, Request};
use sentinel_lm::parallel::core_count;
use sentinel_tensor::device::{DeviceName, available};
use sentinel_tensor::{Device, ProductCheck};
use serde::Serialize;

use crate::sweep::memory::available_bytes;

/// Free disk space below which a run of a language model may fail: a checkpoint of 0.5B parameters with its moments.
const SPACE: u64 = 8 << 30;
/// Free memory below which only tiny language models can be trained.
const MEMORY: u128 = 2 << 30;
/// The time that another program or the Hub has to answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// The programs that recipes call.
const RECIPE_PROGRAMS: [&str; 5] = ["sh", "awk", "sort", "cut", "python3"];
/// Parameters of the models whose speed is estimated.
const MODELS: [(&str, f64); 3] = [("135M", 0.135e9), ("0.5B", 0.494e9), ("1.5B", 1.54e9)];

/// Options of `sentinel doctor`.
#[derive(Clone, Debug, clap::Args)]
pub struct DoctorArgs {
    /// Device to check, on which a product is computed
    #[arg(long, value_name = "DEVICE", default_value = "cpu", value_parser = named_enum_parser::<DeviceName>())]
    pub device: DeviceName,
    /// Print the checks as JSON
    #[arg(long)]
    pub json: bool,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The machine has it.
    Ok,
    /// Some commands are limited without it.
    Warning,
    /// Commands fail without it.
    Missing,
}

/// A check of the machine with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Check {
    /// Name of what was checked.
    pub name: &'static str,
    /// Result of the check.
    pub verdict: Verdict,
    /// Description of what was found.
    pub found: String,
    /// Description of what to do; `None` if nothing is needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub remedy: Option<String>,
}

impl Check {
    fn ok(name: &'static str, found: impl Into<String>) -> Self {
        Self {
            name,
            verdict: Verdict::Ok,
            found: found.into(),
            remedy: None,
        }
    }

    fn warning(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Warning,
            remedy: Some(remedy.into()),
            ..Self::ok(name, found)
        }
    }

    fn missing(name: &'static str, found: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self {
            verdict: Verdict::Missing,
            ..Self::warning(name, found, remedy)
        }
    }
}

/// Returns `true` if no check found something missing.
#[must_use]
pub fn passes(checks: &[Check]) -> bool {
    checks.iter().all(|check| check.verdict != Verdict::Missing)
}

/// Checks the machine, one thing after the other, and calls `report` with each result.
pub fn examine(args: &DoctorArgs, mut report: impl FnMut(&Check)) -> Vec<Check> {
    let hub = HfEnvironment::read();
    let mut checks = Vec::new();
    let mut add = |check: Check| {
        report(&check);
        checks.push(check);
    };
    add(program());
    add(processor());
    add(memory());
    add(folder());
    add(cache(&hub));
    add(token(&hub));
    add(connection(&hub));
    add(recipes());
    match args.device {
        DeviceName::Cpu => {}
        DeviceName::Wgpu => add(vulkan()),
        DeviceName::Cuda => {
            add(driver());
            add(toolkit());
        }
    }
    for check in device(args.device) {
        add(check);
    }
    checks
}

fn program() -> Check {
    let Provenance {
        version, commit, ..
    } = Provenance::new();
    Check::ok(
        "program",
        format!(
            "sentinel {version}, commit {commit}, with the devices {}",
            available()
        ),
    )
}

fn processor() -> Check {
    let cores = core_count();
    let found = format!("{cores} cores, {}", std::env::consts::ARCH);
    if sentinel_lm_kernels::has_fma() {
        return Check::ok(
            "processor",
            format!("{found}, with fused multiplication and addition"),
        );
    }
    Check::warning(
        "processor",
        format!("{found}, without fused multiplication and addition"),
        "language models generate more slowly on it",
    )
}

fn memory() -> Check {
    let remedy = "`sentinel lm grpo --estimate` prints what a run needs";
    match available_bytes() {
        Some(bytes) if bytes < MEMORY => {
            Check::warning("memory", format!("{} free", gib(bytes)), remedy)
        }
        Some(bytes) => Check::ok("memory", format!("{} free", gib(bytes))),
        None => Check::warning("memory", "unknown on this system", remedy),
    }
}

fn folder() -> Check {
    const NAME: &str = "folder";
    let folder = std::env::current_dir().unwrap_or_else(|_| PathBuf::from("."));
    space(
        NAME,
        &folder,
        "runs are written below the folder in which a command starts",
    )
}

fn cache(hub: &HfEnvironment) -> Check {
    const NAME: &str = "cache";
    let Some(cache) = &hub.cache else {
        let remedy = "set HF_HOME to a folder for models of the Hub";
        return Check::warning(NAME, "no home folder", remedy);
    };
    // A cache that does not exist yet is created in the closest folder that does.
    let existing = cache.ancestors().find(|folder| folder.is_dir());
    let mut check = space(
        NAME,
        existing.unwrap_or(cache),
        "set HF_HOME to another folder for models of the Hub",
    );
    if check.verdict == Verdict::Missing {
        check.verdict = Verdict::Warning;
    }
    check.found = format!("{}: {}", cache.display(), check.found);
    check
}

/// Checks that a folder can be written to and has space.
fn space(name: &'static str, folder: &Path, remedy: &str) -> Check {
    // The file has no name that another process could meet, and is gone with its handle.
    if let Err(error) = tempfile::tempfile_in(folder) {
        return Check::missing(
            name,
            format!("{} cannot be written to: {error}", folder.display()),
            remedy,
        );
    }
    match fs4::available_space(folder) {
        Ok(bytes) if bytes < SPACE => Check::warning(
            name,
            format!("can be written to, {} free", gib(u128::from(bytes))),
            format!("{remedy}; {} are advisable", gib(u128::from(SPACE))),
        ),
        Ok(bytes) => Check::ok(
            name,
            format!("can be written to, {} free", gib(u128::from(bytes))),
        ),
        Err(error) => Check::warning(name, format!("its free space is unknown: {error}"), remedy),
    }
}

fn token(hub: &HfEnvironment) -> Check {
    const NAME: &str = "token";
    match hub.token_for_hub() {
        Ok(Some(_)) => Check::ok(NAME, "found; it was not sent anywhere"),
        Ok(None) => Check::ok(NAME, "none, which public models do not need"),
        Err(error) => Check::missing(
            NAME,
            error.to_string(),
            "correct HF_TOKEN, HF_ENDPOINT or the saved token",
        ),
    }
}

/// Asks the Hub for an answer, without the token.
fn connection(hub: &HfEnvironment) -> Check {
    const NAME: &str = "hub";
    const REMEDY: &str = "name models by a local folder, or set HF_ENDPOINT to a mirror";
    if hub.offline {
        return Check::ok(
            NAME,
            "not asked: HF_HUB_OFFLINE or TRANSFORMERS_OFFLINE is set",
        );
    }
    let client = HttpClient::new(HttpConfig {
        connect_timeout: PATIENCE,
        timeout: PATIENCE,
        deadline: PATIENCE,
        retries: 0,
        ..HttpConfig::default()
    });
    let address = format!("{}/api/models", hub.endpoint);
    let asked = Request::get(&address).map(|request| request.query(&[("limit", "1")]));
    match asked.and_then(|request| client.send(&request)) {
        Ok(_) => Check::ok(NAME, "answers"),
        Err(error) => Check::warning(NAME, error.to_string(), REMEDY),
    }
}

fn recipes() -> Check {
    const NAME: &str = "recipes";
    let missing: Vec<&str> = (RECIPE_PROGRAMS.into_iter())
        .filter(|program| find_program(program).is_none())
        .collect();
    if missing.is_empty() {
        return Check::ok(NAME, "the programs that trainer/recipes calls are there");
    }
    Check::warning(
        NAME,
        format!("not on the PATH: {}", missing.join(", ")),
        "only the scripts in trainer/recipes call them",
    )
}

/// Returns the path of a program on the PATH.
fn find_program(name: &str) -> Option<PathBuf> {
    let name = format!("{name}{}", std::env::consts::EXE_SUFFIX);
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path)
        .map(|folder| folder.join(&name))
        .find(|file| file.is_file())
}

/// Returns the first line that a program prints; `None` if it does not run, fails, or takes too long.
fn first_line(program: &str, arguments: &[&str]) -> Option<String> {
    let mut child = Command::new(find_program(program)?)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let deadline = Instant::now() + PATIENCE;
    let status = loop {
        match child.try_wait().ok()? {
            Some(status) => break status,
            None if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(20)),
            None => {
                // One that cannot be ended does not matter either.
                let _ = child.kill();
                return None;
            }
        }
    };
    // A line fits into the buffer of a pipe.
    let mut text = String::new();
    child.stdout.take()?.read_to_string(&mut text).ok()?;
    let line = text.lines().next()?.trim().to_owned();
    (status.success() && !line.is_empty()).then_some(line)
}

fn vulkan() -> Check {
    const NAME: &str = "driver";
    if cfg!(not(target_os = "linux")) {
        return Check::ok(NAME, "of the system");
    }
    let folders = ["/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"];
    let entries = folders
        .iter()
        .filter_map(|folder| Path::new(folder).read_dir().ok());
    let mut names: Vec<String> = (entries.flatten().flatten())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    if names.is_empty() {
        let remedy = "install the Vulkan driver of the GPU; Debian's mesa-vulkan-drivers has those of AMD and Intel, and one of software";
        return Check::warning(NAME, "no Vulkan driver in its usual folders", remedy);
    }
    Check::ok(NAME, names.join(", "))
}

fn driver() -> Check {
    const NAME: &str = "driver";
    let query = [
        "--query-gpu=name,driver_version,memory.total,memory.free",
        "--format=csv,noheader",
    ];
    if let Some(line) = first_line("nvidia-smi", &query) {
        return Check::ok(NAME, line);
    }
    let remedy =
        "install NVIDIA's driver, or start the container with its GPUs (`docker run --gpus all`)";
    match std::fs::read_to_string("/proc/driver/nvidia/version") {
        Ok(text) => Check::warning(
            NAME,
            text.lines().next().unwrap_or_default().trim(),
            "nvidia-smi is not there or shows no GPU",
        ),
        Err(_) => Check::warning(NAME, "nvidia-smi is not there or shows no GPU", remedy),
    }
}

fn toolkit() -> Check {
    const NAME: &str = "toolkit";
    let root = std::env::var_os("CUDA_PATH")
        .map_or_else(|| PathBuf::from("/usr/local/cuda"), PathBuf::from);
    let header = root.join("include/cuda_runtime.h");
    if header.is_file() {
        return Check::ok(NAME, root.display().to_string());
    }
    Check::warning(
        NAME,
        format!(
            "{} is not there, which kernels are compiled with",
            header.display()
        ),
        "the CUDA toolkit is needed, no newer than the driver; CUDA_PATH names its folder if that is not /usr/local/cuda",
    )
}

/// Opens a device and multiplies on it.
fn device(name: DeviceName) -> Vec<Check> {
    const NAME: &str = "device";
    const PRODUCT: &str = "product";
    let device = match name.open() {
        Ok(device) => device,
        Err(error) => {
            return vec![Check::missing(
                NAME,
                error.to_string(),
                "see docs/how-to/gpu-box.md",
            )];
        }
    };
    let mut checks = vec![Check::ok(
        NAME,
        match sentinel_lm::check_precision(Precision::Bf16, &device).is_ok() {
            true => format!("{name} starts; it reports bf16"),
            false => format!("{name} starts; it has no bf16, so leave out --precision"),
        },
    )];
    let report = "do not train on it, and report it with the output of this command";
    let product = match multiply(name, &device) {
        Ok(found) => found,
        Err(reason) => {
            checks.push(Check::missing(PRODUCT, reason, report));
            return checks;
        }
    };
    let found = format!("error {:.1e} of the largest number", product.error);
    let Some(format) = product.format() else {
        checks.push(Check::missing(
            PRODUCT,
            format!("{found}: it is wrong"),
            report,
        ));
        return checks;
    };
    checks.push(Check::ok(PRODUCT, format!("{found}, as in {format}")));
    checks.push(Check::ok(
        "speed",
        format!(
            "{:.0} GFLOP/s with matrices of {}: enough to train adapters at some {} tokens/s",
            product.flops / 1e9,
            product.size,
            rates(product.flops)
        ),
    ));
    checks
}

/// Multiplies on a device; a processor on all of its cores at once, as in training.
fn multiply(name: DeviceName, device: &Device) -> Result<ProductCheck, String> {
    let threads = match name {
        DeviceName::Cpu => core_count(),
        DeviceName::Wgpu | DeviceName::Cuda => 1,
    };
    // Where a kernel does not compile, the libraries of devices panic.
    let run = std::panic::AssertUnwindSafe(|| ProductCheck::run(device, threads));
    match std::panic::catch_unwind(run) {
        Ok(Ok(check)) => Ok(check),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("its library reported the reason above".to_owned()),
    }
}

/// Describes the tokens per second of training that products allow: forward and backward pass multiply every frozen
/// weight once each.
fn rates(flops: f64) -> String {
    let rate =
        |(name, parameters): (&str, f64)| format!("{:.0} ({name})", flops / (4.0 * parameters));
    MODELS.map(rate).join(", ")
}

/// Formats bytes in GiB.
fn gib(bytes: u128) -> String {
    format!("{:.1} GiB", bytes as f64 / f64::from(1 << 30))
}
