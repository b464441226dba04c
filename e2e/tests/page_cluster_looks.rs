//! The layout of the cluster page alone, in a frame and on a phone: nothing overflows, and
//! screenshots are saved for review.

use anyhow::Result;
use sentinel_e2e::{looks_right, open_page};

/// Nothing overflows on a phone, in light and in dark, alone and in a frame.
#[tokio::test]
async fn a_phone_shows_all_of_it() -> Result<()> {
    let (server, browser) = open_page("world=cluster").await?;
    let looks = [
        (
            "cluster-phone",
            390,
            2600,
            "task=3&seed=42&policy=trust&t=63",
        ),
        (
            "cluster-phone-dark",
            390,
            2600,
            "task=3&seed=42&policy=trust&t=63&view=truth&theme=dark",
        ),
        (
            "cluster-phone-compare",
            390,
            1400,
            "task=2&seed=42&policy=trust&vs=blind&t=20",
        ),
        (
            "cluster-embed",
            720,
            620,
            "task=1&seed=3&policy=trust&t=9&embed=1",
        ),
        ("cluster", 1280, 2000, "task=3&seed=42&policy=trust&t=63"),
        (
            "cluster-dark",
            1280,
            2000,
            "task=3&seed=42&policy=trust&t=63&view=truth&theme=dark",
        ),
    ];
    looks_right(&server, &browser, "cluster", &looks).await
}
