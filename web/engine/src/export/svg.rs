//! A chart as an SVG document that needs no style sheet: colors and fonts are attributes, and the
//! background is light.

use sentinel_page_protocol::chart_geometry::{Scale, extent};
use sentinel_page_protocol::number_format::{css, fixed};
use sentinel_page_protocol::{Chart, Line, Strip, Tone};

/// Width of a document in pixels.
const WIDTH: f64 = 860.0;
/// Space around the drawing in pixels.
const MARGIN: f64 = 18.0;
/// Largest number of characters in a line of the subtitle.
const WRAP: usize = 118;

/// Color of text; all colors are those of the page's light theme.
const INK: &str = "#14161f";
/// Color of text beside the point.
const QUIET: &str = "#555d6e";
/// Color of grid lines.
const RULE: &str = "#e0e3ea";
/// Colors of lines by their style.
const LINES: [&str; 8] = [
    "#0072b2", "#7c5c05", "#007a5c", "#bb4d00", "#a04a86", "#4d5a6b", "#7a4fbf", "#8a6d3b",
];
/// Dash patterns of lines by their style; empty for a solid line.
const DASHES: [&str; 8] = [
    "",
    "7 4",
    "2 4",
    "9 3 2 3",
    "3 3",
    "12 4",
    "1 5",
    "6 2 1 2 1 2",
];

/// Returns a chart as an SVG document with its title. `caption` says what the chart belongs to.
#[must_use]
pub fn chart_svg(chart: &Chart, caption: &str) -> String {
    let scale = fitted_scale(chart, WIDTH - 2.0 * MARGIN, extent(chart));
    let mut body = text(MARGIN, 32.0, 18.0, INK, "start", true, &chart.title);
    let mut y = 32.0;
    let lines = std::iter::once(caption.to_owned()).chain(wrap(&chart.subtitle, WRAP));
    for line in lines.filter(|line| !line.is_empty()) {
        y += 18.0;
        body += &text(MARGIN, y, 12.5, QUIET, "start", false, &line);
    }
    let top = y + 14.0;
    body += &format!("<g transform=\"translate({},{})\">", css(MARGIN), css(top));
    body += &axes(chart, &scale);
    body += &content(chart, &scale);
    body += "</g>";
    let title = if caption.is_empty() {
        chart.title.clone()
    } else {
        format!("{} – {caption}", chart.title)
    };
    let height = top + scale.height + MARGIN / 2.0;
    let background = "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>";
    document(WIDTH, height, &title, &(background.to_owned() + &body))
}

/// Returns the scale of a chart whose labels beside the strips end within `width` too.
fn fitted_scale(chart: &Chart, width: f64, last: f64) -> Scale {
    let scale = Scale::new(chart, width, last);
    let lengths = chart.strips.iter().map(|strip| strip.label.chars().count());
    let label = 8.0 + 6.8 * lengths.max().unwrap_or(0) as f64;
    let room = width - scale.right;
    if label > room {
        return Scale::new(chart, width + room - label, last);
    }
    scale
}

/// Returns an SVG document of this size with a title for screen readers.
fn document(width: f64, height: f64, title: &str, body: &str) -> String {
    let (width, height) = (css(width), css(height));
    let mut out = String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\"");
    out += &format!(" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\"");
    out +=
        " font-family=\"system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif\">";
    out += &format!("<title>{}</title>{body}</svg>\n", escaped(title));
    out
}

/// Returns the parts of a chart that do not depend on its values: grid, labels and names of strips.
fn axes(chart: &Chart, scale: &Scale) -> String {
    let mut out = String::new();
    if !chart.lines.is_empty() {
        for value in scale.ticks.values() {
            let y = scale.y(value);
            out += &format!(
                "<path d=\"M{} {}H{}\" stroke=\"{RULE}\"/>",
                css(scale.left),
                css(y),
                css(scale.right)
            );
            let label = scale.ticks.label(value);
            out += &small(scale.left - 6.0, y + 4.0, "end", &label);
        }
    }
    for position in scale.x_ticks() {
        let (x, label) = (scale.x(position), fixed(position, 0));
        out += &small(x, scale.height - 18.0, "middle", &label);
    }
    let foot = scale.height - 3.0;
    out += &small(0.0, foot, "start", &chart.y_label);
    out += &small(scale.right, foot, "end", &chart.x_label);
    for (index, strip) in chart.strips.iter().enumerate() {
        let base = scale.strip_base(index) - 3.0;
        out += &small(scale.right + 8.0, base, "start", &strip.label);
    }
    out
}

/// Returns the parts of a chart that show values: strips of bars, lines and the names at their ends.
fn content(chart: &Chart, scale: &Scale) -> String {
    let mut out = String::new();
    for (index, strip) in chart.strips.iter().enumerate() {
        out += &bars(scale, index, strip);
    }
    // The first line is drawn on top.
    for line in chart.lines.iter().rev() {
        let band = scale.band_path(line);
        if !band.is_empty() {
            let color = color(line);
            out += &format!("<path d=\"{band}\" fill=\"{color}\" fill-opacity=\".14\"/>");
        }
        let path = scale.line_path(line);
        out += &format!("<path d=\"{path}\" fill=\"none\"{}/>", stroke(line));
    }
    if chart.lines.len() > 1 {
        for (line, y) in chart.lines.iter().zip(scale.name_positions(&chart.lines)) {
            let x = scale.right + 8.0;
            out += &text(x, y + 4.5, 13.0, color(line), "start", true, &line.name);
        }
    }
    out
}

fn bars(scale: &Scale, index: usize, strip: &Strip) -> String {
    let mut out = String::new();
    for (i, bar) in strip.bars.iter().enumerate() {
        let [x, y, width, height] = scale.bar(index, i + 1, bar.value);
        let color = tone_color(bar.tone);
        out += &format!(
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"1.5\" fill=\"{color}\" fill-opacity=\".62\">",
            css(x),
            css(y),
            css(width),
            css(height)
        );
        out += &format!("<title>{}</title></rect>", escaped(&bar.text));
        if !bar.sign.is_empty() {
            let middle = x + width / 2.0;
            out += &text(middle, y - 3.0, 11.0, color, "middle", false, &bar.sign);
        }
    }
    out
}

fn style(line: &Line) -> usize {
    usize::from(line.style.min(7))
}

fn color(line: &Line) -> &'static str {
    LINES[style(line)]
}

/// Returns the attributes with which a line is drawn.
fn stroke(line: &Line) -> String {
    let mut out = format!(
        " stroke=\"{}\" stroke-width=\"2.4\" stroke-linejoin=\"round\"",
        color(line)
    );
    let dash = DASHES[style(line)];
    if !dash.is_empty() {
        out += &format!(" stroke-dasharray=\"{dash}\"");
    }
    out
}

const fn tone_color(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "#16774d",
        Tone::Bad => "#b3261e",
        Tone::Warn => "#96550a",
        Tone::Open => "#3565a8",
        Tone::Neutral | Tone::Quiet => QUIET,
    }
}

/// Returns a text beside an axis.
fn small(x: f64, y: f64, anchor: &str, label: &str) -> String {
    text(x, y, 12.0, QUIET, anchor, false, label)
}

fn text(x: f64, y: f64, size: f64, fill: &str, anchor: &str, bold: bool, label: &str) -> String {
    let weight = if bold { " font-weight=\"700\"" } else { "" };
    format!(
        "<text x=\"{}\" y=\"{}\" font-size=\"{}\" fill=\"{fill}\" text-anchor=\"{anchor}\"{weight}>{}</text>",
        css(x),
        css(y),
        css(size),
        escaped(label)
    )
}

/// Returns text as XML content; control characters, which XML cannot hold, are left out.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out += "&amp;",
            '<' => out += "&lt;",
            '>' => out += "&gt;",
            '"' => out += "&quot;",
            c if c.is_control() || c == '\u{fffe}' || c == '\u{ffff}' => {}
            c => out.push(c),
        }
    }
    out
}

/// Splits a text into lines of at most `limit` characters, at spaces.
fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= limit => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::Bar;

    fn chart() -> Chart {
        Chart {
            id: "trust".to_owned(),
            title: "Trust & <doubt>".to_owned(),
            subtitle: "word ".repeat(40),
            x_label: "action".to_owned(),
            y_label: "trust".to_owned(),
            range: [0.0, 1.0],
            lines: (0..2)
                .map(|style| Line {
                    name: format!("S{style}"),
                    style,
                    y: vec![0.5, f32::NAN, 0.75],
                    half_width: vec![0.1, 0.1, 0.1],
                    ..Line::default()
                })
                .collect(),
            strips: vec![Strip {
                label: "reward".to_owned(),
                bars: vec![Bar {
                    value: 0.5,
                    sign: "✓".to_owned(),
                    text: "a \"b\"\u{1}".to_owned(),
                    tone: Tone::Good,
                }],
            }],
        }
    }

    #[test]
    fn document_stands_alone_and_escapes_its_texts() {
        let svg = chart_svg(&chart(), "Task 3 · seed 42");
        assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"));
        assert!(svg.contains("<title>Trust &amp; &lt;doubt&gt; – Task 3 · seed 42</title>"));
        assert!(svg.contains("a &quot;b&quot;</title>"), "{svg}");
        assert!(!svg.contains("class=") && !svg.contains("NaN") && !svg.contains("<style"));
        for tag in ["svg", "g", "text", "title", "rect"] {
            let opened =
                svg.matches(&format!("<{tag} ")).count() + svg.matches(&format!("<{tag}>")).count();
            let closed = svg.matches(&format!("</{tag}>")).count();
            // The background is an empty element.
            assert_eq!(opened - usize::from(tag == "rect"), closed, "{tag}");
        }
        assert_eq!(svg.matches(DASHES[1]).count(), 1);
    }

    #[test]
    fn colors_are_those_of_the_light_theme() {
        let style = include_str!("../../../shell/style.css");
        let light = style.split(":root[data-theme").next().expect("a part");
        let color = |name: &str| {
            let (_, rest) = light.split_once(&format!("--{name}: ")).expect("a color");
            rest.split(';').next().expect("a value")
        };
        let lines = ["s0", "s1", "s2", "s3", "s4", "l5", "l6", "l7"].map(color);
        assert_eq!(lines, LINES);
        let tones = [Tone::Good, Tone::Bad, Tone::Warn, Tone::Open].map(tone_color);
        assert_eq!(tones, ["good", "bad", "warn", "open"].map(color));
        assert_eq!([INK, QUIET, RULE], ["ink", "quiet", "rule"].map(color));
    }

    #[test]
    fn labels_of_strips_have_room() {
        let mut chart = chart();
        for label in ["", "reward", "reward, up to 0.405"] {
            label.clone_into(&mut chart.strips[0].label);
            let scale = fitted_scale(&chart, 800.0, 2.0);
            let label = 8.0 + 6.8 * label.chars().count() as f64;
            assert!(scale.right + label <= 800.5, "{}", scale.right);
        }
    }

    #[test]
    fn long_subtitles_are_wrapped() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), Vec::<String>::new());
    }
}
