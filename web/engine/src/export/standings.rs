//! The standings of a tournament as CSV.

use sentinel_page_protocol::{EpisodeScore, Standings};

/// Headings of the columns.
const HEADINGS: [&str; 13] = [
    "player",
    "name",
    "mean",
    "half_width_95",
    "compared_with",
    "difference",
    "difference_half_width_95",
    "worst_task",
    "worst_seed",
    "worst_score",
    "best_task",
    "best_seed",
    "best_score",
];

/// Returns the standings as CSV (RFC 4180) with a row of headings; what is unknown is empty.
/// `tasks` are the names of the tournament's tasks.
#[must_use]
pub fn standings_csv(standings: &Standings, tasks: &[String]) -> String {
    let mut out = String::new();
    push_row(&mut out, HEADINGS.map(str::to_owned).to_vec());
    for placement in &standings.placements {
        let differences = &standings.differences;
        let difference = differences.iter().find(|d| d.player == placement.player);
        let mut row = vec![
            placement.player.clone(),
            placement.label.clone(),
            number(placement.mean),
            number(placement.half_width),
            difference.map_or_else(String::new, |_| standings.reference.clone()),
            difference.map_or_else(String::new, |difference| number(difference.mean)),
            difference.map_or_else(String::new, |difference| number(difference.half_width)),
        ];
        row.extend(episode(placement.worst.first(), tasks));
        row.extend(episode(placement.best.first(), tasks));
        push_row(&mut out, row);
    }
    out
}

/// Returns task, seed and score of an episode; empty for none.
fn episode(episode: Option<&EpisodeScore>, tasks: &[String]) -> [String; 3] {
    episode.map_or_else(Default::default, |episode| {
        let task = tasks.get(usize::from(episode.task));
        let task = task.cloned().unwrap_or_default();
        let score = format!("{:.4}", episode.score);
        [task, episode.seed.to_string(), score]
    })
}

/// Formats a number with six decimals; empty if it is not finite.
fn number(value: f64) -> String {
    if value.is_finite() {
        format!("{value:.6}")
    } else {
        String::new()
    }
}

fn push_row(out: &mut String, fields: Vec<String>) {
    let quoted = fields.into_iter().map(|field| {
        if field.contains([',', '"', '\r', '\n']) {
            format!("\"{}\"", field.replace('"', "\"\""))
        } else {
            field
        }
    });
    out.push_str(&quoted.collect::<Vec<String>>().join(","));
    out.push_str("\r\n");
}

#[cfg(test)]
mod tests {
    use super::*;
    use sentinel_page_protocol::{Difference, Placement};

    #[test]
    fn fields_are_quoted_and_unknown_numbers_are_empty() {
        let placement = |player: &str, label: &str, half_width| Placement {
            player: player.to_owned(),
            label: label.to_owned(),
            mean: 0.75,
            half_width,
            ..Placement::default()
        };
        let standings = Standings {
            placements: vec![
                placement("grpo", "Trained, \"greedy\"", 0.0125),
                placement("replay:a", "Replay", f64::NAN),
            ],
            differences: vec![Difference {
                player: "replay:a".to_owned(),
                mean: -0.5,
                ..Difference::default()
            }],
            reference: "grpo".to_owned(),
            ..Standings::default()
        };
        let csv = standings_csv(&standings, &[]);
        let lines: Vec<&str> = csv.split("\r\n").collect();
        assert_eq!(lines.len(), 4);
        assert_eq!(lines[0].split(',').count(), HEADINGS.len());
        assert_eq!(
            lines[1],
            "grpo,\"Trained, \"\"greedy\"\"\",0.750000,0.012500,,,,,,,,,"
        );
        assert_eq!(
            lines[2],
            "replay:a,Replay,0.750000,,grpo,-0.500000,0.000000,,,,,,"
        );
        assert_eq!(lines[3], "");
    }
}
