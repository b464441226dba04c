//! Files in a real browser: those that a visitor drops onto the page, and those that the page saves.

use anyhow::{Result, ensure};
use fantoccini::Locator;
use fantoccini::key::Key;
use sentinel_e2e::{
    Browser, holds_at_end, inspect_view, is_played, is_silent, open, open_page, screenshots,
    shows_action,
};
use sentinel_policy::replay::ReplayFile;
use serde_json::{Value, json};

/// Keeps what the page saves in `window.saved` instead of saving it: names and contents.
pub(super) const KEEP_SAVED: &str = "window.saved = [];
    const addresses = new Map();
    const create = URL.createObjectURL.bind(URL);
    URL.createObjectURL = (blob) => { const address = create(blob); addresses.set(address, blob); return address; };
    HTMLAnchorElement.prototype.click = function () {
        window.saved.push({name: this.download, blob: addresses.get(this.href)});
    };";

/// Writes a file beside the screenshots, to look at it.
fn keep(name: &str, content: &[u8]) -> Result<()> {
    std::fs::create_dir_all(screenshots())?;
    Ok(std::fs::write(screenshots().join(name), content)?)
}

/// Returns a file of the repository.
fn repository(path: &str) -> Result<Vec<u8>> {
    Ok(std::fs::read(format!(
        "{}/../{path}",
        env!("CARGO_MANIFEST_DIR")
    ))?)
}

/// Shows the end of the episode, and waits until an element has this text there.
async fn ends_with(browser: &Browser, selector: &str, text: &str) -> Result<()> {
    let found = format!("document.querySelector('{selector}').textContent");
    holds_at_end(browser, &format!("{found} === '{text}'")).await
}

/// Drags files over the page, checks that it is highlighted, and drops them.
async fn drop_files(browser: &Browser, files: &[(&str, &[u8])]) -> Result<()> {
    let content = |bytes: &[u8]| match std::str::from_utf8(bytes) {
        Ok(text) => json!(text),
        Err(_) => json!(bytes),
    };
    let files = files
        .iter()
        .map(|(name, bytes)| json!([name, content(bytes)]));
    let script = "window.dropped = new DataTransfer();
        for (const [name, content] of arguments[0]) {
            const bytes = typeof content === 'string' ? content : new Uint8Array(content);
            window.dropped.items.add(new File([bytes], name));
        }
        window.dispatchEvent(new DragEvent('dragover', {dataTransfer: window.dropped, bubbles: true, cancelable: true}));";
    browser
        .execute(script, vec![Value::Array(files.collect())])
        .await?;
    browser
        .wait_until("document.querySelector('#drop').checkVisibility()")
        .await?;
    let script = "window.dispatchEvent(new DragEvent('drop', {dataTransfer: window.dropped, bubbles: true, cancelable: true}));";
    browser.execute(script, vec![]).await?;
    browser
        .wait_until("!document.querySelector('#drop').checkVisibility()")
        .await
}

/// Waits until the page has said something about each of `parts`, in the element `selector`.
async fn says(browser: &Browser, selector: &str, parts: &[&str]) -> Result<()> {
    for part in parts {
        let said = format!(
            "document.querySelector('{selector}')?.textContent.includes({})",
            json!(part)
        );
        browser.wait_until(&said).await?;
    }
    Ok(())
}

/// Presses a button of the dialog, and returns name and bytes of the file that the page saves.
async fn save(browser: &Browser, key: &str) -> Result<(String, Vec<u8>)> {
    saved_by(browser, &format!("[data-take={key}]")).await
}

/// Presses a button after [`KEEP_SAVED`], and returns name and bytes of the file that the page saves.
pub(super) async fn saved_by(browser: &Browser, button: &str) -> Result<(String, Vec<u8>)> {
    browser.execute("window.saved.length = 0", vec![]).await?;
    browser.click(button).await?;
    browser.wait_until("window.saved.length === 1").await?;
    let read = "const done = arguments[arguments.length - 1];
        const {name, blob} = window.saved[0];
        blob.arrayBuffer().then((buffer) => done([name, [...new Uint8Array(buffer)]]));";
    let saved = browser.execute_async(read, vec![]).await?;
    let bytes: Vec<u8> = serde_json::from_value(saved[1].clone())?;
    Ok((saved[0].as_str().unwrap_or_default().to_owned(), bytes))
}

async fn open_dialog(browser: &Browser) -> Result<()> {
    browser.click("#files-dialog").await?;
    browser.wait_for("#files[open] [data-take=jsonl]").await
}

#[tokio::test]
async fn files_are_dropped_in_any_mixture() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    let model = repository("docs/results/policies/trust/1-start/model.safetensors")?;
    let log = repository("replays/grpo/trainer_state.json")?;
    let replay = repository("replays/bayes-independent.jsonl")?;
    let evaluation = repository("docs/results/outputs/eval_post.json")?;
    let files: [(&str, &[u8]); 4] = [
        ("trainer_state.json", &log),
        ("mine.jsonl", &replay),
        ("eval.json", &evaluation),
        ("first.safetensors", &model),
    ];
    drop_files(&browser, &files).await?;
    let named = files.map(|(name, _)| name);
    says(&browser, "#files-read", &named).await?;
    // The model plays the episode that was shown, and the replay is in the menu.
    browser
        .wait_until("decodeURIComponent(location.search).includes('policy=model:first')")
        .await?;
    says(&browser, "[data-note=source]", &["Model “"]).await?;
    says(&browser, "#player", &["Replay mine"]).await?;
    ensure!(browser.text("#files-read").await?.contains("Training"));
    // The table has the means of the file, and leads to an episode with its score.
    says(
        &browser,
        "#evaluation",
        &["0.870 ±", "Task 3", "Bayes look-ahead"],
    )
    .await?;
    browser
        .save_screenshot(&screenshots().join("files-dropped.png"))
        .await?;
    let script = "const link = [...document.querySelectorAll('#evaluation tr')]
            .find((row) => row.textContent.startsWith('Task 3Bayes look-ahead')).querySelector('button');
        link.click(); return link.textContent";
    let link = browser.execute(script, vec![]).await?;
    let link = link.as_str().unwrap_or_default();
    let (seed, score) = link.split_once(", ").unwrap_or_default();
    let seed = seed.replace("Worst: seed ", "seed=");
    browser
        .wait_until(&format!(
            "location.search.includes('{seed}&') && location.search.includes('policy=bayes')"
        ))
        .await?;
    ends_with(&browser, ".score", score).await?;
    // The log that came with the others is on its screen.
    browser.click("[data-screen=training]").await?;
    says(&browser, "[data-panel=runs]", &["500 optimizer steps"]).await?;
    // The same files in the reverse order: the model plays again.
    browser.click("[data-screen=episode]").await?;
    let mut reversed = files;
    reversed.reverse();
    drop_files(&browser, &reversed).await?;
    says(&browser, "#files-read", &named).await?;
    browser
        .wait_until("decodeURIComponent(location.search).includes('policy=model:first') && document.querySelector('[data-ready] #play')")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn logs_open_the_training_screen_and_files_open_their_world() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    for (name, path) in [
        (
            "trainer_state.json",
            "replays/cluster-grpo/trainer_state.json",
        ),
        (
            "trainer_state (1).json",
            "docs/results/polyguard-sweep/report/data/sweeps/logs/small-grpo_adapter/trainer_state.json",
        ),
    ] {
        drop_files(&browser, &[(name, &repository(path)?)]).await?;
        says(&browser, "#files-read", &[name]).await?;
        browser.wait_for(".curves [data-chart=reward]").await?;
    }
    says(&browser, "[data-panel=runs]", &["60 optimizer steps"]).await?;
    let model = repository("replays/cluster-grpo/model.safetensors")?;
    drop_files(&browser, &[("model.safetensors", &model)]).await?;
    browser.wait_for("[data-of=cluster][data-ready]").await?;
    says(&browser, "#files-read", &["model.safetensors: Model"]).await?;
    says(&browser, "[data-note=source]", &["Model “"]).await?;
    let replay = repository("replays/polyguard-rules_only-hardened.jsonl")?;
    drop_files(&browser, &[("poly.jsonl", &replay)]).await?;
    browser.wait_for("[data-of=polyguard][data-ready]").await?;
    says(&browser, "#player", &["Replay poly"]).await?;
    browser
        .wait_until("location.search.includes('policy=replay:poly')")
        .await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn errors_name_file_and_place() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic").await?;
    let mut replay = repository("replays/bayes-independent.jsonl")?;
    replay.truncate(3000);
    let mut model = repository("replays/grpo/model.safetensors")?;
    model.truncate(4000);
    let evaluation = String::from_utf8(repository("docs/results/outputs/eval_post.json")?)?;
    let evaluation = evaluation.replacen("\"score\": ", "\"points\": ", 2);
    let files: [(&str, &[u8]); 6] = [
        ("my.jsonl", &replay),
        ("cut.safetensors", &model),
        ("eval.json", evaluation.as_bytes()),
        ("broken.json", b"{\n  \"log_history\": [\n}"),
        ("config.json", b"{\"model_type\": \"qwen2\"}"),
        ("noise.png", b"\x89PNG\r\n\x1a\n\0\0"),
    ];
    drop_files(&browser, &files).await?;
    says(
        &browser,
        "#notices",
        &[
            "my.jsonl, line ",
            "cut.safetensors does not contain a policy",
            "eval.json is not an evaluation: entry 1 of `episodes` has no `score`",
            "broken.json is not JSON",
            "line 3",
            "config.json is JSON, but neither",
            "noise.png is neither text in UTF-8 nor a safetensors file",
        ],
    )
    .await?;
    shows_action(&browser, 0).await?;
    is_silent(&browser).await
}

#[tokio::test]
async fn episodes_and_charts_are_saved() -> Result<()> {
    let (server, browser) = open_page("").await?;
    for (query, name) in [
        ("task=3&seed=42&policy=grpo", "trust-task3-seed42-grpo"),
        (
            "world=polyguard&task=DDI-easy&seed=42&policy=rules_only",
            "polyguard-DDI-easy-seed42-rules_only",
        ),
        (
            "world=cluster&task=task1&seed=5&policy=planner&at=3&acts=t&resume=1",
            "cluster-task1-seed5-planner-own",
        ),
    ] {
        open(&browser, &server, query).await?;
        is_played(&browser).await?;
        browser.press(&Key::End.to_string()).await?;
        browser.execute(KEEP_SAVED, vec![]).await?;
        let digest = browser.text(".digest").await?;
        open_dialog(&browser).await?;
        let (saved, replay) = save(&browser, "jsonl").await?;
        assert_eq!(saved, format!("{name}.jsonl"));
        let read = ReplayFile::default().parse(std::str::from_utf8(&replay)?);
        let found = read.verify();
        assert!(found.fits() && found.episodes.len() == 1, "{found:?}");
        assert_eq!(found.episodes[0].digest.to_string(), digest);
        if let Some(chart) = saves_charts(&browser).await? {
            assert!(chart.starts_with(name), "{chart}");
        }
        // The file plays the same episode in the page.
        browser.click("#files-close").await?;
        drop_files(&browser, &[("again.jsonl", &replay)]).await?;
        browser
            .wait_until("location.search.includes('policy=replay:again')")
            .await?;
        ends_with(&browser, ".digest", &digest).await?;
    }
    is_silent(&browser).await
}

/// Saves the first chart as SVG and PNG, and returns the name of the drawing; `None` if the world
/// draws no chart.
async fn saves_charts(browser: &Browser) -> Result<Option<String>> {
    if browser.find(Locator::Css("[data-take=svg]")).await.is_err() {
        return Ok(None);
    }
    let (drawing, svg) = save(browser, "svg").await?;
    assert!(drawing.ends_with(".svg"), "{drawing}");
    let parse = "const file = new DOMParser().parseFromString(arguments[0], 'image/svg+xml');
        const root = file.documentElement;
        return file.querySelector('parsererror')?.textContent
            ?? [root.localName, root.getAttribute('width'), root.getAttribute('height'), file.querySelectorAll('path').length > 2]";
    let svg = String::from_utf8(svg)?;
    let found = browser.execute(parse, vec![json!(svg)]).await?;
    assert_eq!(
        (&found[0], &found[3]),
        (&json!("svg"), &json!(true)),
        "{found}"
    );
    assert!(!svg.contains("class="), "styles are attributes");
    let (picture, png) = save(browser, "png").await?;
    assert_eq!(picture, drawing.replace(".svg", ".png"));
    assert!(png.starts_with(b"\x89PNG\r\n\x1a\n"));
    let number = |at: usize| u32::from_be_bytes([png[at], png[at + 1], png[at + 2], png[at + 3]]);
    let twice = |size: &Value| {
        let size: f64 = size
            .as_str()
            .and_then(|text| text.parse().ok())
            .unwrap_or(0.0);
        // The browser rounds the size of a drawing to whole pixels.
        [2.0 * size.floor(), 2.0 * size.round(), 2.0 * size.ceil()].map(|size| size as u32)
    };
    assert!(
        twice(&found[1]).contains(&number(16)),
        "{found} {}",
        number(16)
    );
    assert!(
        twice(&found[2]).contains(&number(20)),
        "{found} {}",
        number(20)
    );
    keep(&picture, &png)?;
    Ok(Some(drawing))
}

#[tokio::test]
async fn standings_links_and_code_are_taken_away() -> Result<()> {
    let (_server, browser) = open_page("task=1&seed=5&policy=heuristic&t=2").await?;
    browser.execute(KEEP_SAVED, vec![]).await?;
    let script = "const seeds = document.querySelector('#tournament-seeds'); seeds.value = '20';
        seeds.dispatchEvent(new Event('change', {bubbles: true}));
        document.querySelector('#tournament').click();";
    browser.execute(script, vec![]).await?;
    browser.wait_for("[data-mean]").await?;
    open_dialog(&browser).await?;
    let (name, csv) = save(&browser, "csv").await?;
    assert_eq!(name, "trust-task1-standings.csv");
    let csv = String::from_utf8(csv)?;
    assert!(
        csv.starts_with("player,name,mean,") && csv.contains("\r\ngrpo,"),
        "{csv}"
    );
    let keep = "Clipboard.prototype.writeText = async (text) => { window.copied = text; };";
    browser.execute(keep, vec![]).await?;
    for (key, parts) in [
        ("copy-link", &["/some/sub/path/?", "seed=5", "t=2"][..]),
        (
            "copy-element",
            &[
                "<script async src=\"http",
                "sentinel-episode.js\"></script>",
                "seed=\"5\"",
                "t=\"2\"",
            ],
        ),
        (
            "copy-frame",
            &["<iframe src=\"http", "?embed=1&amp;", "&amp;seed=5"],
        ),
    ] {
        browser.click(&format!("[data-take={key}]")).await?;
        for part in parts {
            let copied = format!("window.copied?.includes({})", json!(part));
            browser.wait_until(&copied).await?;
        }
        says(&browser, &format!("[data-take={key}]"), &["Copied"]).await?;
    }
    is_silent(&browser).await
}

#[tokio::test]
async fn the_dialog_is_reached_by_keyboard_and_looks_right() -> Result<()> {
    let (server, browser) = open_page("").await?;
    let mut findings = Vec::new();
    for (width, theme) in [
        (1280, "light"),
        (1280, "dark"),
        (360, "light"),
        (360, "dark"),
    ] {
        browser.viewport(width, 800).await?;
        let query = format!("task=3&seed=42&policy=grpo&t=9&theme={theme}");
        open(&browser, &server, &query).await?;
        is_played(&browser).await?;
        let fits = "document.documentElement.scrollWidth <= window.innerWidth";
        browser.wait_until(fits).await?;
        let picture = screenshots().join(format!("page-{theme}-{width}.png"));
        browser.save_screenshot(&picture).await?;
        let focus = "document.querySelector('#files-dialog').focus()";
        browser.execute(focus, vec![]).await?;
        browser.press(&Key::Enter.to_string()).await?;
        browser
            .wait_for("#files[open] [data-take=copy-frame]")
            .await?;
        browser.wait_until(fits).await?;
        let inside = "document.querySelector('#files').scrollWidth <= document.querySelector('#files').clientWidth";
        browser.wait_until(inside).await?;
        findings.extend(inspect_view(&browser, &format!("files-{theme}-{width}")).await?);
        // The file field is in the order of the keys.
        let reach = "document.activeElement.id === 'files-open'";
        for _ in 0..4 {
            browser.press(&Key::Tab.to_string()).await?;
            if browser.execute(&format!("return {reach}"), vec![]).await? == json!(true) {
                break;
            }
        }
        browser.wait_until(reach).await?;
        // The driver takes keys that are sent to a file field for a path.
        let leave = "document.querySelector('#files-close').focus()";
        browser.execute(leave, vec![]).await?;
        browser.press(&Key::Escape.to_string()).await?;
        browser
            .wait_until("document.activeElement.id === 'files-dialog'")
            .await?;
        let evaluation = repository("docs/results/outputs/eval_post.json")?;
        drop_files(&browser, &[("eval_post.json", &evaluation)]).await?;
        browser.wait_for("#evaluation tbody tr").await?;
        browser.wait_until(fits).await?;
        findings.extend(inspect_view(&browser, &format!("evaluation-{theme}-{width}")).await?);
    }
    ensure!(findings.is_empty(), "{}", findings.join("\n"));
    is_silent(&browser).await
}
