//! Runs the test kit's wasm module inside the browser, to check there the same code that the page
//! runs.
//!
//! The module has a plain C interface and imports nothing: `alloc(len)`, `dealloc(ptr, len)`,
//! `check_golden(ptr, len)` and `check_digests(ptr, len)` (both return the address of a JSON text,
//! whose length is in the first four bytes), `bench(kind, n)`.

use crate::{Browser, Server, serve};
use anyhow::{Context, Result, bail};
use serde_json::{Value, json};
use std::path::Path;

/// The page that loads the module; `window.kit` becomes its exports.
const PAGE: &str = "<!doctype html><meta charset='utf-8'><title>test kit</title>
<link rel='icon' href='data:,'>
<script type='module'>
  const { instance } = await WebAssembly.instantiateStreaming(fetch('testkit.wasm'), {});
  window.kit = instance.exports;
</script>";

/// A script that passes a file to one of the checks. Addresses come back as signed numbers, which
/// `>>> 0` makes unsigned.
const CHECK: &str = "
const [check, file, done] = arguments;
(async () => {
  const text = new Uint8Array(await (await fetch(file)).arrayBuffer());
  const at = kit.alloc(text.length) >>> 0;
  new Uint8Array(kit.memory.buffer, at, text.length).set(text);
  const result = kit[check](at, text.length) >>> 0;
  kit.dealloc(at, text.length);
  const length = new DataView(kit.memory.buffer).getUint32(result, true);
  const json = new TextDecoder().decode(new Uint8Array(kit.memory.buffer, result + 4, length));
  kit.dealloc(result, length + 4);
  done(JSON.parse(json));
})().catch(error => done({error: String(error.stack || error)}));
";

/// A script that times steps and returns milliseconds and a checksum.
const BENCH: &str = "
const [kind, steps, done] = arguments;
try {
  const start = performance.now();
  const checksum = kit.bench(kind, steps);
  done({ms: performance.now() - start, checksum});
} catch (error) {
  done({error: String(error.stack || error)});
}
";

/// The result of a check.
#[derive(Debug, PartialEq)]
pub struct Report {
    /// The number of rows or digests that were compared.
    pub checked: u64,
    /// The number of rows or digests that differ.
    pub failed: u64,
    /// The first differences as text: task, seed, policy, step.
    pub messages: Vec<String>,
}

/// The result of one timed run.
#[derive(Debug, Clone, Copy)]
pub struct Timing {
    /// The wall time in milliseconds.
    pub ms: f64,
    /// A sum over the steps, so that no step is optimized away.
    pub checksum: f64,
}

/// The test kit's module, loaded in its own browser.
#[derive(Debug)]
pub struct Testkit {
    browser: Browser,
    folder: tempfile::TempDir,
    _server: Server,
}

impl Testkit {
    /// Loads `module` into a new browser.
    ///
    /// # Errors
    /// Returns an error if the browser does not start or cannot load the module.
    pub async fn start(module: &Path) -> Result<Self> {
        let folder = tempfile::tempdir().context("no folder to serve the module from")?;
        std::fs::copy(module, folder.path().join("testkit.wasm"))
            .with_context(|| format!("cannot copy {}", module.display()))?;
        std::fs::write(folder.path().join("index.html"), PAGE)?;
        let server = serve(folder.path(), "/", 0).context("no port to serve the module on")?;
        let browser = Browser::start().await?;
        browser.goto(&server.url()).await?;
        browser
            .wait_until("window.kit")
            .await
            .with_context(|| format!("{} does not load", module.display()))?;
        Ok(Self {
            browser,
            folder,
            _server: server,
        })
    }

    /// Runs `check` (`check_golden` or `check_digests`) over the text of a file; `name` is for
    /// errors.
    ///
    /// # Errors
    /// Returns an error if the module traps or does not return a report.
    pub async fn check(&self, check: &str, name: &str, text: &[u8]) -> Result<Report> {
        // Always use the same file name: the caller's name may not be valid in a URL.
        std::fs::write(self.folder.path().join("input.txt"), text)?;
        let arguments = vec![json!(check), json!("input.txt")];
        let answer = self.browser.execute_async(CHECK, arguments).await?;
        report(&answer).with_context(|| format!("{check} of {name}"))
    }

    /// Runs `steps` steps of one of `sentinel_testkit::bench::KINDS`.
    ///
    /// # Errors
    /// Returns an error if the module traps.
    pub async fn bench(&self, kind: u32, steps: u32) -> Result<Timing> {
        let arguments = vec![json!(kind), json!(steps)];
        let answer = self.browser.execute_async(BENCH, arguments).await?;
        match (answer["ms"].as_f64(), answer["checksum"].as_f64()) {
            (Some(ms), Some(checksum)) => Ok(Timing { ms, checksum }),
            _ => bail!("bench({kind}, {steps}) in wasm: {answer}"),
        }
    }
}

/// Parses `{"checked": 3, "failed": 1, "messages": ["…"]}`.
fn report(answer: &Value) -> Result<Report> {
    if let Some(error) = answer["error"].as_str() {
        bail!("the module stopped: {error}");
    }
    let number = |key: &str| {
        answer[key]
            .as_u64()
            .with_context(|| format!("`{key}` is not a number in {answer}"))
    };
    let messages = answer["messages"].as_array();
    Ok(Report {
        checked: number("checked")?,
        failed: number("failed")?,
        messages: messages
            .with_context(|| format!("`messages` is not a list in {answer}"))?
            .iter()
            .map(|message| message.as_str().unwrap_or_default().to_owned())
            .collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_read_strictly() {
        let good = json!({"checked": 3, "failed": 1, "messages": ["task1 seed 0"]});
        let read = Report {
            checked: 3,
            failed: 1,
            messages: vec!["task1 seed 0".into()],
        };
        assert_eq!(report(&good).expect("good"), read);
        for bad in [
            json!({"checked": 3, "failed": 1}),
            json!({"checked": -3, "failed": 1, "messages": []}),
            json!({"error": "unreachable"}),
            json!(null),
        ] {
            assert!(report(&bad).is_err(), "{bad}");
        }
    }
}
