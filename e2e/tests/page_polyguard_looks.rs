//! How the PolyGuard page looks on a screen, on a phone and in a frame, in light and in dark: nothing sticks out, and
//! screenshots to look at.

use anyhow::Result;
use sentinel_e2e::{open_page, screenshots};
use serde_json::json;

#[tokio::test]
async fn nothing_sticks_out_at_any_width() -> Result<()> {
    let (server, browser) = open_page("world=polyguard").await?;
    let folder = screenshots();
    for (name, width, height, query) in [
        ("polyguard", 1280, 1100, "task=DDI-medium&seed=42&t=1"),
        (
            "polyguard-dark",
            1280,
            2000,
            "task=DDI-hard&seed=3&t=3&view=truth&hints=1&theme=dark",
        ),
        (
            "polyguard-end",
            1280,
            1900,
            "task=NEW_DRUG_DECOMPOSITION-medium&seed=3&policy=rules_only&t=99",
        ),
        (
            "polyguard-dosing",
            1280,
            1700,
            "task=PRECISION_DOSING-hard&seed=3&policy=rules_only&t=2",
        ),
        ("polyguard-phone", 360, 3600, "task=DDI-medium&seed=42&t=1"),
        (
            "polyguard-phone-dark",
            360,
            4200,
            "task=BANDIT_MINING-hard&seed=5&t=2&view=truth&hints=1&theme=dark",
        ),
        (
            "polyguard-compare",
            1280,
            1900,
            "task=DDI-medium&seed=42&policy=rules_only&vs=greedy_regimen&t=2",
        ),
        (
            "polyguard-embed",
            720,
            620,
            "task=DDI-easy&seed=3&t=1&embed=1",
        ),
    ] {
        browser.viewport(width, height).await?;
        browser
            .goto(&format!("{}?world=polyguard&{query}", server.url()))
            .await?;
        browser.wait_for("svg .cursor").await?;
        browser
            .wait_until("document.documentElement.scrollWidth <= window.innerWidth")
            .await?;
        browser
            .save_screenshot(&folder.join(format!("{name}.png")))
            .await?;
        let nameless = "return [...document.querySelectorAll('button, input, select, svg[role], [role=img]')]
            .filter(e => !(e.getAttribute('aria-label') || e.textContent.trim() || (e.labels && e.labels.length)))
            .map(e => e.outerHTML.slice(0, 120));";
        assert_eq!(
            browser.execute(nameless, vec![]).await?,
            json!([]),
            "{name}"
        );
    }
    assert_eq!(browser.console_errors().await?, Vec::<String>::new());
    Ok(())
}
