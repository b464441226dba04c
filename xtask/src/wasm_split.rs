//! Splits the programs of the page into what the first paint or the first step needs and a deferred
//! part (`web/shell/src/deferred.rs`, `web/engine/src/engine/deferred.rs`).
//!
//! Splitting uses what the linker recorded, so it happens before wasm-bindgen. Trunk calls the first
//! `wasm-bindgen` on PATH: the build puts this program there under that name ([`install_wrapper`]).
//! It splits a program that was compiled for splitting, then calls the real wasm-bindgen
//! ([`run_wrapper`]). [`add_parts`] then puts the parts into `dist/`, which Trunk does not know.

use crate::dirs::{Dirs, list, running_program};
use anyhow::{Context, Result, bail};
use std::collections::hash_map::DefaultHasher;
use std::ffi::OsString;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

/// The variable that makes programs compile in parts.
pub const SPLIT: &str = "SENTINEL_SPLIT";
/// The variable with the path of the real wasm-bindgen, for the wrapper.
const REAL: &str = "SENTINEL_WASM_BINDGEN";
/// The variable with the folder for the parts, for the wrapper.
const PARTS: &str = "SENTINEL_PARTS";
/// The name under which Trunk looks for wasm-bindgen.
const PROGRAM: &str = "wasm-bindgen";
/// The word in the names of all parts in `dist/`, after the name of the program.
const DEFERRED: &str = "-later-";
/// The custom section of a program that was compiled for splitting.
const MARKER: &str = "__wasm_split_unstable";
/// The name by which the script that loads the parts imports the program's module.
const MAIN_MODULE: &str = "./main.js";
/// The file with the part that is loaded first.
const MAIN_PROGRAM: &str = "main.wasm";

/// Returns `true` for the files that hold the deferred part of a program.
#[must_use]
pub fn is_deferred_module(name: &str) -> bool {
    name.contains(DEFERRED) && name.ends_with(".wasm")
}

/// Copies this program to a folder of its own as `wasm-bindgen`, and returns the folder with the
/// variables that the copy needs.
///
/// # Errors
/// Returns an error if the folder cannot be written.
pub fn install_wrapper(
    dirs: &Dirs,
    bindgen: &Path,
) -> Result<(PathBuf, [(&'static str, PathBuf); 2])> {
    let xtask = running_program()?;
    let folder = dirs.web_target().join(PROGRAM);
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("cannot make {}", folder.display()))?;
    let copy = folder
        .join(PROGRAM)
        .with_extension(std::env::consts::EXE_EXTENSION);
    std::fs::copy(&xtask, &copy)
        .with_context(|| format!("cannot copy {} to {}", xtask.display(), copy.display()))?;
    let parts = parts_folder(dirs);
    let _ = std::fs::remove_dir_all(&parts);
    Ok((folder, [(REAL, bindgen.to_owned()), (PARTS, parts)]))
}

fn parts_folder(dirs: &Dirs) -> PathBuf {
    dirs.web_target().join("parts")
}

/// Acts as wasm-bindgen if this program was called by that name; `None` otherwise.
///
/// # Errors
/// Returns an error if the program cannot be split, or wasm-bindgen cannot be called.
pub fn run_wrapper() -> Result<Option<ExitCode>> {
    let mut arguments = std::env::args_os();
    let name = arguments.next().unwrap_or_default();
    let (Some(real), Some(parts)) = (std::env::var_os(REAL), std::env::var_os(PARTS)) else {
        return Ok(None);
    };
    if Path::new(&name)
        .file_stem()
        .is_none_or(|stem| stem != PROGRAM)
    {
        return Ok(None);
    }
    let mut arguments: Vec<OsString> = arguments.collect();
    if let Some(input) = arguments.iter_mut().find(|word| is_program(word)) {
        *input = divide(Path::new(input), Path::new(&parts))?.into_os_string();
        // The parts find memory and functions by the linker's names.
        arguments.push("--keep-lld-exports".into());
        arguments.push("--remove-name-section".into());
        arguments.push("--remove-producers-section".into());
    }
    let status = Command::new(&real).args(arguments).status();
    let status = status.with_context(|| format!("cannot call {}", real.display()))?;
    let code = status.code().and_then(|code| u8::try_from(code).ok());
    Ok(Some(ExitCode::from(code.unwrap_or(1))))
}

fn is_program(word: &OsString) -> bool {
    Path::new(word)
        .extension()
        .is_some_and(|kind| kind == "wasm")
}

/// Splits a program that was compiled for splitting; returns the path of what wasm-bindgen has to
/// read.
fn divide(input: &Path, parts: &Path) -> Result<PathBuf> {
    let bytes = std::fs::read(input).with_context(|| format!("cannot read {}", input.display()))?;
    if !custom_sections(&bytes)?.any(|name| name == MARKER) {
        return Ok(input.to_owned());
    }
    let program = input.file_stem().unwrap_or_default().to_string_lossy();
    let parts = parts.join(&*program);
    // The program's module imports this script, so that its name, too, changes with the program.
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    let link = format!("./{program}{DEFERRED}{:016x}.js", hasher.finish());
    let main = parts.join(MAIN_PROGRAM);
    let mut options = wasm_split_cli_support::Options::new(&bytes);
    options.output_dir = &parts;
    options.main_out_path = &main;
    options.link_name = &link;
    options.main_module = MAIN_MODULE;
    if let Err(error) = wasm_split_cli_support::transform(options) {
        bail!("cannot split {}: {error:#}", input.display());
    }
    Ok(main)
}

fn custom_sections(program: &[u8]) -> Result<impl Iterator<Item = &str>> {
    let payloads = wasmparser::Parser::new(0).parse_all(program);
    let payloads: Vec<_> = payloads
        .collect::<Result<_, _>>()
        .context("not a wasm module")?;
    Ok(payloads.into_iter().filter_map(|payload| match payload {
        wasmparser::Payload::CustomSection(section) => Some(section.name()),
        _ => None,
    }))
}

/// Puts the parts into `dist/`, with a hash in their names; nothing if no program has any.
///
/// # Errors
/// Returns an error if a file cannot be read or written, or `dist/` lacks the module of a program.
pub fn add_parts(dirs: &Dirs, dist: &Path) -> Result<()> {
    let parts = parts_folder(dirs);
    if !parts.is_dir() {
        return Ok(());
    }
    for program in list(&parts)? {
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        add_parts_of(&name, &program, dist)
            .with_context(|| format!("cannot add the parts of {name}"))?;
    }
    Ok(())
}

fn add_parts_of(program: &str, parts: &Path, dist: &Path) -> Result<()> {
    let (mut script, mut modules) = (None, Vec::new());
    for file in list(parts)? {
        let name = file
            .file_name()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if name.ends_with(".js") {
            script = Some((name, read_text(&file)?));
        } else if name != MAIN_PROGRAM {
            modules.push((name, file));
        }
    }
    let (name, mut script) = script.context("the program was split without a script")?;
    let module = module_of(program, dist)?;
    script = script.replace(MAIN_MODULE, &format!("./{module}"));
    for (part, file) in modules {
        let bytes =
            std::fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let bytes = without_custom_sections(&bytes)?;
        let mut hasher = DefaultHasher::new();
        bytes.hash(&mut hasher);
        let hashed = format!("{program}{DEFERRED}{:016x}.wasm", hasher.finish());
        script = script.replace(&format!("./{part}"), &format!("./{hashed}"));
        write(&dist.join(hashed), &bytes)?;
    }
    write(&dist.join(name), script.as_bytes())
}

/// Returns the file name of a program's module in `dist/`.
fn module_of(program: &str, dist: &Path) -> Result<String> {
    let files = list(dist)?;
    let names = files.iter().filter_map(|file| file.file_name()?.to_str());
    let mut modules = names.filter(|name| {
        let rest = name.strip_prefix(program);
        rest.is_some_and(|rest| rest.starts_with(['-', '.']))
            && name.ends_with(".js")
            && !name.contains(DEFERRED)
    });
    let module = modules.next().map(str::to_owned);
    module.with_context(|| format!("{} has no module {program}", dist.display()))
}

/// Returns a module without names and other notes for tools.
fn without_custom_sections(program: &[u8]) -> Result<Vec<u8>> {
    // The magic number and the version of the format.
    let mut kept = program.get(..8).context("not a wasm module")?.to_vec();
    let mut end = kept.len();
    for payload in wasmparser::Parser::new(0).parse_all(program) {
        let payload = payload.context("not a wasm module")?;
        // A payload's range is its content; the bytes before it, from the end of the last section,
        // are its kind and size.
        if let Some((kind, content)) = payload.as_section() {
            let next = usize::try_from(content.end).unwrap_or(usize::MAX);
            if kind != 0 {
                kept.extend_from_slice(program.get(end..next).context("not a wasm module")?);
            }
            end = next;
        }
    }
    Ok(kept)
}

fn read_text(file: &Path) -> Result<String> {
    std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module with an empty type section between two custom sections.
    const MODULE: [u8; 21] = [
        0, b'a', b's', b'm', 1, 0, 0, 0, // magic number and version
        0, 3, 1, b'x', 9, // custom section `x`
        1, 1, 0, // no types
        0, 3, 1, b'y', 9, // custom section `y`
    ];

    #[test]
    fn custom_sections_are_removed_and_others_stay() {
        let names: Vec<_> = custom_sections(&MODULE).expect("a module").collect();
        assert_eq!(names, ["x", "y"]);
        let kept = without_custom_sections(&MODULE).expect("a module");
        assert_eq!(kept, [&MODULE[..8], &[1, 1, 0]].concat());
        assert!(without_custom_sections(b"no").is_err());
        assert!(without_custom_sections(&MODULE[..12]).is_err());
    }

    #[test]
    fn a_program_that_does_not_ask_for_it_stays_whole() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let program = folder.path().join("engine.wasm");
        std::fs::write(&program, MODULE).expect("a file");
        let read = divide(&program, &folder.path().join("parts")).expect("a module");
        assert_eq!(read, program);
        assert!(!folder.path().join("parts").exists());
    }

    #[test]
    fn parts_are_named_by_content_and_find_the_module_of_the_page() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path().to_owned();
        let dirs = Dirs {
            target: root.join("target"),
            cache: root.join("cache"),
            root: root.clone(),
        };
        let dist = root.join("dist");
        std::fs::create_dir_all(&dist).expect("a folder");
        add_parts(&dirs, &dist).expect("nothing to do");
        let parts = parts_folder(&dirs).join("sentinel-page");
        std::fs::create_dir_all(&parts).expect("a folder");
        let script = "import { initSync } from \"./main.js\"; fetch(\"./split_extras.wasm\");";
        std::fs::write(parts.join("sentinel-page-later-1.js"), script).expect("a file");
        std::fs::write(parts.join("split_extras.wasm"), MODULE).expect("a file");
        std::fs::write(parts.join("main.wasm"), MODULE).expect("a file");
        assert!(add_parts(&dirs, &dist).is_err(), "no module of the page");
        std::fs::write(dist.join("sentinel-page-2.js"), "").expect("a file");
        add_parts(&dirs, &dist).expect("parts");
        let script = read_text(&dist.join("sentinel-page-later-1.js")).expect("a script");
        assert!(script.contains("\"./sentinel-page-2.js\""), "{script}");
        let name = script
            .split("./")
            .nth(2)
            .and_then(|rest| rest.split('"').next());
        let module = std::fs::read(dist.join(name.expect("a name"))).expect("a module");
        assert_eq!(module.len(), 11);
        assert!(!dist.join("main.wasm").exists());
    }
}
