//! Measures the page's main thread: tasks that are too long, and processor time by kind of work.

use crate::Browser;
use anyhow::{Context, Result};
use serde_json::{Value, json};

/// A script that runs before the page's own. It keeps the browser's entries of tasks and animation
/// frames above 50 ms, and the time at which the first step could be taken.
const WATCH: &str = "
window.entries = {longtask: [], 'long-animation-frame': []};
for (const [type, kept] of Object.entries(entries))
    new PerformanceObserver(list => kept.push(...list.getEntries())).observe({type, buffered: true});
window.isPlayable = (world = '') => document.querySelector(`[data-of${world && '=' + world}][data-ready]`)
    && Number(document.querySelector('#scrubber')?.max) > 0;
new MutationObserver((_, observer) => {
    if (!isPlayable()) return;
    window.playableAt = performance.now();
    observer.disconnect();
}).observe(document, {subtree: true, childList: true, attributes: true});
";

/// A script that returns the long tasks since the last call, each with the part of its animation
/// frame that took longest.
const TAKE: &str = "
const frames = entries['long-animation-frame'].splice(0);
const where = task => {
    const end = task.startTime + task.duration;
    const frame = frames.find(f => f.startTime < end && task.startTime < f.startTime + f.duration);
    if (!frame) return 'unknown';
    const script = [...frame.scripts].sort((a, b) => b.duration - a.duration)[0];
    const drawn = frame.styleAndLayoutStart;
    const drawing = drawn ? frame.startTime + frame.duration - drawn : 0;
    return script?.duration > drawing ? script.invoker : 'style, layout, paint';
};
return entries.longtask.splice(0).map(task => [task.duration, where(task)]);
";

/// The metrics that [`processor_time`] reads, in seconds of processor time.
const PARTS: [&str; 4] = [
    "TaskDuration",
    "ScriptDuration",
    "RecalcStyleDuration",
    "LayoutDuration",
];

/// A task of the main thread that took more than 50 ms.
#[derive(Clone, Debug, PartialEq)]
pub struct LongTask {
    /// The duration in milliseconds.
    pub ms: f64,
    /// The event handler that took longest, or `style, layout, paint`.
    pub place: String,
}

/// Processor time of the main thread.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ProcessorTime {
    /// Everything, painting included.
    pub all: f64,
    /// Scripts and wasm.
    pub script: f64,
    /// Computing styles.
    pub style: f64,
    /// Computing the layout.
    pub layout: f64,
}

/// Measures the pages that the browser opens from now on.
///
/// # Errors
/// Returns an error if the browser refuses.
pub async fn watch(browser: &Browser) -> Result<()> {
    let add = "Page.addScriptToEvaluateOnNewDocument";
    browser.dev_tools(add, json!({"source": WATCH})).await?;
    // Thread time, not wall time: other load on the machine does not count.
    let domain = json!({"timeDomain": "threadTicks"});
    browser.dev_tools("Performance.enable", domain).await?;
    Ok(())
}

/// Returns the long tasks of the page since the last call, the longest first.
///
/// # Errors
/// Returns an error if the page was opened before [`watch`].
pub async fn take_long_tasks(browser: &Browser) -> Result<Vec<LongTask>> {
    let found = browser.execute(TAKE, vec![]).await?;
    long_tasks(&found).with_context(|| format!("not a list of tasks: {found}"))
}

fn long_tasks(found: &Value) -> Option<Vec<LongTask>> {
    let task = |pair: &Value| {
        Some(LongTask {
            ms: pair[0].as_f64()?,
            place: pair[1].as_str()?.to_owned(),
        })
    };
    let mut tasks: Vec<LongTask> = found.as_array()?.iter().map(task).collect::<Option<_>>()?;
    tasks.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    Some(tasks)
}

/// Returns the processor time that the main thread has used so far, in milliseconds.
///
/// # Errors
/// Returns an error if [`watch`] was not called.
pub async fn processor_time(browser: &Browser) -> Result<ProcessorTime> {
    let found = browser
        .dev_tools("Performance.getMetrics", json!({}))
        .await?;
    let metrics = found["metrics"].as_array().context("no metrics")?;
    let value = |name: &str| {
        let metric = metrics.iter().find(|metric| metric["name"] == name);
        let seconds = metric.and_then(|metric| metric["value"].as_f64());
        seconds
            .map(|seconds| seconds * 1000.0)
            .with_context(|| format!("the browser does not measure {name}"))
    };
    let [all, script, style, layout] = PARTS.map(value);
    Ok(ProcessorTime {
        all: all?,
        script: script?,
        style: style?,
        layout: layout?,
    })
}

impl ProcessorTime {
    /// Returns the time since `before`, divided by a number of frames.
    #[must_use]
    pub fn per_frame(self, before: Self, frames: f64) -> Self {
        Self {
            all: (self.all - before.all) / frames,
            script: (self.script - before.script) / frames,
            style: (self.style - before.style) / frames,
            layout: (self.layout - before.layout) / frames,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_task_comes_first() {
        let tasks = long_tasks(&json!([[51, "a"], [80.5, "b"]])).expect("a list");
        assert_eq!((tasks[0].ms, &*tasks[0].place), (80.5, "b"));
        assert_eq!(long_tasks(&json!([])), Some(vec![]));
        assert_eq!(long_tasks(&json!([["a", 51]])), None);
    }
}
