//! The files that the service worker keeps: visits without a network, storage that is full, and a page that is
//! deployed again while a tab shows it.

use anyhow::{Context, Result};
use sentinel_e2e::{
    Browser, SUB_PATH, Server, ask, copy_of_page, is_played, open, serve, serve_page, shows_action,
};
use serde_json::json;
use std::path::Path;

/// The sentence about what is missing without a network.
const OFFLINE: &str = "You are offline, and this part was not loaded before.";

/// Visits one world in a new browser, and waits until the service worker keeps the files.
async fn visit_once(server: &Server) -> Result<Browser> {
    let browser = Browser::start().await?;
    open(&browser, server, "policy=heuristic").await?;
    let kept = "const done = arguments[arguments.length - 1];
        navigator.serviceWorker.ready.then(async () => done((await caches.keys()).length));";
    assert_eq!(browser.execute_async(kept, vec![]).await?, json!(1));
    Ok(browser)
}

/// After one visit of one world the trained policies of all worlds play without a network, and what is
/// not there is named.
#[tokio::test]
async fn one_visit_is_enough_for_all_worlds() -> Result<()> {
    let server = serve_page()?;
    let browser = visit_once(&server).await?;
    let address = server.url();
    drop(server);
    browser.go_offline(true).await?;
    for query in [
        "policy=grpo&rules=reference",
        "policy=grpo&rules=hardened",
        "world=cluster&policy=grpo&rules=reference&t=3",
        "world=cluster&policy=grpo&rules=hardened&t=3",
        "world=polyguard&policy=grpo",
    ] {
        browser.goto(&format!("{address}?{query}")).await?;
        browser.wait_for("[data-ready][data-of]").await?;
        browser
            .wait_for("[data-pane=main][data-player=grpo]")
            .await?;
        is_played(&browser).await?;
        if query.contains("t=3") {
            shows_action(&browser, 3).await?;
        }
        let notices = ask(&browser, "document.querySelector('#notices').innerText").await?;
        assert_eq!(notices, json!(""), "{query}");
    }
    for query in ["policy=replay:trust-bayes-hardened", "page=results"] {
        browser.goto(&format!("{address}?{query}")).await?;
        browser
            .wait_until(&format!(
                "document.querySelector('#notices')?.textContent.includes('{OFFLINE}')"
            ))
            .await?;
    }
    Ok(())
}

/// A file that the browser has no room for is shown all the same.
#[tokio::test]
async fn full_storage_fails_no_request() -> Result<()> {
    let server = serve_page()?;
    let browser = visit_once(&server).await?;
    browser
        .wait_until("navigator.serviceWorker.controller")
        .await?;
    let address = server.url();
    let origin = address.trim_end_matches(SUB_PATH);
    let quota = json!({"origin": origin, "quotaSize": 1000});
    browser
        .dev_tools("Storage.overrideQuotaForOrigin", quota)
        .await?;
    open(&browser, &server, "policy=replay:trust-bayes-hardened").await?;
    browser
        .wait_for("[data-player='replay:trust-bayes-hardened']")
        .await?;
    browser
        .wait_until("!document.querySelector('#count').textContent.endsWith('/ 0')")
        .await
}

/// Gives the programs of a world other names, as another version of them has.
fn deploy_another(dist: &Path, world: &str) -> Result<()> {
    let stem = format!("sentinel-{world}-");
    let mut renamed = Vec::new();
    for entry in dist.read_dir()? {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if name.starts_with(&stem) {
            // Of the same length, since programs name their parts.
            let end = name.find(['.', '_']).context("a name without an ending")?;
            let at = end - 4;
            let new = format!("{}ffff{}", &name[..at], &name[at + 4..]);
            renamed.push((name, new));
        }
    }
    assert!(renamed.len() >= 2, "{renamed:?}");
    for (old, new) in &renamed {
        std::fs::rename(dist.join(old), dist.join(new))?;
    }
    for entry in dist.read_dir()? {
        let file = entry?.path();
        if !file.is_file() {
            continue;
        }
        let bytes = std::fs::read(&file)?;
        let mut changed = bytes.clone();
        for (old, new) in &renamed {
            replace(&mut changed, old.as_bytes(), new.as_bytes());
        }
        if changed != bytes {
            std::fs::write(&file, changed)?;
        }
    }
    Ok(())
}

/// Replaces bytes by others of the same length.
fn replace(bytes: &mut [u8], old: &[u8], new: &[u8]) {
    let mut at = 0;
    while let Some(found) = bytes[at..].windows(old.len()).position(|part| part == old) {
        at += found;
        bytes[at..at + new.len()].copy_from_slice(new);
        at += new.len();
    }
}

/// A tab that is open while the page is deployed again goes on with the files of its version.
#[tokio::test]
async fn open_tab_keeps_its_version() -> Result<()> {
    let folder = copy_of_page()?;
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = visit_once(&server).await?;
    browser
        .wait_until("navigator.serviceWorker.controller")
        .await?;
    browser.execute("window.mark = true;", vec![]).await?;
    deploy_another(folder.path(), "cluster")?;
    browser.click("[data-world=cluster]").await?;
    browser.wait_for("[data-of=cluster][data-ready]").await?;
    assert_eq!(ask(&browser, "window.mark").await?, json!(true));
    Ok(())
}

/// A tab that has lost the files of its version loads the new one by itself, with the same view.
#[tokio::test]
async fn open_tab_without_its_files_is_reloaded() -> Result<()> {
    let folder = copy_of_page()?;
    let server = serve(folder.path(), SUB_PATH, 0)?;
    let browser = visit_once(&server).await?;
    browser.execute("window.mark = true;", vec![]).await?;
    let forget = "const done = arguments[arguments.length - 1];
        navigator.serviceWorker.getRegistrations()
            .then((all) => Promise.all(all.map((worker) => worker.unregister())))
            .then(() => caches.keys())
            .then((names) => Promise.all(names.map((name) => caches.delete(name))))
            .then(() => done(true));";
    browser.execute_async(forget, vec![]).await?;
    deploy_another(folder.path(), "polyguard")?;
    browser.click("[data-world=polyguard]").await?;
    browser.wait_for("[data-of=polyguard][data-ready]").await?;
    assert_eq!(ask(&browser, "window.mark ?? null").await?, json!(null));
    Ok(())
}
