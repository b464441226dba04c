//! Thinning of long curves, so that a chart costs the page the same however long its runs are.

use sentinel_page_protocol::Line;

/// Largest number of points of a line that is not thinned.
const POINTS_MAX: usize = 1_000;
/// Number of stretches of the steps; a thinned line keeps at most three values of each, and its ends.
const STRETCHES: usize = 330;

/// Thins the lines of a chart if one of them is long. Of every stretch of the steps a line keeps its
/// lowest and its highest value, and the value at a step where all lines have one, so that lines can
/// still be compared. First and last point stay, and so does a break wherever there was one.
///
/// Returns the number of points of the longest line before, or `None` if no line was thinned.
pub(super) fn thin(lines: &mut [Line]) -> Option<usize> {
    let longest = lines.iter().map(|line| line.y.len()).max()?;
    if longest <= POINTS_MAX {
        return None;
    }
    let stretches = stretches(lines);
    for line in lines.iter_mut().filter(|line| line.y.len() > POINTS_MAX) {
        let kept = kept(line, &stretches);
        let keep = |values: &[f32]| {
            kept.iter()
                .filter_map(|i| values.get(*i).copied())
                .collect()
        };
        line.x = keep(&line.x);
        line.y = keep(&line.y);
        line.half_width = keep(&line.half_width);
    }
    Some(longest)
}

/// A stretch of the steps of all lines.
struct Stretch {
    /// The last step of the stretch.
    end: f32,
    /// The first step at which all lines have a value; `None` without one.
    shared: Option<f32>,
}

/// Returns stretches with equal numbers of steps, in ascending order.
fn stretches(lines: &[Line]) -> Vec<Stretch> {
    let mut steps: Vec<f32> = lines.iter().flat_map(|line| &line.x).copied().collect();
    steps.sort_by(f32::total_cmp);
    steps.dedup();
    // Lines are walked along with the steps.
    let mut places = vec![0; lines.len()];
    let mut is_shared = |step: f32| {
        let mut all = true;
        for (line, place) in lines.iter().zip(&mut places) {
            while line.x.get(*place).is_some_and(|x| *x < step) {
                *place += 1;
            }
            all &= match line.x.get(*place) {
                Some(x) if *x == step => line.y.get(*place).is_some_and(|y| y.is_finite()),
                // A line that has not begun, or has ended, has no value to compare.
                Some(_) => *place == 0,
                None => true,
            };
        }
        all
    };
    let size = steps.len().div_ceil(STRETCHES).max(1);
    let stretch = |steps: &[f32]| {
        let mut shared = None;
        for step in steps {
            if is_shared(*step) && shared.is_none() {
                shared = Some(*step);
            }
        }
        Stretch {
            end: steps.last().copied().unwrap_or(f32::MAX),
            shared,
        }
    };
    steps.chunks(size).map(stretch).collect()
}

/// Returns the indices of the points that a line keeps, in ascending order.
fn kept(line: &Line, stretches: &[Stretch]) -> Vec<usize> {
    let mut kept = vec![0];
    let mut from = 0;
    for stretch in stretches {
        let count = line.x[from..].partition_point(|x| *x <= stretch.end);
        let to = from + count;
        let finite = || (from..to).filter(|i| line.y.get(*i).is_some_and(|y| y.is_finite()));
        let shared = finite().find(|i| stretch.shared == Some(line.x[*i]));
        let lowest = finite().min_by(|a, b| line.y[*a].total_cmp(&line.y[*b]));
        let highest = finite().max_by(|a, b| line.y[*a].total_cmp(&line.y[*b]));
        let mut found: Vec<usize> = [shared, lowest, highest].into_iter().flatten().collect();
        found.sort_unstable();
        kept.extend(found);
        from = to;
    }
    kept.push(line.y.len() - 1);
    kept.dedup();
    with_breaks(line, &kept)
}

/// Adds a point without a value between neighbors if the line has a break there.
fn with_breaks(line: &Line, kept: &[usize]) -> Vec<usize> {
    let mut all = Vec::with_capacity(kept.len());
    for pair in kept.windows(2) {
        all.push(pair[0]);
        all.extend((pair[0] + 1..pair[1]).find(|i| !line.y[*i].is_finite()));
    }
    all.extend(kept.last());
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(points: impl Iterator<Item = (f32, f32)>) -> Line {
        let (x, y) = points.unzip();
        Line {
            x,
            y,
            ..Line::default()
        }
    }

    #[test]
    fn short_lines_stay_as_they_are() {
        let short = || line((0..1_000).map(|i| (i as f32, i as f32)));
        let mut lines = [short(), short()];
        assert_eq!(thin(&mut lines), None);
        assert_eq!(lines, [short(), short()]);
        assert_eq!(thin(&mut []), None);
    }

    #[test]
    fn ends_peaks_and_breaks_stay() {
        let value = |i: u32| match i {
            777 => 9.0,
            12_345 => -9.0,
            5_000 | 6_000..=6_300 => f32::NAN,
            i => (i % 7) as f32 / 7.0,
        };
        let mut lines = [line((1..=20_000).map(|i| (i as f32, value(i))))];
        assert_eq!(thin(&mut lines), Some(20_000));
        let [line] = &lines;
        assert!((500..=1_010).contains(&line.x.len()), "{}", line.x.len());
        assert_eq!(line.x.len(), line.y.len());
        assert!(line.x.is_sorted() && line.half_width.is_empty());
        assert_eq!((line.x[0], line.x.last()), (1.0, Some(&20_000.0)));
        let at = |step: f32| line.x.iter().position(|x| *x == step).map(|i| line.y[i]);
        assert_eq!((at(777.0), at(12_345.0)), (Some(9.0), Some(-9.0)));
        assert!(at(5_000.0).is_some_and(f32::is_nan));
        let in_gap = |x: f32| (6_000.0..=6_300.0).contains(&x);
        let gap = line.x.iter().zip(&line.y).filter(|(x, _)| in_gap(**x));
        let gap: Vec<_> = gap.collect();
        assert!(!gap.is_empty() && gap.iter().all(|(_, y)| y.is_nan()));
    }

    #[test]
    fn alternating_breaks_stay_bounded() {
        let value = |i: u32| {
            if i.is_multiple_of(2) {
                f32::NAN
            } else {
                i as f32
            }
        };
        let mut lines = [line((0..50_000).map(|i| (i as f32, value(i))))];
        assert_eq!(thin(&mut lines), Some(50_000));
        assert!(lines[0].y.len() <= 2_000, "{}", lines[0].y.len());
        let neighbors = lines[0].y.windows(2);
        assert!(
            neighbors
                .into_iter()
                .all(|pair| pair[0].is_nan() || pair[1].is_nan())
        );
        let mut empty = [line((0..5_000).map(|i| (i as f32, f32::NAN)))];
        assert_eq!(thin(&mut empty), Some(5_000));
        assert!((2..=3).contains(&empty[0].y.len()));
    }

    /// The second line is logged at every tenth step of the first, from step 4 000 to 36 000.
    #[test]
    fn lines_share_steps_after_thinning() {
        let mut lines = [
            line((0..40_000).map(|i| (i as f32, (i % 11) as f32))),
            line((400..3_600).map(|i| ((10 * i) as f32, (i % 13) as f32))),
        ];
        assert_eq!(thin(&mut lines), Some(40_000));
        let [a, b] = &lines;
        let shared = a.x.iter().filter(|x| b.x.contains(x)).count();
        assert!(shared >= 250, "{shared}");
        assert!(a.x.len() <= 1_000 && b.x.len() <= 1_000);
    }
}
