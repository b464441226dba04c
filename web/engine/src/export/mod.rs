//! Files that a visitor takes away: the episode as replay rows, charts as drawings, and standings
//! as a table.

mod episode;
mod standings;
mod svg;

pub use episode::episode_rows;
pub use standings::standings_csv;
pub use svg::chart_svg;

use sentinel_page_protocol::{Chart, Conversion, ExportedFile, PlayedEpisode};

/// Sentence about an export of what the engine has not sent.
pub const NOTHING: &str = "Nothing to save: it has changed or is gone.";

/// Returns a drawing of a chart; a PNG is made of it if `png` is `true`. The file is named after
/// `stem` and the chart.
#[must_use]
pub fn chart_file(stem: &str, chart: &Chart, caption: &str, png: bool) -> ExportedFile {
    let (ending, conversion) = if png {
        (".png", Conversion::Png)
    } else {
        (".svg", Conversion::None)
    };
    ExportedFile {
        name: file_stem(&[stem, &chart.id]) + ending,
        mime: "image/svg+xml".to_owned(),
        content: chart_svg(chart, caption).into_bytes(),
        conversion,
    }
}

/// Returns a file name without its ending from some words, in letters that every system accepts.
#[must_use]
pub fn file_stem(words: &[&str]) -> String {
    let words = words.iter().filter(|word| !word.is_empty());
    let plain = |c: char| match c {
        c if c.is_ascii_alphanumeric() || "-_.".contains(c) => c,
        _ => '-',
    };
    let words = words.map(|word| word.chars().map(plain).take(60).collect::<String>());
    words.collect::<Vec<String>>().join("-")
}

/// Returns the words of an episode for a file name: world, task, seed and player.
#[must_use]
pub fn episode_stem(world: &str, episode: &PlayedEpisode) -> String {
    let seed = format!("seed{}", episode.seed);
    let player = episode.player.strip_prefix("replay:");
    let player = player.unwrap_or(&episode.player);
    file_stem(&[world, &episode.task, &seed, player])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_have_no_letters_that_a_system_refuses() {
        let episode = PlayedEpisode {
            task: "DDI-hard".to_owned(),
            seed: 7,
            player: "replay:my file/x?".to_owned(),
            ..PlayedEpisode::default()
        };
        let stem = episode_stem("polyguard", &episode);
        assert_eq!(stem, "polyguard-DDI-hard-seed7-my-file-x-");
        assert_eq!(file_stem(&["a", "", "b"]), "a-b");
    }
}
