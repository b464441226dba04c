//! Measures how smooth the built page is in every world: `cargo xtask bench-page`.
//!
//! Five tables: tasks of the main thread above 50 ms, scrubbing, times until something is shown, analyses,
//! and training. Every measurement checks that the page did what is measured, and fails otherwise. Each world
//! begins with a control: if an empty page has long tasks, the machine is too busy.

// A command-line program prints to the terminal.
#![allow(clippy::print_stdout)]

use anyhow::{Context, Result, ensure};
use sentinel_e2e::main_thread::{LongTask, ProcessorTime, processor_time, take_long_tasks, watch};
use sentinel_e2e::{Browser, Server, is_played, is_silent, open, serve_page, shows_action};
use serde_json::{Value, json};
use std::time::Duration;

/// The episode and players that are measured in a world.
struct World {
    name: &'static str,
    /// The episode, as a query of the address.
    episode: &'static str,
    player: &'static str,
    /// The player in the second pane.
    other: &'static str,
    /// The player that looks ahead, and takes longest for an action.
    slow: &'static str,
}

const WORLDS: [World; 3] = [
    World {
        name: "trust",
        episode: "world=trust&task=3&seed=42",
        player: "bayes",
        other: "heuristic",
        slow: "bayes",
    },
    World {
        name: "cluster",
        episode: "world=cluster&task=3&seed=42",
        player: "trust",
        other: "blind",
        slow: "lookahead",
    },
    World {
        name: "polyguard",
        episode: "world=polyguard&seed=42",
        player: "rules_only",
        other: "random",
        slow: "oracle",
    },
];

/// The time after which a slow player and a tournament have been watched for long enough.
const WATCHED: Duration = Duration::from_secs(15);
/// The longest time that an analysis may take.
const ANALYZED: Duration = Duration::from_secs(90);
/// The number of times that loading and switching are measured; the median counts.
const LOADS: usize = 5;
/// The number of frames in which [`DRAG`] moves the bar.
const FRAMES: f64 = 300.0;

/// A script that moves the bar by one action in each of 300 frames, from end to end and back. It
/// returns the milliseconds between frames, and how many moments of the longer episode were drawn.
const DRAG: &str = "const done = arguments[arguments.length - 1];
    const bar = document.querySelector('#scrubber'), last = Number(bar.max);
    const gaps = [], drawn = new Set();
    let at = 0, by = 1, before = null, left = 300;
    function frame(now) {
        if (before !== null) gaps.push(now - before);
        before = now;
        drawn.add(Math.max(...[...document.querySelectorAll('[data-frame]')].map(e => Number(e.dataset.frame))));
        at += by;
        if (at >= last || at <= 0) by = -by;
        bar.value = at;
        bar.dispatchEvent(new Event('input', {bubbles: true}));
        if (--left > 0) requestAnimationFrame(frame); else setTimeout(() => done([gaps, drawn.size, last]), 100);
    }
    requestAnimationFrame(frame);";

/// The time for which a policy is trained.
const TRAINED: Duration = Duration::from_secs(60);

/// A script that starts to train, and keeps the milliseconds until the first update.
const TRAIN: &str = "const start = performance.now();
    window.training = {start, first: null};
    new MutationObserver((_, observer) => {
        if (!(Number(document.querySelector('#train-digest')?.dataset.updates) > 0)) return;
        training.first = performance.now() - start;
        observer.disconnect();
    }).observe(document.querySelector('#train'), {subtree: true, childList: true, attributes: true});
    document.querySelector('#train-start').click();";

/// An expression with what training has reached: milliseconds until the first update, updates so far, all
/// updates, seconds, the score, and the players that were passed.
const REACHED: &str = "[training.first, Number(document.querySelector('#train-digest').dataset.updates),
    Number(document.querySelector('#train-state').textContent.match(/of ([0-9]+)/)?.[1]),
    (performance.now() - training.start) / 1000, document.querySelector('.train-score').dataset.mean,
    [...document.querySelectorAll('#train-passed li')].map(line => line.textContent).join('; ')]";

/// A script that works for 8 ms in each of 300 frames.
const CONTROL: &str = "const done = arguments[0];
    let left = 300;
    function frame() {
        for (const start = performance.now(); performance.now() - start < 8;);
        if (--left > 0) requestAnimationFrame(frame); else done();
    }
    requestAnimationFrame(frame);";

/// A script that returns the milliseconds of twenty million steps of an integer loop, the fastest of five.
const SPEED: &str = "const times = [0, 1, 2, 3, 4].map(() => {
        const start = performance.now();
        let sum = 0;
        for (let i = 0; i < 2e7; i++) sum = (sum * 31 + i) | 0;
        return performance.now() - start + 0 * sum;
    });
    return Math.min(...times);";

/// A script that switches to a world and returns the milliseconds until its first step is playable
/// and painted.
const SWITCH: &str = "const [world, done] = arguments, start = performance.now();
    const painted = () => setTimeout(() => done(performance.now() - start));
    const look = () => requestAnimationFrame(isPlayable(world) ? painted : look);
    document.querySelector(`[data-world=${world}]`).click();
    look();";

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let server = serve_page()?;
    let browser = Browser::start().await?;
    watch(&browser).await?;
    let bench = Bench { server, browser };
    let (mut scrubbing, mut analyses, mut trained) = (Vec::new(), Vec::new(), Vec::new());
    let speed = bench.speed().await?;
    println!("The machine: {speed:.0} ms for 20 million steps of an integer loop in JavaScript.\n");
    println!("| world | activity | tasks > 50 ms | longest, ms | where |\n|---|---|---|---|---|");
    for world in &WORLDS {
        let row = |activity: &str, tasks: &[LongTask]| {
            println!("| {} | {activity} | {} |", world.name, summary(tasks));
        };
        row("control", &bench.control().await?);
        row("playing at 4×", &bench.play(world).await?);
        let truth = "&view=truth".to_owned();
        let versus = format!("&vs={}", world.other);
        for (view, query) in [
            ("one pane", String::new()),
            ("truth", truth),
            ("two panes", versus),
        ] {
            let scrub = bench.scrub(world, &query).await?;
            row(&format!("scrubbing, {view}"), &scrub.tasks);
            scrubbing.push((world.name, view, scrub));
        }
        row("tournament", &bench.tournament(world).await?);
        row(
            &format!("`{}` looks ahead", world.slow),
            &bench.look_ahead(world).await?,
        );
        let (tasks, seconds) = bench.analysis(world).await?;
        row("analysis", &tasks);
        analyses.push((world.name, seconds));
        let (tasks, reached) = bench.training(world).await?;
        row("training", &tasks);
        trained.push((world.name, reached));
    }
    println!(
        "\n| scrubbing | frames/s | ms between frames, median / 95 % | script + style + layout, ms a frame | all, ms |\n|---|---|---|---|---|"
    );
    for (world, view, scrub) in scrubbing {
        println!("| {world}, {view} | {} |", scrub.summary());
    }
    println!(
        "\n| world | first paint, ms | first step, ms | tasks > 50 ms | switch to it, ms | again, ms |\n|---|---|---|---|---|---|"
    );
    for world in &WORLDS {
        println!("| {} | {} |", world.name, bench.load(world).await?);
    }
    println!("\n| analysis | actions | s |\n|---|---|---|");
    for (world, row) in analyses {
        println!("| {world} | {row} |");
    }
    println!(
        "\n| training | first update, ms | updates | s | updates/s | score | above |\n|---|---|---|---|---|---|---|"
    );
    for (world, row) in trained {
        println!("| {world} | {row} |");
    }
    Ok(())
}

/// Returns number, duration and place for a row: of the longest task.
fn summary(tasks: &[LongTask]) -> String {
    match tasks.first() {
        Some(longest) => format!("{} | {:.0} | {}", tasks.len(), longest.ms, longest.place),
        None => "0 | – | –".to_owned(),
    }
}

/// The result of scrubbing.
struct Scrub {
    /// Milliseconds between frames, ascending.
    gaps: Vec<f64>,
    per_frame: ProcessorTime,
    tasks: Vec<LongTask>,
}

impl Scrub {
    fn summary(&self) -> String {
        let mean = self.gaps.iter().sum::<f64>() / self.gaps.len() as f64;
        let at = |share: f64| self.gaps[(self.gaps.len() as f64 * share) as usize];
        let ProcessorTime {
            all,
            script,
            style,
            layout,
        } = self.per_frame;
        format!(
            "{:.1} | {:.1} / {:.1} | {:.1} ({script:.1}, {style:.1}, {layout:.1}) | {all:.1}",
            1000.0 / mean,
            at(0.5),
            at(0.95),
            script + style + layout
        )
    }
}

struct Bench {
    server: Server,
    browser: Browser,
}

impl Bench {
    /// Opens a view of a world, and forgets the tasks until then.
    async fn open(&self, world: &World, player: &str, more: &str) -> Result<()> {
        let query = format!("{}&policy={player}&t=0{more}", world.episode);
        open(&self.browser, &self.server, &query).await?;
        let pane = format!("[data-pane=main][data-player={player}]");
        self.browser.wait_for(&pane).await?;
        take_long_tasks(&self.browser).await?;
        Ok(())
    }

    /// Opens a view like [`Bench::open`], and waits until its episodes are played to the end.
    async fn open_played(&self, world: &World, more: &str) -> Result<()> {
        self.open(world, world.player, more).await?;
        if more.contains("vs=") {
            let pane = format!("[data-pane=versus][data-player={}]", world.other);
            self.browser.wait_for(&pane).await?;
        }
        is_played(&self.browser).await?;
        let long = "Number(document.querySelector('#scrubber').max) > 3";
        self.browser.wait_until(long).await?;
        self.tasks().await?;
        Ok(())
    }

    /// Returns the long tasks since the last call; an error if the page shows a mistake.
    async fn tasks(&self) -> Result<Vec<LongTask>> {
        // The browser reports a task a moment after its end.
        tokio::time::sleep(Duration::from_millis(300)).await;
        let tasks = take_long_tasks(&self.browser).await?;
        let fine = "!document.querySelector('#notices li, #restart')";
        self.browser.wait_until(fine).await?;
        is_silent(&self.browser).await?;
        Ok(tasks)
    }

    /// Returns the long tasks of an empty page that works for 8 ms a frame: those of the machine.
    async fn control(&self) -> Result<Vec<LongTask>> {
        self.browser.goto("about:blank").await?;
        self.browser.execute_async(CONTROL, vec![]).await?;
        self.tasks().await
    }

    /// Returns the milliseconds of [`SPEED`], by which figures of two machines can be compared.
    async fn speed(&self) -> Result<f64> {
        self.browser.goto("about:blank").await?;
        let ms = self.browser.execute(SPEED, vec![]).await?;
        ms.as_f64().context("no time")
    }

    async fn play(&self, world: &World) -> Result<Vec<LongTask>> {
        self.open_played(world, "&speed=4").await?;
        shows_action(&self.browser, 0).await?;
        self.browser.click("#play").await?;
        let at_end =
            "(([a, b]) => a === b)(document.querySelector('#count').textContent.split(' / '))";
        self.browser.wait_until(at_end).await?;
        self.tasks().await
    }

    async fn scrub(&self, world: &World, more: &str) -> Result<Scrub> {
        self.open_played(world, more).await?;
        let before = processor_time(&self.browser).await?;
        let found = self.browser.execute_async(DRAG, vec![]).await?;
        let after = processor_time(&self.browser).await?;
        let gaps = found[0].as_array().context("the page gave no times")?;
        let mut gaps: Vec<f64> = gaps.iter().filter_map(Value::as_f64).collect();
        gaps.sort_by(f64::total_cmp);
        let (drawn, last) = (found[1].as_u64(), found[2].as_u64());
        ensure!(
            drawn > last.map(|last| last * 9 / 10),
            "{}: scrubbing drew {drawn:?} moments of {last:?}",
            world.name
        );
        Ok(Scrub {
            gaps,
            per_frame: after.per_frame(before, FRAMES),
            tasks: self.tasks().await?,
        })
    }

    /// Plays a tournament to its end, or for [`WATCHED`].
    async fn tournament(&self, world: &World) -> Result<Vec<LongTask>> {
        self.open_played(world, "").await?;
        self.browser.click("#tournament").await?;
        let note = "document.querySelector('#tournament-note').textContent";
        let ended = format!("{note}.includes('Mean score')");
        self.browser.becomes(&ended, WATCHED).await?;
        let tasks = self.tasks().await?;
        let played = format!("Number.parseInt({note}) > 0");
        self.browser.wait_until(&played).await?;
        Ok(tasks)
    }

    /// Plays what a slow player does while it is computed, to the end or for [`WATCHED`].
    async fn look_ahead(&self, world: &World) -> Result<Vec<LongTask>> {
        self.open(world, world.slow, "&speed=4").await?;
        self.browser.click("#play").await?;
        let ended = "document.querySelector('#play').textContent.includes('Play')";
        self.browser.becomes(ended, WATCHED).await?;
        let tasks = self.tasks().await?;
        let moved = "Number.parseInt(document.querySelector('#count').textContent) > 0";
        self.browser.wait_until(moved).await?;
        Ok(tasks)
    }

    /// Analyzes an episode; returns the long tasks, the number of actions and the seconds.
    async fn analysis(&self, world: &World) -> Result<(Vec<LongTask>, String)> {
        self.open_played(world, "").await?;
        let start = std::time::Instant::now();
        self.browser.click("#analyze").await?;
        let complete = "document.querySelector('[data-analysis=complete]')";
        let ended = self.browser.becomes(complete, ANALYZED).await?;
        let seconds = start.elapsed().as_secs_f64();
        let actions = self
            .number("Number(document.querySelector('#scrubber').max)")
            .await?;
        ensure!(ended, "{}: no analysis in {ANALYZED:?}", world.name);
        Ok((self.tasks().await?, format!("{actions} | {seconds:.1}")))
    }

    /// Trains with the preset to the end, or for [`TRAINED`]; returns the long tasks and what was reached.
    async fn training(&self, world: &World) -> Result<(Vec<LongTask>, String)> {
        let query = format!("?world={}&page=training", world.name);
        let address = format!("{}{query}", self.server.url());
        self.browser.goto(&address).await?;
        self.browser.wait_for("#train-start").await?;
        self.browser.wait_for("[data-chart] path.line").await?;
        self.tasks().await?;
        self.browser.execute(TRAIN, vec![]).await?;
        self.browser.wait_for(".train-score").await?;
        let ended = "document.querySelector('#train-pause').hidden";
        self.browser.becomes(ended, TRAINED).await?;
        let found = self
            .browser
            .execute(&format!("return {REACHED}"), vec![])
            .await?;
        let number = |at: usize| found[at].as_f64().context("training did not begin");
        let (updates, seconds) = (number(1)?, number(3)?);
        let row = format!(
            "{:.0} | {updates} of {} | {seconds:.0} | {:.2} | {} | {} |",
            number(0)?,
            number(2)?,
            updates / seconds,
            found[4].as_str().context("no score")?,
            found[5].as_str().context("no lines")?,
        );
        let tasks = self.tasks().await?;
        self.browser.click("#train-reset").await?;
        Ok((tasks, row.trim_end_matches(" |").to_owned()))
    }

    /// Measures the first visit to a world, and switching to it from another one: first paint,
    /// first step, long tasks until then, the first and the second switch.
    async fn load(&self, world: &World) -> Result<String> {
        let (mut paint, mut step, mut first, mut again) = (vec![], vec![], vec![], vec![]);
        let mut tasks = Vec::new();
        let other = WORLDS.iter().find(|other| other.name != world.name);
        let other = other.context("a world alone")?;
        for _ in 0..LOADS {
            self.forget_page().await?;
            open(&self.browser, &self.server, world.episode).await?;
            self.browser.wait_until("window.playableAt").await?;
            let name = "first-contentful-paint";
            let painted = format!("performance.getEntriesByName('{name}')[0]?.startTime");
            self.browser.wait_until(&painted).await?;
            paint.push(self.number(&painted).await?);
            step.push(self.number("window.playableAt").await?);
            tasks = self.tasks().await?;
            self.forget_page().await?;
            open(&self.browser, &self.server, other.episode).await?;
            first.push(self.switch(world).await?);
            self.switch(other).await?;
            again.push(self.switch(world).await?);
            self.tasks().await?;
        }
        let [paint, step, first, again] = [paint, step, first, again].map(median);
        let tasks = tasks.len();
        Ok(format!(
            "{paint:.0} | {step:.0} | {tasks} | {first:.0} | {again:.0}"
        ))
    }

    /// Makes the next visit the first one: nothing of the page is cached.
    async fn forget_page(&self) -> Result<()> {
        self.browser.goto("about:blank").await?;
        let origin = json!({"origin": self.server.url(), "storageTypes": "all"});
        self.browser
            .dev_tools("Storage.clearDataForOrigin", origin)
            .await?;
        self.browser
            .dev_tools("Network.clearBrowserCache", json!({}))
            .await?;
        Ok(())
    }

    async fn switch(&self, world: &World) -> Result<f64> {
        let ms = self
            .browser
            .execute_async(SWITCH, vec![json!(world.name)])
            .await?;
        ms.as_f64().context("no time")
    }

    async fn number(&self, expression: &str) -> Result<f64> {
        let found = self
            .browser
            .execute(&format!("return {expression}"), vec![])
            .await?;
        found
            .as_f64()
            .with_context(|| format!("{expression} is {found}"))
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
