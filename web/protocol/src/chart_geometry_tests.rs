//! Charts: labels are round, points lie where they should, and names do not cover each other.

use super::*;
use crate::Strip;

fn labels(low: f64, high: f64, count: f64) -> Vec<String> {
    let ticks = ticks(low, high, count);
    ticks.values().map(|value| ticks.label(value)).collect()
}

fn line(y: &[f32]) -> Line {
    Line {
        y: y.to_vec(),
        ..Line::default()
    }
}

fn chart(lines: Vec<Line>) -> Chart {
    Chart {
        range: [0.0, 1.0],
        lines,
        ..Chart::default()
    }
}

#[test]
fn labels_are_round_and_hold_the_data() {
    assert_eq!(labels(0.0, 1.0, 4.0), ["0", "0.25", "0.50", "0.75", "1.00"]);
    assert_eq!(labels(0.61, 0.87, 4.0), ["0.6", "0.7", "0.8", "0.9"]);
    assert_eq!(labels(0.0, 3e-4, 3.0), ["0", "1.0e-4", "2.0e-4", "3.0e-4"]);
    assert_eq!(labels(0.0, 0.0, 2.0), ["−1", "0", "1"]);
    for (low, high) in [(0.0, 1e-9), (-5.0, 7e6), (0.8, 0.800_000_1), (-2.0, -1.0)] {
        let ticks = ticks(low, high, 4.0);
        assert!(ticks.low <= low + ticks.step * 1e-6 && ticks.high >= high - ticks.step * 1e-6);
        assert!((2..=9).contains(&ticks.values().count()), "{low} {high}");
    }
    for (low, high) in [
        (f64::NAN, 1.0),
        (f64::NEG_INFINITY, f64::INFINITY),
        (1.0, 0.0),
    ] {
        assert!(ticks(low, high, 4.0).values().count() < 10, "{low} {high}");
    }
}

#[test]
fn a_line_breaks_where_it_has_no_value() {
    let scale = Scale {
        width: 500.0,
        height: 150.0,
        left: 40.0,
        right: 440.0,
        top: 10.0,
        bottom: 110.0,
        x_max: 4.0,
        ticks: ticks(0.0, 1.0, 4.0),
    };
    let path = scale.line_path(&line(&[0.0, 1.0, f32::NAN, 0.5, 2.0]));
    assert_eq!(path, "M40.0 110.0L140.0 10.0M340.0 60.0L440.0 10.0");
    let alone = [0.0, f32::NAN, 0.5, f32::INFINITY, 1.0];
    assert_eq!(
        scale.line_path(&line(&alone)),
        "M40.0 110.0h2M240.0 60.0h2M440.0 10.0h2"
    );
    let band = Line {
        half_width: vec![0.1, f32::NAN, 0.1],
        ..line(&[0.5, 0.5, 0.5])
    };
    assert_eq!(
        scale.band_path(&band),
        "M40.0 50.0L240.0 50.0L240.0 70.0L40.0 70.0"
    );
    assert_eq!(scale.band_path(&line(&[0.5])), "");
}

#[test]
fn a_place_leads_to_the_nearest_stop() {
    let scale = Scale::new(&chart(vec![line(&[0.0; 5])]), 600.0, 200.0);
    let stops = [0.0, 50.0, 100.0, 200.0];
    for (index, stop) in stops.iter().enumerate() {
        assert_eq!(
            scale.nearest_stop(&stops, scale.x(f64::from(*stop)) + 9.0),
            index
        );
    }
    assert_eq!(
        (
            scale.nearest_stop(&stops, -1e9),
            scale.nearest_stop(&stops, 1e9)
        ),
        (0, 3)
    );
    assert_eq!(scale.nearest_stop(&[], 7.0), 0);
    assert_eq!(scale.x_ticks().first(), Some(&0.0));
    let short = Scale::new(&chart(vec![]), 360.0, 1.0);
    assert_eq!(short.x_ticks(), [0.0, 1.0]);
}

#[test]
fn a_chart_fits_a_phone() {
    let mut chart = chart(vec![line(&[0.1]), line(&[0.2])]);
    chart.lines[0].name = "a name that is far too long for a phone".to_owned();
    chart.strips = vec![Strip::default(), Strip::default()];
    let scale = Scale::new(&chart, 300.0, 20.0);
    assert!(scale.right > scale.left + 100.0 && scale.right < 300.0);
    assert!(scale.strip_base(1) < scale.height);
    let [x, y, width, height] = scale.bar(1, 20, 1.0);
    assert!(
        x + width <= scale.right
            && y + height <= scale.strip_base(1) + 1e-9
            && y > scale.strip_base(0)
    );
}

#[test]
fn names_are_apart_and_in_order() {
    assert_eq!(
        spread_labels(vec![50.0, 10.0, 90.0], 16.0, 0.0, 100.0),
        [50.0, 10.0, 90.0]
    );
    assert_eq!(
        spread_labels(vec![50.0, 50.0], 16.0, 0.0, 100.0),
        [42.0, 58.0]
    );
    assert_eq!(
        spread_labels(vec![98.0, 99.0, 100.0], 16.0, 0.0, 100.0),
        [68.0, 84.0, 100.0]
    );
    assert_eq!(spread_labels(vec![0.0, 1.0], 16.0, 0.0, 100.0), [0.0, 16.0]);
    let many = spread_labels(
        (0..9).map(|i| f64::from(i % 3) * 5.0 + 40.0).collect(),
        16.0,
        0.0,
        200.0,
    );
    let mut sorted = many.clone();
    sorted.sort_by(f64::total_cmp);
    assert!(
        sorted.windows(2).all(|pair| pair[1] - pair[0] > 15.9),
        "{sorted:?}"
    );
    assert_eq!(spread_labels(vec![], 16.0, 0.0, 100.0), Vec::<f64>::new());
}

#[test]
fn stops_are_all_positions_once() {
    let one = Line {
        x: vec![0.0, 20.0, 40.0],
        ..line(&[0.1, 0.2, 0.3])
    };
    let two = Line {
        x: vec![10.0, 20.0],
        ..line(&[0.5, f32::NAN])
    };
    assert_eq!(value_at(&one, 20.0), Some(0.2));
    assert_eq!((value_at(&one, 10.0), value_at(&two, 20.0)), (None, None));
    let chart = chart(vec![one, two]);
    assert_eq!(stops(&chart), [0.0, 10.0, 20.0, 40.0]);
    assert_eq!(extent(&chart), 40.0);
}
