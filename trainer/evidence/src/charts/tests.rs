//! Tests of drawing: every kind of chart, one point, and what cannot be drawn.

use sentinel_base::provenance::Provenance;
use serde_json::Value;

use super::*;

type Tested = Result<(), Box<dyn std::error::Error>>;

fn chart(name: &str, plot: Plot) -> Chart {
    Chart {
        name: name.to_owned(),
        title: "A <title> & more".to_owned(),
        subtitle: Some("30 episodes per bar".to_owned()),
        description: "In words.".to_owned(),
        x: Axis::new("step").with_integer_ticks(),
        y: Axis::new("reward").with_unit("per step"),
        plot,
    }
}

fn line(points: &[(f64, f64)]) -> PointSeries {
    PointSeries {
        label: "one".to_owned(),
        points: points.iter().map(|(x, y)| Point::new(*x, *y)).collect(),
        ..PointSeries::default()
    }
}

fn area(values: &[f64]) -> AreaSeries {
    AreaSeries {
        label: "one".to_owned(),
        color: None,
        values: values.to_vec(),
    }
}

/// Returns every kind of chart with `n` points, groups, axes or causes.
fn all_kinds(n: usize) -> Vec<Chart> {
    let values: Vec<f64> = (0..n).map(|i| 0.25 + 0.1 * i as f64).collect();
    let names: Vec<String> = (0..n).map(|i| format!("task{i}")).collect();
    let mut charts = bar_charts(&names, &values);
    charts.extend(point_charts(&values));
    charts.extend(area_charts(&values));
    charts.push(fishbone_chart(&names, &values));
    charts
}

/// Returns grouped and horizontal bars with a bar for each value.
fn bar_charts(names: &[String], values: &[f64]) -> Vec<Chart> {
    let bars = values
        .iter()
        .map(|v| Some(Estimate::with_half_width(*v, 0.02)));
    let rows = names.iter().zip(values).map(|(label, value)| BarRow {
        label: label.clone(),
        color: None,
        estimate: Estimate::exact(*value),
    });
    vec![
        chart(
            "bars",
            Plot::GroupedBars {
                groups: names.to_vec(),
                series: vec![BarSeries {
                    label: "one".into(),
                    color: None,
                    values: bars.collect(),
                }],
            },
        ),
        chart(
            "rows",
            Plot::HorizontalBars {
                rows: rows.collect(),
            },
        ),
    ]
}

/// Returns lines and points through the values, with intervals.
fn point_charts(values: &[f64]) -> Vec<Chart> {
    let pairs: Vec<(f64, f64)> = values.iter().map(|v| (*v * 10.0, *v)).collect();
    let mut points = line(&pairs);
    for point in &mut points.points {
        point.interval = Some([point.value - 0.05, point.value + 0.05]);
    }
    vec![
        chart(
            "lines",
            Plot::Lines {
                series: vec![points.clone()],
                references: Vec::new(),
            },
        ),
        chart(
            "points",
            Plot::Points {
                series: vec![points],
                references: vec![BaselineLine {
                    label: "chance".into(),
                    value: 0.5,
                }],
            },
        ),
    ]
}

/// Returns stacked areas of the values, and a radar chart with as many axes, at least three.
fn area_charts(values: &[f64]) -> Vec<Chart> {
    let axes: Vec<String> = (0..values.len().max(3))
        .map(|i| format!("axis{i}"))
        .collect();
    let shares: Vec<f64> = axes.iter().map(|_| 0.5).collect();
    vec![
        chart(
            "areas",
            Plot::StackedArea {
                x: values.to_vec(),
                series: vec![
                    area(values),
                    area(&values.iter().map(|v| -v).collect::<Vec<_>>()),
                ],
            },
        ),
        chart(
            "radar",
            Plot::Radar {
                axes,
                range: [0.0, 1.0],
                series: vec![area(&shares)],
            },
        ),
    ]
}

/// Returns a fishbone diagram with a cause for each value.
fn fishbone_chart(names: &[String], values: &[f64]) -> Chart {
    let causes = names.iter().zip(values).map(|(label, value)| FishboneItem {
        label: label.clone(),
        value: *value,
        count: 3,
    });
    chart(
        "bones",
        Plot::Fishbone {
            effect: FishboneItem {
                label: "lost".into(),
                value: values.iter().sum(),
                count: values.len(),
            },
            causes: causes.collect(),
        },
    )
}

#[test]
fn every_chart_kind_draws_one_and_seven_points() -> Tested {
    for chart in all_kinds(1).into_iter().chain(all_kinds(7)) {
        let svg = chart.to_svg().map_err(|e| format!("{}: {e}", chart.name))?;
        assert!(
            !svg.contains("NaN") && !svg.contains("inf"),
            "{}",
            chart.name
        );
        assert!(svg.contains("<desc id=") && svg.contains("A &lt;title&gt; &amp; more"));
        assert!(!svg.contains("kuva-clip"), "{}", chart.name);
        let png = chart.to_png()?;
        assert!(png.starts_with(b"\x89PNG"), "{}", chart.name);
    }
    Ok(())
}

#[test]
fn constant_values_give_nonempty_axis() -> Tested {
    let flat = chart(
        "flat",
        Plot::Lines {
            series: vec![line(&[(0.0, 0.5), (1.0, 0.5)])],
            references: Vec::new(),
        },
    );
    assert!(!flat.to_svg()?.contains("NaN"));
    Ok(())
}

#[test]
fn line_breaks_at_gaps() -> Tested {
    let lines = |gaps: &[f64]| {
        let series = PointSeries {
            gaps: gaps.to_vec(),
            ..line(&[(1.0, 0.5), (2.0, 0.7), (4.0, 0.4), (6.0, 0.6), (7.0, 0.5)])
        };
        let plot = Plot::Lines {
            series: vec![series],
            references: Vec::new(),
        };
        chart("gaps", plot)
    };
    let strokes = |chart: &Chart| -> Result<usize, Box<dyn std::error::Error>> {
        let Plot::Lines { series, .. } = &chart.plot else {
            return Err("no lines".into());
        };
        let svg = chart.to_svg()?;
        assert!(!svg.contains("NaN"), "{svg}");
        // The legend has the name once, whatever the number of parts.
        assert_eq!(svg.matches(">one<").count(), 1, "{svg}");
        Ok(series[0].segments().count())
    };
    assert_eq!(strokes(&lines(&[]))?, 1);
    assert_eq!(strokes(&lines(&[3.0, 3.5]))?, 2);
    assert_eq!(strokes(&lines(&[0.0, 3.0, 5.0, 8.0]))?, 3);
    assert_eq!(strokes(&lines(&[1.5, 3.0, 5.0, 6.5]))?, 5);
    let broken = lines(&[3.0]);
    let whole = lines(&[]);
    assert_ne!(broken.to_svg()?, whole.to_svg()?);
    let text = broken.to_json(&Provenance::new())?;
    assert_eq!(serde_json::from_str::<Chart>(&text)?, broken);
    assert!(!whole.to_json(&Provenance::new())?.contains("gaps\":"));
    Ok(())
}

#[test]
fn chart_json_roundtrips_to_same_chart() -> Tested {
    for chart in all_kinds(3) {
        let text = chart.to_json(&Provenance::new())?;
        let value: Value = serde_json::from_str(&text)?;
        assert_eq!(value["format"], FORMAT);
        assert!(value["provenance"]["version"].is_string());
        assert_eq!(serde_json::from_str::<Chart>(&text)?, chart);
    }
    Ok(())
}

#[test]
fn chart_writes_svg_png_and_json() -> Tested {
    let folder = tempfile::tempdir()?;
    for chart in all_kinds(2) {
        let files = chart.write(folder.path(), &Provenance::new())?;
        assert!(files.svg.is_file() && files.png.is_file() && files.json.is_file());
    }
    Ok(())
}

#[test]
fn empty_chart_error_names_chart() {
    for mut chart in all_kinds(1) {
        match &mut chart.plot {
            Plot::GroupedBars { groups, series } => {
                groups.clear();
                series.clear();
            }
            Plot::HorizontalBars { rows } => rows.clear(),
            Plot::Lines { series, .. } | Plot::Points { series, .. } => series.clear(),
            Plot::StackedArea { x, series } => {
                x.clear();
                series.clear();
            }
            Plot::Radar { series, .. } => series.clear(),
            Plot::Fishbone { .. } => continue,
        }
        let error = chart.to_svg().map_err(|error| error.to_string());
        let name = &chart.name;
        assert_eq!(
            error,
            Err(format!("chart {name}: there is nothing to draw"))
        );
    }
}

#[test]
fn invalid_chart_data_error_names_reason() {
    let faults = [
        (line(&[(0.0, f64::NAN)]), "not finite"),
        (line(&[(f64::INFINITY, 0.0)]), "not finite"),
    ];
    for (series, reason) in faults {
        let chart = chart(
            "c",
            Plot::Lines {
                series: vec![series],
                references: Vec::new(),
            },
        );
        let error = chart.to_png().map_err(|error| error.to_string());
        assert!(error.is_err_and(|text| text.contains(reason)));
    }
    let uneven = chart(
        "c",
        Plot::StackedArea {
            x: vec![0.0, 1.0],
            series: vec![area(&[1.0])],
        },
    );
    let error = uneven.to_svg().map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("series one has 1 values where 2 are needed")));
    let two = chart(
        "c",
        Plot::Radar {
            axes: vec!["a".into(), "b".into()],
            range: [0.0, 1.0],
            series: vec![area(&[0.1, 0.2])],
        },
    );
    let error = two.to_svg().map_err(|error| error.to_string());
    assert!(error.is_err_and(|text| text.contains("a radar of 2 axes: at least 3 are needed")));
    let mut named = chart("../c", Plot::HorizontalBars { rows: Vec::new() });
    assert!(matches!(named.to_svg(), Err(ChartError::Name(_))));
    named.name = "c".to_owned();
    named.y.range = Some([1.0, 1.0]);
    assert!(matches!(named.to_svg(), Err(ChartError::Data { .. })));
}
