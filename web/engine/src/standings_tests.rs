//! Tests of the statistics, against numbers computed by hand.

use super::*;

const NUMBERING: Numbering = Numbering {
    tasks: 2,
    first_seed: 10,
    episodes: 12,
};

fn results(player: &str, outcomes: &[Outcome]) -> PlayerResults {
    PlayerResults {
        player: player.to_owned(),
        label: player.to_owned(),
        outcomes: outcomes.to_vec(),
        fallbacks: 0,
        is_gone: false,
    }
}

fn played(player: &str, scores: &[f64]) -> PlayerResults {
    let outcomes: Vec<Outcome> = scores.iter().map(|score| Outcome::Score(*score)).collect();
    results(player, &outcomes)
}

fn numbered(values: &[f64]) -> Vec<(usize, f64)> {
    values.iter().copied().enumerate().collect()
}

/// Returns the outcomes of a player with the scores of each task, task by task.
fn by_task(cells: &[Vec<f64>]) -> Vec<Outcome> {
    let seeds = cells.iter().map(Vec::len).max().unwrap_or_default();
    let seeds = (0..seeds).flat_map(|seed| cells.iter().map(move |cell| cell.get(seed)));
    seeds
        .map(|score| score.map_or(Outcome::LeftOut, |score| Outcome::Score(*score)))
        .collect()
}

/// The trainer's report reads the same cases (`trainer/evidence/src/report/read/evaluation.rs`).
#[test]
fn intervals_are_those_of_the_trainer() {
    let vector: serde_json::Value =
        serde_json::from_str(include_str!("../../../testdata/intervals.json")).expect("JSON");
    for case in vector["cases"].as_array().expect("cases") {
        let cells: Vec<Vec<f64>> = serde_json::from_value(case["cells"].clone()).expect("scores");
        let numbering = Numbering {
            tasks: cells.len(),
            ..NUMBERING
        };
        let zeros: Vec<Vec<f64>> = cells.iter().map(|cell| vec![0.0; cell.len()]).collect();
        let all = [
            results("a", &by_task(&cells)),
            results("zero", &by_task(&zeros)),
        ];
        let found = standings(&numbering, &all, "zero");
        let placement = found.placements.iter().find(|p| p.player == "a");
        let placement = placement.expect("a placement");
        let expected = |key: &str| case[key].as_f64();
        assert_eq!(
            (Some(placement.mean), Some(placement.half_width)),
            (expected("mean"), expected("half_width")),
            "{}",
            case["what"]
        );
        let half_width = found.differences[0].half_width;
        match expected("paired_half_width") {
            Some(expected) => assert!((half_width - expected).abs() < 1e-6, "{half_width}"),
            None => assert!(half_width.is_nan(), "{}", case["what"]),
        }
    }
    let found = standings(&NUMBERING, &[results("a", &[])], "");
    assert!(found.placements[0].half_width.is_nan());
}

/// The differences are 0.1 and 0.2, four times each: mean 0.15, standard deviation 0.05 √(8/7),
/// standard error 0.018898, and the 97.5 % quantile of Student's t with 7 degrees is 2.3646.
/// As two tasks of four episodes each they are without any spread.
#[test]
fn paired_interval_is_that_of_students_t() {
    let base = [0.5, 0.4, 0.6, 0.3, 0.5, 0.4, 0.6, 0.3];
    let better: Vec<f64> = base
        .iter()
        .enumerate()
        .map(|(i, score)| score + if i % 2 == 0 { 0.1 } else { 0.2 })
        .collect();
    let all = [played("a", &base), played("b", &better)];
    let numbering = Numbering {
        tasks: 1,
        ..NUMBERING
    };
    let found = standings(&NUMBERING, &all, "a");
    assert!(found.differences[0].half_width < 1e-9);
    let found = standings(&numbering, &all, "a");
    assert_eq!(found.reference, "a");
    let [difference] = &found.differences[..] else {
        panic!("{found:?}");
    };
    assert_eq!(difference.player, "b");
    assert!((difference.mean - 0.15).abs() < 1e-12);
    assert!(
        (difference.half_width - 0.044_686).abs() < 1e-6,
        "{}",
        difference.half_width
    );
    assert_eq!(
        (difference.verdict.as_str(), difference.tone),
        ("better", Tone::Good)
    );
    assert_eq!(difference.pairs, [8, 0, 0]);
    // Seen from the other side it is the opposite.
    let found = standings(&numbering, &all, "b");
    let difference = &found.differences[0];
    assert!((difference.mean + 0.15).abs() < 1e-12);
    assert_eq!(
        (difference.verdict.as_str(), difference.tone),
        ("worse", Tone::Bad)
    );
    assert_eq!(difference.pairs, [0, 0, 8]);
    assert!(difference.ahead.is_empty());
}

#[test]
fn pairs_are_the_episodes_that_both_have_played() {
    use Outcome::{LeftOut, Open, Score};
    let replay = [LeftOut, Score(0.9), LeftOut, Score(0.7), LeftOut, Open];
    let all = [
        results("replay", &replay),
        played("whole", &[0.1, 0.8, 0.2, 0.8]),
    ];
    let found = standings(&NUMBERING, &all, "");
    // The replay's mean is higher, but only a player of all episodes is the best.
    assert_eq!(found.placements[0].player, "replay");
    assert!((found.placements[0].mean - 0.8).abs() < 1e-12);
    assert_eq!(found.placements[0].scored, 2);
    assert_eq!(found.placements[0].note, "2 of 12 episodes");
    assert_eq!(found.placements[1].note, "");
    assert_eq!(found.reference, "whole");
    assert_eq!((found.played, found.total, found.left_out), (9, 24, 3));
    let difference = &found.differences[0];
    assert_eq!(difference.pairs, [1, 0, 1]);
    assert!(difference.mean.abs() < 1e-12, "{}", difference.mean);
    // Of the two tasks one has pairs: 12.7062 standard errors of 0.1.
    assert!((difference.half_width - 1.270_62).abs() < 1e-9);
    assert_eq!(
        (difference.verdict.as_str(), difference.tone),
        ("undecided", Tone::Open)
    );
    // Episode 1 is the second task of seed 10, episode 3 that of seed 11.
    let [ahead] = &difference.ahead[..] else {
        panic!("{difference:?}");
    };
    assert_eq!((ahead.task, ahead.seed), (1, 10));
    assert!((ahead.score - 0.1).abs() < 1e-6);
    assert_eq!(
        (difference.behind[0].task, difference.behind[0].seed),
        (1, 11)
    );
}

#[test]
fn one_seed_has_no_spread_and_no_verdict() {
    let all = [played("a", &[0.4]), played("b", &[0.6])];
    let found = standings(&NUMBERING, &all, "");
    let players: Vec<&str> = found.placements.iter().map(|p| p.player.as_str()).collect();
    assert_eq!(players, ["b", "a"]);
    assert!(found.placements.iter().all(|p| p.half_width == 0.0));
    assert!(found.differences[0].half_width.is_nan());
    assert_eq!(found.differences[0].verdict, "undecided");
    assert_eq!(found.differences[0].pairs, [0, 0, 1]);
}

#[test]
fn equal_scores_are_the_same_not_undecided() {
    let scores = [0.5, 0.7, 0.5, 0.7, 0.5, 0.7, 0.5, 0.7, 0.6];
    let all = [played("a", &scores), played("b", &scores)];
    let found = standings(&NUMBERING, &all, "");
    // Of equal players the first is the best.
    assert_eq!(found.reference, "a");
    let difference = &found.differences[0];
    assert_eq!(difference.verdict, "same");
    assert_eq!((difference.mean, difference.half_width), (0.0, 0.0));
    assert_eq!(difference.pairs, [0, 9, 0]);
    assert!(difference.ahead.is_empty() && difference.behind.is_empty());
    // All are in the middle bar, around 0.
    assert_eq!(difference.histogram[BARS / 2], 9);
}

#[test]
fn nothing_played_and_nobody_present_are_no_error() {
    let found = standings(&NUMBERING, &[], "a");
    assert_eq!((found.played, found.total), (0, 0));
    let found = standings(&NUMBERING, &[results("a", &[]), results("b", &[])], "");
    assert_eq!((found.played, found.total), (0, 24));
    assert_eq!(found.differences[0].verdict, "no pairs");
    let gone = PlayerResults {
        is_gone: true,
        ..results("c", &[])
    };
    let found = standings(&NUMBERING, &[played("a", &[0.5]), gone], "c");
    assert_eq!((found.reference.as_str(), found.total), ("a", 12));
    assert_eq!(found.placements[1].player, "c");
    assert!(found.placements[1].note.contains("could not be loaded"));
    assert!(found.placements[1].mean.is_nan());
}

#[test]
fn extremes_are_in_order_and_the_first_of_equals_comes_first() {
    let scores = [0.5, 0.2, 0.9, 0.2, 0.9, 0.1, 0.8, 0.3];
    let found = standings(&NUMBERING, &[played("a", &scores)], "");
    let named = |all: &[EpisodeScore]| -> Vec<(u16, u64, f32)> {
        all.iter().map(|e| (e.task, e.seed, e.score)).collect()
    };
    assert_eq!(
        named(&found.placements[0].worst),
        [
            (1, 12, 0.1),
            (1, 10, 0.2),
            (1, 11, 0.2),
            (1, 13, 0.3),
            (0, 10, 0.5)
        ]
    );
    assert_eq!(
        named(&found.placements[0].best)[..3],
        [(0, 11, 0.9), (0, 12, 0.9), (0, 13, 0.8)]
    );
}

#[test]
fn histograms_share_a_scale_and_hold_every_score() {
    let all = [played("a", &[0.42, 0.99, 0.5]), played("b", &[0.61, 0.75])];
    let found = standings(&NUMBERING, &all, "");
    assert!((found.score_range[0] - 0.4).abs() < 1e-9 && (found.score_range[1] - 1.0).abs() < 1e-9);
    for placement in &found.placements {
        assert_eq!(placement.histogram.len(), BARS);
        assert_eq!(placement.histogram.iter().sum::<u32>(), placement.scored);
    }
    // 0.42 is in the first of 21 parts of 0.4 to 1, 0.99 in the last.
    let a = found.placements.iter().find(|p| p.player == "a");
    let a = &a.expect("a player").histogram;
    assert_eq!((a[0], a[BARS - 1]), (1, 1));
    // The highest difference is 0.24 (0.99 and 0.75).
    assert!((found.difference_range[1] - 0.3).abs() < 1e-9);
    assert_eq!(histogram(&numbered(&[1.0, 1.0]), [0.0, 1.0])[BARS - 1], 2);
}
