//! Chart files: SVG with a text alternative, PNG, and the JSON of the data.

use std::path::{Path, PathBuf};

use kuva::backend::png::PngBackend;
use kuva::backend::svg::SvgBackend;
use sentinel_base::provenance::Provenance;
use sentinel_base::{Error, files};
use serde::Serialize;

use super::chart::{Chart, ChartError};
use super::{draw, frame};

/// The version of the JSON beside a chart.
pub const FORMAT: u32 = 1;
/// The pixels of a PNG for each unit of the SVG.
const SCALE: f32 = 2.0;

/// The files of a chart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChartFiles {
    /// The path of the vector graphic.
    pub svg: PathBuf,
    /// The path of the bitmap.
    pub png: PathBuf,
    /// The path of the data.
    pub json: PathBuf,
}

/// The JSON beside a chart.
#[derive(Serialize)]
struct ChartData<'a> {
    format: u32,
    #[serde(flatten)]
    chart: &'a Chart,
    provenance: &'a Provenance,
}

impl Chart {
    /// Draws the chart as SVG, which can be a file of its own or a part of an HTML page: its ids
    /// begin with the chart's name.
    ///
    /// # Errors
    /// Returns an error if the chart is not valid (see [`Self::validate`]).
    pub fn to_svg(&self) -> Result<String, ChartError> {
        self.validate()?;
        let drawn = SvgBackend::new().render_scene(&draw::scene(self));
        Ok(self.with_text_alternative(&drawn))
    }

    /// Draws the chart as PNG, with two pixels for each unit of the SVG.
    ///
    /// # Errors
    /// Returns an error if the chart is not valid (see [`Self::validate`]), or is too large.
    pub fn to_png(&self) -> Result<Vec<u8>, ChartError> {
        self.validate()?;
        let backend = PngBackend::new().with_scale(SCALE);
        backend
            .render_scene(&draw::scene(self))
            .map_err(|reason| ChartError::Data {
                chart: self.name.clone(),
                reason: format!("cannot be drawn as PNG: {reason}"),
            })
    }

    /// Returns the JSON of the data that is drawn, with where it comes from.
    ///
    /// # Errors
    /// Returns an error if the chart is not valid (see [`Self::validate`]).
    pub fn to_json(&self, provenance: &Provenance) -> Result<String, ChartError> {
        self.validate()?;
        let data = ChartData {
            format: FORMAT,
            chart: self,
            provenance,
        };
        let mut text = serde_json::to_string_pretty(&data).map_err(Error::Json)?;
        text.push('\n');
        Ok(text)
    }

    /// Writes `NAME.svg`, `NAME.png` and `NAME.json` into a folder.
    ///
    /// # Errors
    /// Returns an error if the chart is not valid (see [`Self::validate`]), before anything is
    /// written, or a file cannot be written.
    pub fn write(&self, folder: &Path, provenance: &Provenance) -> Result<ChartFiles, ChartError> {
        let (svg, png, json) = (self.to_svg()?, self.to_png()?, self.to_json(provenance)?);
        let path = |ending: &str| folder.join(format!("{}.{ending}", self.name));
        let paths = ChartFiles {
            svg: path("svg"),
            png: path("png"),
            json: path("json"),
        };
        files::write_atomic(&paths.svg, svg.as_bytes())?;
        files::write_atomic(&paths.png, &png)?;
        files::write_atomic(&paths.json, json.as_bytes())?;
        Ok(paths)
    }

    /// Adds title, description and a view box, and makes ids unique among charts of one page.
    fn with_text_alternative(&self, drawn: &str) -> String {
        let (name, (width, height)) = (&self.name, frame::SIZE);
        let drawn = drawn.replace("kuva-clip-", &format!("{name}-clip-"));
        let Some((open, rest)) = drawn.split_once('>') else {
            return drawn;
        };
        let (title, description) = (escaped(&self.title), escaped(&self.description));
        format!(
            "{open} viewBox=\"0 0 {width} {height}\" role=\"img\" \
             aria-labelledby=\"{name}-title {name}-description\">\
             <title id=\"{name}-title\">{title}</title>\
             <desc id=\"{name}-description\">{description}</desc>{rest}\n"
        )
    }
}

/// Escapes a text for XML.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
}
