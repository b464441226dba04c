//! The layout of the PolyGuard page on a screen, on a phone and in a frame, in light and in dark:
//! nothing overflows, and screenshots are saved for review.

use anyhow::Result;
use sentinel_e2e::{looks_right, open_page};

#[tokio::test]
async fn nothing_sticks_out_at_any_width() -> Result<()> {
    let (server, browser) = open_page("world=polyguard").await?;
    let looks = [
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
    ];
    looks_right(&server, &browser, "polyguard", &looks).await
}
