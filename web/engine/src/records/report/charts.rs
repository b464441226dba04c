//! The charts of a report. Lines become charts; bars, points and counts become tables with bars.

use sentinel_page_protocol::{
    Chart, Line, ResultsCell, ResultsChart, ResultsPart, ResultsRow, ResultsSection, ResultsTable,
};

use super::file::{
    AreaSeries, BarRow, Cause, ChartEntry, ChartFile, Estimate, Plot, Point, PointSeries, Results,
};
use super::tables::column;

/// Number of line styles.
const STYLES: usize = 8;

/// Returns the section of all charts that no table of the screen repeats.
pub(super) fn section(results: &Results) -> ResultsSection {
    let own = results.charts.iter();
    let own = own.filter(|entry| entry.section != "evaluation");
    ResultsSection {
        id: "charts".to_owned(),
        title: results.title.clone(),
        detail: "The charts of the report. Point at a chart, or focus it and use the arrow keys, to read values.".to_owned(),
        parts: own.map(part).collect(),
        source: String::new(),
        command: results.provenance.command(),
    }
}

/// Returns a chart of a report as a chart of lines, or as a table.
pub(super) fn part(entry: &ChartEntry) -> ResultsPart {
    let chart = &entry.chart;
    match &chart.plot {
        Plot::Lines { series } => {
            let series = series.iter();
            let series = series.map(|s| (s.label.as_str(), s.points.clone()));
            lines(entry, series.collect())
        }
        Plot::StackedArea { x, series } => {
            let series = series.iter();
            let series = series.map(|s| (s.label.as_str(), points(x, &s.values)));
            lines(entry, series.collect())
        }
        Plot::GroupedBars { groups, series } => {
            let series = series.iter();
            let series = series.map(|s| (s.label.clone(), s.values.clone()));
            by_group(entry, groups, series.collect())
        }
        Plot::Radar { axes, series } => {
            let values =
                |s: &AreaSeries| s.values.iter().map(|value| Some(exact(*value))).collect();
            let series = series.iter();
            let series = series.map(|s| (s.label.clone(), values(s)));
            by_group(entry, axes, series.collect())
        }
        Plot::HorizontalBars { rows } => {
            let value = |row: &BarRow| Estimate {
                value: row.value,
                interval: row.interval,
            };
            let rows = rows.iter();
            let rows = rows.map(|row| (row.label.clone(), vec![Some(value(row))]));
            bars(entry, vec![chart.x.name()], rows.collect())
        }
        Plot::Fishbone { causes } => {
            let name = |cause: &Cause| format!("{} ({} events)", cause.label, cause.count);
            let rows = causes.iter();
            let rows = rows.map(|cause| (name(cause), vec![Some(exact(cause.value))]));
            bars(entry, vec![chart.y.name()], rows.collect())
        }
        Plot::Points { series } => points_table(entry, series),
    }
}

/// Returns a number without an interval.
const fn exact(value: f64) -> Estimate {
    Estimate {
        value,
        interval: None,
    }
}

/// Returns the points of a line.
fn points(x: &[f64], y: &[f64]) -> Vec<Point> {
    let point = |(x, y): (&f64, &f64)| Point {
        x: *x,
        y: *y,
        interval: None,
    };
    x.iter().zip(y).map(point).collect()
}

/// Returns a table with a row for each group and a column for each series.
fn by_group(
    entry: &ChartEntry,
    groups: &[String],
    series: Vec<(String, Vec<Option<Estimate>>)>,
) -> ResultsPart {
    let row = |(index, name): (usize, &String)| {
        let values = series
            .iter()
            .map(|(_, values)| *values.get(index).unwrap_or(&None));
        (name.clone(), values.collect())
    };
    let rows = groups.iter().enumerate().map(row).collect();
    let columns = series.iter().map(|(label, _)| label.clone());
    bars(entry, columns.collect(), rows)
}

/// Returns a chart of lines. Several lines are named by letters, which the legend explains.
fn lines(entry: &ChartEntry, series: Vec<(&str, Vec<Point>)>) -> ResultsPart {
    let chart = &entry.chart;
    let several = series.len() > 1;
    let line = |(index, (name, points)): (usize, &(&str, Vec<Point>))| {
        let tag = u8::try_from(index % 26).unwrap_or_default();
        let half = |point: &Point| match point.interval {
            Some([low, high]) => ((high - low) / 2.0) as f32,
            None => f32::NAN,
        };
        Line {
            name: match several {
                true => char::from(b'A' + tag).to_string(),
                false => (*name).to_owned(),
            },
            style: u8::try_from(index % STYLES).unwrap_or_default(),
            x: points.iter().map(|point| point.x as f32).collect(),
            y: points.iter().map(|point| point.y as f32).collect(),
            half_width: match points.iter().any(|point| point.interval.is_some()) {
                true => points.iter().map(half).collect(),
                false => Vec::new(),
            },
        }
    };
    ResultsPart::Chart(ResultsChart {
        legend: match several {
            true => series.iter().map(|(name, _)| (*name).to_owned()).collect(),
            false => Vec::new(),
        },
        chart: Chart {
            id: chart.name.clone(),
            title: chart.title.clone(),
            subtitle: caption(entry),
            x_label: chart.x.name(),
            y_label: chart.y.name(),
            range: range(chart, &series),
            lines: series.iter().enumerate().map(line).collect(),
            strips: Vec::new(),
        },
    })
}

/// Returns what was measured, and how to read it.
fn caption(entry: &ChartEntry) -> String {
    match &entry.chart.subtitle {
        Some(subtitle) => format!("{subtitle}. {}", entry.caption),
        None => entry.caption.clone(),
    }
}

/// Returns the lowest and highest value, with intervals, or the range that the file names.
fn range(chart: &ChartFile, series: &[(&str, Vec<Point>)]) -> [f32; 2] {
    if let Some([low, high]) = chart.y.range {
        return [low as f32, high as f32];
    }
    let points = || series.iter().flat_map(|(_, points)| points);
    let ends = || points().flat_map(|point| point.interval.unwrap_or([point.y; 2]));
    let low = ends().fold(f64::INFINITY, f64::min);
    let high = ends().fold(f64::NEG_INFINITY, f64::max);
    [low as f32, high as f32]
}

/// Returns a table with a bar in each cell. The bars of a table share one scale, which begins at 0;
/// there are none if a value is negative.
fn bars(
    entry: &ChartEntry,
    columns: Vec<String>,
    rows: Vec<(String, Vec<Option<Estimate>>)>,
) -> ResultsPart {
    let values = || rows.iter().flat_map(|(_, cells)| cells).flatten();
    let highest = values().map(|cell| cell.value).fold(0.0, f64::max);
    // A share or a score has the whole range 0 to 1.
    let full = match entry.chart.y.range {
        Some([_, high]) if high >= 1.0 && highest <= 1.0 => 1.0,
        _ => highest,
    };
    let draws = full > 0.0 && values().all(|cell| cell.value >= 0.0);
    let cell = |cell: &Option<Estimate>| ResultsCell {
        text: cell.map_or_else(|| "–".to_owned(), |found| number(&found)),
        bar: cell
            .filter(|_| draws)
            .map(|found| (found.value / full) as f32),
    };
    let rows = rows.iter().map(|(name, cells)| ResultsRow {
        name: name.clone(),
        cells: cells.iter().map(cell).collect(),
        ..ResultsRow::default()
    });
    let rows: Vec<ResultsRow> = rows.collect();
    let mut headings = vec![column(&entry.chart.x.label, "", false)];
    if matches!(
        entry.chart.plot,
        Plot::HorizontalBars { .. } | Plot::Fishbone { .. }
    ) || headings[0].title.is_empty()
    {
        "Name".clone_into(&mut headings[0].title);
    }
    headings.extend(columns.iter().map(|title| column(title, "", true)));
    ResultsPart::Table(ResultsTable {
        id: entry.chart.name.clone(),
        title: entry.chart.title.clone(),
        help: caption(entry),
        columns: headings,
        rows,
        folded: false,
    })
}

fn points_table(entry: &ChartEntry, series: &[PointSeries]) -> ResultsPart {
    let chart = &entry.chart;
    let rows = series.iter().flat_map(|series| {
        series.points.iter().map(|point| {
            let value = Estimate {
                value: point.y,
                interval: point.interval,
            };
            let text = [format!("{:.2}", point.x), number(&value)];
            let cell = |text| ResultsCell { text, bar: None };
            ResultsRow {
                name: series.label.clone(),
                cells: text.into_iter().map(cell).collect(),
                ..ResultsRow::default()
            }
        })
    });
    ResultsPart::Table(ResultsTable {
        id: chart.name.clone(),
        title: chart.title.clone(),
        help: caption(entry),
        columns: vec![
            column("Name", "", false),
            column(&chart.x.name(), "", true),
            column(&chart.y.name(), "", true),
        ],
        rows: rows.collect(),
        folded: false,
    })
}

/// Returns a number with its interval, to four decimals.
fn number(estimate: &Estimate) -> String {
    let value = format!("{:.4}", estimate.value);
    match estimate.interval {
        Some([low, high]) => format!("{value} ({low:.4} to {high:.4})"),
        None => value,
    }
}
