//! `cargo xtask test` and `cargo xtask lint`: everything that CI runs, part by part, with a summary at the end.

mod browser_parts;
mod context;
mod openenv_part;
mod pretrained_part;
mod python_parts;
mod trainer_parts;

use crate::dirs::{Dirs, running_program};
use crate::page;
use crate::run::{Steps, print_line, print_note};
use crate::size;
use crate::test_counts::Tally;
use crate::tidy;
use crate::tools;
use anyhow::{Result, bail};
use browser_parts::{e2e, firefox, lighthouse, site, wasm};
use context::{Ci, WORKSPACE};
use openenv_part::openenv;
use pretrained_part::pretrained;
use python_parts::{notebook, package, python};
use std::process::Command;
use std::time::{Duration, Instant};
use trainer_parts::{devices, learning, mpi, wasm32, wgpu};

/// One part of a run.
pub struct Part {
    /// Name for `--only`.
    pub name: &'static str,
    /// A description of the checks, with their approximate duration.
    pub what: &'static str,
    /// The command that runs it.
    pub set: Set,
    run: fn(&mut Ci) -> Result<Tally>,
}

/// The commands that parts belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Set {
    /// `cargo xtask lint`: checks that run nothing of ours.
    Lint,
    /// `cargo xtask test`: tests of code and page.
    Test,
    /// `cargo xtask test --full` alone: what takes long.
    Full,
}

/// All parts, in the order of a run.
pub const PARTS: [Part; 26] = [
    part(Set::Lint, "fmt", "every file is formatted (seconds)", fmt),
    part(
        Set::Lint,
        "tidy",
        "rules of this repository (seconds)",
        check_tidy,
    ),
    part(
        Set::Lint,
        "clippy",
        "no warning in any crate (about 3 min cold)",
        clippy,
    ),
    part(
        Set::Lint,
        "wasm32",
        "the algorithms of compact policies compile for the browser (about 2 min cold)",
        wasm32,
    ),
    part(
        Set::Lint,
        "docs",
        "the documentation of the code has no broken link (about 1 min)",
        docs,
    ),
    part(
        Set::Lint,
        "book",
        "mdbook makes a book of docs/ (once about 3 min to install mdbook)",
        book,
    ),
    part(
        Set::Lint,
        "devices",
        "training compiles for wgpu and CUDA (about 4 min cold)",
        devices,
    ),
    part(
        Set::Test,
        "tests",
        "unit, golden, property and doc tests (about 4 min; 14 min cold)",
        tests,
    ),
    part(
        Set::Test,
        "python",
        "the Python package: environments, prompts, digests (about 1 min; once 1 min more for its packages)",
        python,
    ),
    part(
        Set::Test,
        "wasm",
        "golden episodes and digests inside wasm, in headless Chromium (about 3 min cold)",
        wasm,
    ),
    part(
        Set::Test,
        "page",
        "the page builds (about 4 min cold; once 10 min more where Trunk must be compiled)",
        build_page,
    ),
    part(
        Set::Test,
        "size",
        "the first load stays in its budget (seconds)",
        check_size,
    ),
    part(
        Set::Test,
        "e2e",
        "the page works in headless Chromium (about 5 min)",
        e2e,
    ),
    part(
        Set::Full,
        "firefox",
        "the page works in headless Firefox (seconds; once 2 min more to compile geckodriver)",
        firefox,
    ),
    part(
        Set::Full,
        "site",
        "page and book in one folder, opened from a sub-path (about 1 min)",
        site,
    ),
    part(
        Set::Full,
        "lighthouse",
        "Lighthouse's scores of the page (about 5 min; once 1 min more to install it)",
        lighthouse,
    ),
    part(
        Set::Full,
        "offline",
        "the page builds again with no network (seconds)",
        offline,
    ),
    part(
        Set::Full,
        "notebook",
        "the notebooks run from their first cell to their last (about 8 min cold)",
        notebook,
    ),
    part(
        Set::Full,
        "package",
        "pip installs the Python package, and it works with Inspect, TRL, SkyRL and Stable-Baselines3 (about 5 min; once 15 min more for PyTorch)",
        package,
    ),
    part(
        Set::Full,
        "openenv",
        "OpenEnv's Python clients and graders accept the server, and verifiers plays it (about 2 min; once 4 min more to install them)",
        openenv,
    ),
    part(
        Set::Full,
        "pretrained",
        "a published model is imported from GGUF, and computes what transformers and PEFT compute (about 5 min; once 15 min more for PyTorch)",
        pretrained,
    ),
    part(
        Set::Full,
        "wgpu",
        "language models and training on software Vulkan (about 8 min; 15 min cold)",
        wgpu,
    ),
    part(
        Set::Full,
        "mpi",
        "two ranks of Open MPI learn what one process learns (about 1 min; 10 min more cold)",
        mpi,
    ),
    part(
        Set::Full,
        "order",
        "prompts do not depend on the order of JSON maps (about 1 min)",
        order,
    ),
    part(
        Set::Full,
        "learning",
        "ten policies of trust learn as in the page, in time and without collapse (about 12 min)",
        learning,
    ),
    part(
        Set::Full,
        "long",
        "tests marked `ignored`, which take long (minutes)",
        long,
    ),
];

const fn part(
    set: Set,
    name: &'static str,
    what: &'static str,
    run: fn(&mut Ci) -> Result<Tally>,
) -> Part {
    Part {
        name,
        what,
        set,
        run,
    }
}

/// Runs the parts of `sets`, or those in `only`; returns the sum of their counts.
///
/// # Errors
/// Returns an error if `only` names an unknown part. A failing part is counted, not an error.
pub fn run(dirs: &Dirs, sets: &[Set], only: &[String]) -> Result<Tally> {
    for name in only {
        if !PARTS.iter().any(|part| part.name == name) {
            let names: Vec<&str> = PARTS.iter().map(|part| part.name).collect();
            bail!("no part `{name}`: the parts are {}", names.join(", "));
        }
    }
    let is_chosen = |part: &&Part| match only {
        [] => sets.contains(&part.set),
        only => only.iter().any(|name| name == part.name),
    };
    let chosen: Vec<&Part> = PARTS.iter().filter(is_chosen).collect();
    let mut steps = Steps::new(chosen.len());
    let mut ci = Ci::new(dirs);
    let mut results = Vec::new();
    for part in chosen {
        steps.next(&format!("{}: {}…", part.name, part.what));
        let start = Instant::now();
        let tally = (part.run)(&mut ci).unwrap_or_else(|error| {
            print_line(&format!("{error:#}"));
            Tally {
                passed: 0,
                failed: 1,
            }
        });
        results.push((part.name, tally, start.elapsed()));
    }
    Ok(summarize(&results))
}

/// Prints one line per part and the sum alone on the last line.
fn summarize(results: &[(&str, Tally, Duration)]) -> Tally {
    print_line("");
    let mut sum = Tally::default();
    for (name, tally, time) in results {
        let mark = if tally.failed == 0 { "ok  " } else { "FAIL" };
        print_line(&format!(
            "{mark} {name:<10} {:>5} passed {:>4} failed {:>5} s",
            tally.passed,
            tally.failed,
            time.as_secs()
        ));
        sum += *tally;
    }
    print_line(&format!("{} passed, {} failed", sum.passed, sum.failed));
    sum
}

fn fmt(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo.args(["fmt", "--all", "--check", "--", "--color", "never"]);
    let tally = ci.one_check("fmt", &mut cargo)?;
    if tally.failed > 0 {
        print_line("`cargo fmt --all` fixes it");
    }
    Ok(tally)
}

fn clippy(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo.args(["clippy", "--workspace", "--all-targets"]);
    cargo.args(["--", "-D", "warnings"]);
    ci.one_check("clippy", &mut cargo)
}

fn docs(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["doc", "--workspace", "--no-deps"])
        .env("RUSTDOCFLAGS", "-D warnings");
    ci.one_check("docs", &mut cargo)
}

fn book(ci: &mut Ci) -> Result<Tally> {
    let mdbook = tools::mdbook().ensure(&ci.dirs, &mut Steps::inside(1))?;
    let mut build = Command::new(mdbook);
    let folder = ci.dirs.target.join("book");
    build.arg("build").arg(ci.dirs.root.join("docs"));
    build.arg("--dest-dir").arg(folder);
    ci.one_check("book", &mut build)
}

fn tests(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo.args(["test", "--no-fail-fast"]).args(WORKSPACE);
    ci.cargo_test("tests", &mut cargo)
}

/// Tests prompts with the order of maps that a program around `env` may switch on. Alone, so that no other
/// crate is compiled with it.
fn order(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo
        .args(["test", "-p", "sentinel-env", "--test", "text"])
        .args(["--features", "preserve_order"]);
    ci.cargo_test("order", &mut cargo)
}

fn long(ci: &mut Ci) -> Result<Tally> {
    let mut cargo = ci.dirs.cargo();
    cargo.args(["test", "--no-fail-fast"]).args(WORKSPACE);
    cargo.args(["--", "--ignored"]);
    ci.cargo_test("long", &mut cargo)
}

fn check_tidy(ci: &mut Ci) -> Result<Tally> {
    let report = tidy::check(&ci.dirs)?;
    for line in &report.broken {
        print_line(line);
    }
    print_note(&format!(
        "{} files read, {} imports resolved",
        report.files, report.imports
    ));
    print_note(&report.docs.summary());
    let failed = report.broken.len() as u64;
    Ok(Tally {
        passed: u64::from(failed == 0),
        failed,
    })
}

fn build_page(ci: &mut Ci) -> Result<Tally> {
    let target = ci.wasm_target()?;
    // A page left from an earlier run must not pass for this one.
    let _ = std::fs::remove_dir_all(ci.dirs.dist());
    page::build_with(&ci.dirs, &target, &mut Steps::inside(page::STEPS - 1))?;
    Ok(Tally {
        passed: 1,
        failed: 0,
    })
}

/// Runs `cargo xtask demo` again, with cargo offline and with proxies that do not exist.
fn offline(ci: &mut Ci) -> Result<Tally> {
    let mut demo = Command::new(running_program()?);
    demo.args(["demo", "--build-only"])
        .current_dir(&ci.dirs.root);
    for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "ALL_PROXY"] {
        demo.env(name, "http://127.0.0.1:9");
    }
    demo.env("CARGO_HTTP_PROXY", "http://127.0.0.1:9");
    demo.env("CARGO_NET_OFFLINE", "true");
    ci.one_check("offline", &mut demo)
}

fn check_size(ci: &mut Ci) -> Result<Tally> {
    print_line(size::check(&ci.dirs)?.trim_end());
    Ok(Tally {
        passed: 1,
        failed: 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_part_error_lists_known_parts() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let dirs = Dirs {
            root: folder.path().into(),
            target: folder.path().into(),
            cache: folder.path().into(),
        };
        let error = run(&dirs, &[Set::Lint], &["color".into()]).expect_err("no such part");
        let text = error.to_string();
        assert!(
            text.contains("`color`") && text.contains("clippy"),
            "{text}"
        );
    }
}
