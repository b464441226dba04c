//! Charts: a typed description that is drawn as SVG and PNG, and written as JSON with exactly the
//! numbers that are drawn.
//!
//! ```
//! use sentinel_evidence::charts::{Axis, Chart, Plot, Point, PointSeries};
//!
//! let chart = Chart {
//!     name: "reward".into(),
//!     title: "Reward per update".into(),
//!     subtitle: None,
//!     description: "The mean reward of training, over updates.".into(),
//!     x: Axis::new("update").with_integer_ticks(),
//!     y: Axis::new("mean reward").with_range(0.0, 1.0),
//!     plot: Plot::Lines {
//!         series: vec![PointSeries {
//!             label: "GRPO".into(),
//!             points: vec![Point::new(1.0, 0.4), Point::new(2.0, 0.5)],
//!             ..PointSeries::default()
//!         }],
//!         references: Vec::new(),
//!     },
//! };
//! let svg = chart.to_svg()?;
//! assert!(svg.starts_with("<svg"));
//! # Ok::<(), sentinel_evidence::charts::ChartError>(())
//! ```
//!
//! The library `kuva` (MIT) draws both formats from the same shapes. PNG files use its bundled
//! font DejaVu Sans (license of Bitstream Vera, in the crate at `assets/fonts/LICENSE`), so no
//! font of the system is needed.

mod bars;
mod chart;
mod draw;
mod fishbone;
mod frame;
mod output;
pub mod palette;
#[cfg(test)]
mod tests;

pub use chart::{
    AreaSeries, Axis, BarRow, BarSeries, BaselineLine, Chart, ChartError, Estimate, FishboneItem,
    Plot, Point, PointSeries,
};
pub use output::{ChartFiles, FORMAT};
