//! The animated picture of training in the README: a policy that learns in the page, some seconds for
//! each frame.

use crate::pictures::Pixels;
use crate::{Browser, Server};
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::time::{Duration, Instant};

/// The file of the picture, from the repository's root.
pub const FILM: &str = "docs/training.png";
/// Width and height of the window.
const WINDOW: (u32, u32) = (820, 800);
/// Seconds of training between two frames.
const EVERY: Duration = Duration::from_secs(3);
/// Number of frames while it trains.
const FRAMES: u32 = 14;
/// Milliseconds for which a frame is shown, and the last one.
const SHOWN_MS: (u16, u16) = (400, 4000);

/// Trains a policy in the page, and returns screenshots: one before it begins, the others at equal
/// intervals.
///
/// # Errors
/// Returns an error if the page does not train.
pub async fn take(browser: &Browser, server: &Server) -> Result<Vec<Pixels>> {
    browser.viewport(WINDOW.0, WINDOW.1).await?;
    let theme = ("prefers-color-scheme", "light");
    browser
        .prefer(&[theme, ("prefers-reduced-motion", "reduce")])
        .await?;
    let address = format!("{}?world=trust&page=training", server.url());
    browser.goto(&address).await?;
    browser.wait_for("#train-start:not([hidden])").await?;
    browser
        .execute("document.querySelector('#train').scrollIntoView()", vec![])
        .await?;
    let mut frames = Vec::new();
    browser.click("#train-start").await?;
    browser.wait_for(".train-score").await?;
    let start = Instant::now();
    for frame in 0..=FRAMES {
        let next = EVERY * frame;
        tokio::time::sleep(next.saturating_sub(start.elapsed())).await;
        frames.push(Pixels::decode(&browser.screenshot().await?)?);
    }
    browser.click("#train-reset").await?;
    Ok(frames)
}

/// Writes frames as an animated PNG that repeats; a frame holds only the part that changed.
///
/// # Errors
/// Returns an error without frames, or if the file cannot be written.
pub fn save(frames: &[Pixels], file: &Path) -> Result<()> {
    let first = frames.first().context("no frames")?;
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, first.width(), first.height());
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_compression(png::Compression::High);
    encoder.set_animated(u32::try_from(frames.len())?, 0)?;
    let mut writer = encoder.write_header()?;
    for (index, frame) in frames.iter().enumerate() {
        ensure!(
            (frame.width(), frame.height()) == (first.width(), first.height()),
            "frames of different sizes"
        );
        let is_last = index + 1 == frames.len();
        let shown = if is_last { SHOWN_MS.1 } else { SHOWN_MS.0 };
        writer.set_frame_delay(shown, 1000)?;
        let whole = (0, 0, frame.width(), frame.height());
        let changed = match index.checked_sub(1) {
            Some(before) => frame.changed(&frames[before]),
            None => whole,
        };
        let (x, y, width, height) = changed;
        if index > 0 {
            // Each call is checked with the other value of the former frame.
            writer.set_frame_position(0, 0)?;
            writer.set_frame_dimension(width, height)?;
            writer.set_frame_position(x, y)?;
        }
        writer.write_image_data(&frame.part(changed))?;
    }
    writer.finish()?;
    std::fs::write(file, &bytes).with_context(|| format!("cannot write {}", file.display()))
}
