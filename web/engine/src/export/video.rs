//! The frames of a video of an episode, as data that the page draws and records.
//!
//! A video shows what the agent saw: headlines, scores and charts without hidden state.

use sentinel_page_protocol::number_format::fixed;
use serde::Serialize;

use super::svg::{axes, content, document, fitted_scale, legend};
use crate::run::Run;
use crate::world::PageWorld;

/// Width of the chart before it is enlarged to the video's size.
const WIDTH: f64 = 800.0;
/// Space above the chart for the names of its lines.
const LEGEND: f64 = 22.0;

/// A video of an episode.
#[derive(Serialize)]
struct Video<'a> {
    /// Heading of every frame.
    title: &'a str,
    /// Line below the heading: the episode and its player.
    caption: &'a str,
    /// Title of the chart.
    chart: String,
    /// Width and height of the two drawings.
    size: [f64; 2],
    /// Grid, labels and legend of the chart, as an SVG document.
    axes: String,
    /// Lines and bars of the chart, as an SVG document; shown up to the action of the frame.
    content: String,
    /// The frames, one for each action and one before them.
    frames: Vec<VideoFrame>,
}

#[derive(Serialize)]
struct VideoFrame {
    /// Position of the action in the drawings.
    x: f64,
    /// Sentence about the action and its result.
    headline: String,
    /// Progress in a few words.
    standing: String,
    /// Mean reward up to this frame.
    score: String,
}

/// Returns the video of a run as JSON.
///
/// # Errors
/// Returns the error of serialization, which plain data does not cause.
pub fn video_json<W: PageWorld>(
    run: &Run<W>,
    title: &str,
    caption: &str,
) -> Result<Vec<u8>, serde_json::Error> {
    let charts = W::charts(&run.public_frames());
    let chart = charts.into_iter().next().unwrap_or_default();
    let last = run.frames().len() - 1;
    let mut scale = fitted_scale(&chart, WIDTH, last as f64);
    // The names at the ends of lines would tell how they end: the legend has them.
    scale.top += LEGEND;
    scale.bottom += LEGEND;
    scale.height += LEGEND;
    let size = [WIDTH, scale.height];
    let sheet = |body: String| document(size[0], size[1], &chart.title, &body);
    let frames = (0..=last).map(|index| {
        let view = run.view(index);
        VideoFrame {
            x: scale.x(index as f64),
            headline: view.headline,
            standing: view.standing,
            score: fixed(view.score, 3),
        }
    });
    serde_json::to_vec(&Video {
        title,
        caption,
        chart: chart.title.clone(),
        size,
        axes: sheet(axes(&chart, &scale) + &legend(&chart, scale.left, 12.0)),
        content: sheet(content(&chart, &scale)),
        frames: frames.collect(),
    })
}
