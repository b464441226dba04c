//! The pictures of the page in README and docs, and those that only the visual comparison uses: how
//! each is made, and how a new one is compared with the committed one.
//!
//! Text looks different with another font or browser. [`RenderEnvironment`] records both beside the pictures, and
//! pictures of different makers are not compared.

use crate::{Browser, Server, is_played, is_silent, open, screenshots, shows_action};
use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A screen of the page.
#[derive(Clone, Copy, Debug)]
pub struct Picture {
    /// The file of the committed picture, from the repository's root.
    pub file: &'static str,
    /// The query of the address.
    pub query: &'static str,
    /// The action that the address names with `t`.
    pub action: usize,
    /// The width in CSS pixels.
    pub width: u32,
    /// The height in CSS pixels.
    pub height: u32,
    /// The theme, `light` or `dark`.
    pub theme: &'static str,
    /// `true` to show the analysis of the episode.
    pub analyzed: bool,
}

/// All pictures.
pub const PICTURES: [Picture; 7] = [
    Picture {
        file: "docs/screenshot.png",
        query: "task=3&seed=42&policy=grpo&rules=hardened",
        action: 14,
        width: 1280,
        height: 1000,
        theme: "light",
        analyzed: false,
    },
    // What a link to the page shows on other sites.
    Picture {
        file: "docs/screenshot-spot.png",
        query: "page=spot&task=3&seed=5040&policy=random&rules=hardened",
        action: 16,
        width: 1280,
        height: 670,
        theme: "light",
        analyzed: false,
    },
    Picture {
        file: "docs/screenshot-cluster.png",
        query: "world=cluster&task=2&seed=42&policy=planner&rules=hardened",
        action: 20,
        width: 1280,
        height: 1000,
        theme: "light",
        analyzed: false,
    },
    Picture {
        file: "docs/screenshot-polyguard.png",
        query: "world=polyguard&seed=42&policy=stack_replan&rules=hardened",
        action: 2,
        width: 1280,
        height: 1000,
        theme: "light",
        analyzed: false,
    },
    Picture {
        file: "docs/screenshot-analysis.png",
        query: "task=3&seed=42&policy=random&rules=hardened",
        action: 5,
        width: 1280,
        height: 1000,
        theme: "light",
        analyzed: true,
    },
    Picture {
        file: "e2e/reference/trust-truth-dark.png",
        query: "task=3&seed=42&policy=bayes&view=truth",
        action: 20,
        width: 1280,
        height: 800,
        theme: "dark",
        analyzed: false,
    },
    Picture {
        file: "e2e/reference/cluster-phone.png",
        query: "world=cluster&task=1&seed=42&policy=planner",
        action: 9,
        width: 360,
        height: 760,
        theme: "light",
        analyzed: false,
    },
];

/// The file that records what made the committed pictures, from the repository's root.
pub const MAKER: &str = "e2e/reference/maker.json";
/// A pixel differs if a color channel differs by more than this.
const CHANNEL: u8 = 32;
/// A picture differs if more than this share of its pixels does.
const SHARE: f64 = 0.0005;
/// The most screenshots that are taken until two in a row are equal.
const SHOTS: usize = 30;

/// A screenshot as 8-bit RGB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pixels {
    width: u32,
    height: u32,
    rgb: Vec<u8>,
}

/// The browser and font that pictures are made with.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
pub struct RenderEnvironment {
    /// The browser with its version, such as `Chrome/156.0.8078.79`.
    pub browser: String,
    /// The font of the page's text.
    pub font: String,
    /// The width of a sample text in this font, which tells versions and settings of it apart.
    pub sample_width: f64,
}

/// Returns the path of a file that [`Picture::file`] or [`MAKER`] names.
#[must_use]
pub fn committed(file: &str) -> PathBuf {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).join(file)
}

/// Opens the page as a picture wants it, without motion, and returns the screenshot once it no longer
/// changes.
///
/// # Errors
/// Returns an error if the page does not show the episode, logs an error or never stands still.
pub async fn take(browser: &Browser, server: &Server, picture: &Picture) -> Result<Pixels> {
    browser.viewport(picture.width, picture.height).await?;
    let theme = ("prefers-color-scheme", picture.theme);
    browser
        .prefer(&[theme, ("prefers-reduced-motion", "reduce")])
        .await?;
    let query = format!("{}&t={}", picture.query, picture.action);
    open(browser, server, &query).await?;
    is_played(browser).await?;
    shows_action(browser, picture.action).await?;
    browser
        .wait_until("document.fonts.status === 'loaded'")
        .await?;
    if picture.analyzed {
        browser.click("#analyze").await?;
        browser
            .wait_until("document.querySelector('[data-analysis=complete]')")
            .await?;
        let show = "document.querySelector('.analysis').scrollIntoView()";
        browser.execute(show, vec![]).await?;
    }
    is_silent(browser).await?;
    let mut before = Vec::new();
    for _ in 0..SHOTS {
        let shot = browser.screenshot().await?;
        if shot == before {
            return Pixels::decode(&shot);
        }
        before = shot;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    bail!("{}: the page never stands still", picture.file)
}

/// Compares every picture with the committed one. Returns a sentence if the committed ones were made
/// with another browser or font, so that nothing was compared.
///
/// # Errors
/// Returns an error that names every picture that differs, or what could not be done.
pub async fn check_all(browser: &Browser, server: &Server) -> Result<Option<String>> {
    let mut different = Vec::new();
    for picture in &PICTURES {
        let new = take(browser, server, picture).await?;
        let maker = RenderEnvironment::of_page(browser).await?;
        if let Some(reason) = RenderEnvironment::committed()?.difference(&maker) {
            return Ok(Some(reason));
        }
        different.extend(check(picture, &new, &screenshots())?);
    }
    ensure!(different.is_empty(), "{}", different.join("\n"));
    Ok(None)
}

impl RenderEnvironment {
    /// Returns the maker of the page that the browser shows.
    ///
    /// # Errors
    /// Returns an error if the browser does not name its fonts.
    pub async fn of_page(browser: &Browser) -> Result<Self> {
        let version = browser.dev_tools("Browser.getVersion", json!({})).await?;
        browser.dev_tools("DOM.enable", json!({})).await?;
        browser.dev_tools("CSS.enable", json!({})).await?;
        let document = browser.dev_tools("DOM.getDocument", json!({})).await?;
        let count = json!({"nodeId": document["root"]["nodeId"], "selector": "#count"});
        let node = browser.dev_tools("DOM.querySelector", count).await?;
        let fonts = browser
            .dev_tools("CSS.getPlatformFontsForNode", node)
            .await?;
        let sample = "const context = document.createElement('canvas').getContext('2d');
            context.font = getComputedStyle(document.body).font;
            return context.measureText('Sentinel: 0123456789 wam').width;";
        let width = browser.execute(sample, vec![]).await?;
        let name = |value: &Value| value.as_str().map(String::from);
        Ok(Self {
            browser: name(&version["product"]).context("the browser has no version")?,
            font: name(&fonts["fonts"][0]["familyName"]).context("the text has no font")?,
            sample_width: width.as_f64().context("the text has no width")?,
        })
    }

    /// Returns the maker of the committed pictures.
    ///
    /// # Errors
    /// Returns an error if the file is missing or invalid.
    pub fn committed() -> Result<Self> {
        let file = committed(MAKER);
        let text = std::fs::read_to_string(&file).with_context(|| {
            format!(
                "cannot read {}, which `cargo xtask screenshots` writes",
                file.display()
            )
        })?;
        serde_json::from_str(&text).with_context(|| format!("in {}", file.display()))
    }

    /// Returns the reason why pictures of `self` and of `other` cannot be compared; `None` if they
    /// can.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Option<String> {
        (self != other).then(|| {
            format!(
                "skipped: pictures are compared only with the same browser and font. Committed: {self}; here: {other}"
            )
        })
    }

    /// Writes the file of the committed pictures.
    ///
    /// # Errors
    /// Returns an error if it cannot be written.
    pub fn save(&self) -> Result<()> {
        let text = serde_json::to_string_pretty(self)? + "\n";
        write(&committed(MAKER), text.as_bytes())
    }
}

impl std::fmt::Display for RenderEnvironment {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            browser,
            font,
            sample_width,
        } = self;
        write!(f, "{browser}, {font} (sample text: {sample_width} pixels)")
    }
}

impl Pixels {
    /// Decodes a PNG of 8-bit RGB or RGBA; transparency is dropped.
    ///
    /// # Errors
    /// Returns an error for other files.
    pub fn decode(png: &[u8]) -> Result<Self> {
        let mut reader = png::Decoder::new(std::io::Cursor::new(png)).read_info()?;
        let size = reader.output_buffer_size().context("too large")?;
        let mut bytes = vec![0; size];
        let info = reader.next_frame(&mut bytes)?;
        let channels = info.color_type.samples();
        ensure!(
            info.bit_depth == png::BitDepth::Eight && (3..=4).contains(&channels),
            "not 8-bit RGB"
        );
        let pixels = bytes[..info.buffer_size()].chunks_exact(channels);
        Ok(Self {
            width: info.width,
            height: info.height,
            rgb: pixels.flat_map(|pixel| &pixel[..3]).copied().collect(),
        })
    }

    /// Reads a PNG.
    ///
    /// # Errors
    /// Returns an error if the file cannot be read or decoded.
    pub fn read(file: &Path) -> Result<Self> {
        let bytes =
            std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        Self::decode(&bytes).with_context(|| format!("in {}", file.display()))
    }

    /// Writes a small PNG.
    ///
    /// # Errors
    /// Returns an error if the file cannot be written.
    pub fn save(&self, file: &Path) -> Result<()> {
        let mut bytes = Vec::new();
        let mut encoder = png::Encoder::new(&mut bytes, self.width, self.height);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_compression(png::Compression::High);
        encoder.write_header()?.write_image_data(&self.rgb)?;
        write(file, &bytes)
    }

    /// Returns the width in pixels.
    #[must_use]
    pub const fn width(&self) -> u32 {
        self.width
    }

    /// Returns the height in pixels.
    #[must_use]
    pub const fn height(&self) -> u32 {
        self.height
    }

    /// Returns the smallest rectangle `(x, y, width, height)` outside of which `self` is equal to `other`,
    /// a picture of the same size; one pixel if they are equal.
    #[must_use]
    pub fn changed(&self, other: &Self) -> (u32, u32, u32, u32) {
        let pixels = self.rgb.chunks_exact(3).zip(other.rgb.chunks_exact(3));
        let places = (0_u32..).zip(pixels).filter(|(_, (a, b))| a != b);
        let (mut left, mut top, mut right, mut bottom) = (self.width, self.height, 0, 0);
        for (at, _) in places {
            let (x, y) = (at % self.width, at / self.width);
            (left, top) = (left.min(x), top.min(y));
            (right, bottom) = (right.max(x + 1), bottom.max(y + 1));
        }
        match right {
            0 => (0, 0, 1, 1),
            _ => (left, top, right - left, bottom - top),
        }
    }

    /// Returns the color channels of a rectangle `(x, y, width, height)`, row by row.
    #[must_use]
    pub fn part(&self, (x, y, width, height): (u32, u32, u32, u32)) -> Vec<u8> {
        let row = |y: u32| {
            let start = ((y * self.width + x) * 3) as usize;
            &self.rgb[start..start + (width * 3) as usize]
        };
        (y..y + height).flat_map(row).copied().collect()
    }

    /// Returns the share of pixels that differ, and a picture of them: red on a pale copy of `self`.
    ///
    /// # Errors
    /// Returns an error if the sizes differ.
    pub fn compare(&self, other: &Self) -> Result<(f64, Self)> {
        ensure!(
            (self.width, self.height) == (other.width, other.height),
            "{} × {} pixels, not {} × {}",
            other.width,
            other.height,
            self.width,
            self.height
        );
        let (mut differing, mut rgb) = (0_u32, Vec::with_capacity(self.rgb.len()));
        for (ours, theirs) in self.rgb.chunks_exact(3).zip(other.rgb.chunks_exact(3)) {
            let differs = ours
                .iter()
                .zip(theirs)
                .any(|(a, b)| a.abs_diff(*b) > CHANNEL);
            differing += u32::from(differs);
            match differs {
                true => rgb.extend([220, 0, 0]),
                false => rgb.extend(ours.iter().map(|channel| 192 + channel / 4)),
            }
        }
        let share = f64::from(differing) / f64::from(self.width * self.height);
        Ok((share, Self { rgb, ..*self }))
    }
}

/// Compares a new picture with the committed one. If they differ, writes the new one and the
/// differences into `folder` and returns a sentence about it.
///
/// # Errors
/// Returns an error if a file cannot be read or written.
pub fn check(picture: &Picture, new: &Pixels, folder: &Path) -> Result<Option<String>> {
    let old = Pixels::read(&committed(picture.file))?;
    let name = Path::new(picture.file).file_name().unwrap_or_default();
    let (new_file, difference_file) = (
        folder.join("new").join(name),
        folder.join("difference").join(name),
    );
    let what = match old.compare(new) {
        Ok((share, _)) if share <= SHARE => return Ok(None),
        Ok((share, difference)) => {
            difference.save(&difference_file)?;
            format!(
                "{:.2} % of its pixels differ, see {}",
                share * 100.0,
                difference_file.display()
            )
        }
        Err(error) => error.to_string(),
    };
    new.save(&new_file)?;
    Ok(Some(format!(
        "{}: {what} and {}; if the page is right, `cargo xtask screenshots` makes it again",
        picture.file,
        new_file.display()
    )))
}

fn write(file: &Path, bytes: &[u8]) -> Result<()> {
    if let Some(folder) = file.parent() {
        std::fs::create_dir_all(folder)?;
    }
    std::fs::write(file, bytes).with_context(|| format!("cannot write {}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gray(width: u32, height: u32) -> Pixels {
        let rgb = vec![120; (width * height * 3) as usize];
        Pixels { width, height, rgb }
    }

    #[test]
    fn the_changed_rectangle_has_all_differences() {
        let (before, mut after) = (gray(5, 4), gray(5, 4));
        assert_eq!(after.changed(&before), (0, 0, 1, 1));
        for (x, y) in [(1, 2), (3, 1)] {
            after.rgb[(y * 5 + x) * 3] = 0;
        }
        assert_eq!(after.changed(&before), (1, 1, 3, 2));
        let part = after.part((1, 1, 3, 2));
        assert_eq!((part.len(), part[6], part[9]), (18, 0, 0));
    }

    #[test]
    fn pictures_survive_a_file() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("deep/a.png");
        let mut pixels = gray(4, 3);
        pixels.rgb[7] = 9;
        pixels.save(&file)?;
        assert_eq!(Pixels::read(&file)?, pixels);
        Ok(())
    }

    #[test]
    fn only_visible_differences_count() -> Result<()> {
        let (old, mut new) = (gray(10, 10), gray(10, 10));
        new.rgb[0] += CHANNEL;
        assert_eq!(old.compare(&new)?.0, 0.0);
        new.rgb[4] += CHANNEL + 1;
        let (share, difference) = old.compare(&new)?;
        assert_eq!(share, 0.01);
        assert_eq!(difference.rgb[..6], [222, 222, 222, 220, 0, 0]);
        assert!(old.compare(&gray(10, 9)).is_err());
        Ok(())
    }

    #[test]
    fn a_difference_writes_both_pictures_and_names_the_command() -> Result<()> {
        let folder = tempfile::tempdir()?;
        let picture = &PICTURES[0];
        let old = Pixels::read(&committed(picture.file))?;
        assert_eq!(check(picture, &old, folder.path())?, None);
        let mut new = old.clone();
        new.rgb[..300_000].fill(7);
        let found = check(picture, &new, folder.path())?.context("it differs")?;
        assert!(found.contains("cargo xtask screenshots"), "{found}");
        for kind in ["new", "difference"] {
            assert!(folder.path().join(kind).join("screenshot.png").is_file());
        }
        Ok(())
    }

    #[test]
    fn another_font_is_a_reason_to_skip() {
        let maker = |font: &str| RenderEnvironment {
            browser: "Chrome/1".to_owned(),
            font: font.to_owned(),
            sample_width: 200.5,
        };
        assert_eq!(maker("a").difference(&maker("a")), None);
        let reason = maker("a").difference(&maker("b")).unwrap_or_default();
        assert!(
            reason.starts_with("skipped: ") && reason.contains("200.5"),
            "{reason}"
        );
    }
}
