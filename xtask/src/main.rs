//! The command line of `cargo xtask`.

use anyhow::{Context, Result, bail};
use lexopt::{Arg, Parser, ValueExt};
use std::io::Write;
use std::process::ExitCode;
use xtask::ci::Set;
use xtask::dirs::Dirs;
use xtask::run::print_line;
use xtask::{ci, demo, e2e, golden, site, size, wasm_split};

const HELP: &str = "\
cargo xtask TASK

  demo        build the page and serve it on 127.0.0.1
                --port N      exactly this port (default: the first free one from 8080 on)
                --build-only  leave the page in dist/ and stop
  site        the page, the book and a Space's README in one folder, for a static host
                --out DIR          the folder, new or empty
                --url URL          its address, for the pictures of shared links
                --repository URL   the repository that the page links to
  test        tests of code and page
                --full        all that lint checks, and what takes long
                --only NAME…  only these parts
                --list        name the parts
  lint        formatting, lints, documentation, other devices; same options
  size        compare the page's first load, and what it keeps for offline visits, with
              xtask/size-budget.json
  golden      record the episode digests in testdata/digests again
  bench-wasm  time environment steps inside wasm, in headless Chromium
  screenshots make the pictures of the page in dist/ again: README, docs, visual comparison
                --check       compare with the committed ones; differences: target/screenshots
  bench-page  long tasks, scrubbing and loading times of the page in dist/, in headless Chromium

Variables: SENTINEL_CACHE (tools; default ~/.cache/sentinel), SENTINEL_WASM_TOOLCHAIN (auto, rustup
or debian: the source of the wasm standard library), SENTINEL_CHROMIUM, SENTINEL_CHROMEDRIVER,
SENTINEL_FIREFOX, SENTINEL_GECKODRIVER.
";

fn main() -> ExitCode {
    match wasm_split::run_wrapper().and_then(|code| code.map_or_else(run, Ok)) {
        Ok(code) => code,
        Err(error) => {
            // A failure of standard error cannot be reported anywhere.
            let _ = writeln!(std::io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let mut parser = Parser::from_env();
    let task = match parser.next()? {
        Some(Arg::Value(task)) => task.string()?,
        None | Some(Arg::Long("help") | Arg::Short('h')) => "help".into(),
        Some(other) => return Err(other.unexpected()).context("name a task first"),
    };
    let dirs = Dirs::find()?;
    match task.as_str() {
        "help" => print_line(HELP.trim_end()),
        "demo" => demo::demo(&dirs, demo_options(&mut parser)?)?,
        "site" => site::site(&dirs, &site_options(&mut parser)?)?,
        "test" => return test(&dirs, &[Set::Test], &mut parser),
        "lint" => return test(&dirs, &[Set::Lint], &mut parser),
        "size" => {
            no_more(&mut parser)?;
            print_line(size::check(&dirs)?.trim_end());
        }
        "golden" => {
            no_more(&mut parser)?;
            golden::record(&dirs)?;
        }
        "bench-wasm" => {
            no_more(&mut parser)?;
            golden::bench_wasm(&dirs)?;
        }
        "bench-page" => {
            no_more(&mut parser)?;
            e2e::bench_page(&dirs)?;
        }
        "screenshots" => {
            let only_check = match parser.next()? {
                Some(Arg::Long("check")) => true,
                Some(other) => return Err(other.unexpected().into()),
                None => false,
            };
            no_more(&mut parser)?;
            e2e::screenshots(&dirs, only_check)?;
        }
        other => bail!("no task `{other}`\n\n{HELP}"),
    }
    Ok(ExitCode::SUCCESS)
}

fn demo_options(parser: &mut Parser) -> Result<demo::Options> {
    let mut options = demo::Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("port") => {
                let port = parser.value()?.string()?;
                let port = port
                    .parse()
                    .with_context(|| format!("--port {port}: must be a number from 0 to 65535"))?;
                options.port = Some(port);
            }
            Arg::Long("build-only") => options.build_only = true,
            // Scripts written for other tools pass it; no browser is ever opened here.
            Arg::Long("no-open") => {}
            other => return Err(other.unexpected()).context("in `cargo xtask demo`"),
        }
    }
    Ok(options)
}

fn site_options(parser: &mut Parser) -> Result<site::Options> {
    let mut options = site::Options::default();
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("out") => options.out = parser.value()?.into(),
            Arg::Long("url") => options.url = Some(parser.value()?.string()?),
            Arg::Long("repository") => options.repository = Some(parser.value()?.string()?),
            other => return Err(other.unexpected()).context("in `cargo xtask site`"),
        }
    }
    if options.out.as_os_str().is_empty() {
        bail!("name the folder: cargo xtask site --out DIR");
    }
    Ok(options)
}

fn test(dirs: &Dirs, sets: &[Set], parser: &mut Parser) -> Result<ExitCode> {
    let (mut sets, mut only) = (sets.to_vec(), Vec::new());
    while let Some(argument) = parser.next()? {
        match argument {
            Arg::Long("only") => {
                for name in parser.values()? {
                    only.push(name.string()?);
                }
            }
            Arg::Long("full") => sets = vec![Set::Lint, Set::Test, Set::Full],
            Arg::Long("list") => {
                for part in &ci::PARTS {
                    let command = match part.set {
                        Set::Lint => "lint",
                        Set::Test => "test",
                        Set::Full => "test --full",
                    };
                    print_line(&format!("{:<9} {command:<12} {}", part.name, part.what));
                }
                return Ok(ExitCode::SUCCESS);
            }
            other => return Err(other.unexpected()).context("in `cargo xtask test` or `lint`"),
        }
    }
    let tally = ci::run(dirs, &sets, &only)?;
    Ok(if tally.failed == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}

fn no_more(parser: &mut Parser) -> Result<()> {
    match parser.next()? {
        Some(argument) => Err(argument.unexpected().into()),
        None => Ok(()),
    }
}
