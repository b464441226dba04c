//! Tests that detours do not pay: keeping once more, or an act and its reversal, at any point of an
//! oracle's episode (spec polyguard §11, 7).

use sentinel_env::Environment;
use sentinel_env::polyguard::{Act, ActArg, ActKind, Action, Episode, Rules, Setup, TaskSpec};
use sentinel_env::rng::Streams;
use sentinel_policy::policy::Player;
use sentinel_policy::polyguard::PolicyName;

/// The acts of the oracle, with the episode before each act and the final score.
struct Played {
    before: Vec<Episode>,
    acts: Vec<Act>,
    score: f64,
}

fn oracle() -> Player<sentinel_env::polyguard::PolyguardEnv> {
    PolicyName::Oracle.player(0, Streams::Independent)
}

fn played(setup: &Setup) -> Played {
    let (mut player, mut episode) = (oracle(), Episode::reset(setup));
    let (mut before, mut acts) = (Vec::new(), Vec::new());
    while let Some(action) = player.act(&episode) {
        before.push(episode.clone());
        let step = episode.step(action).expect("the episode runs");
        acts.extend(step.info.act);
    }
    Played {
        before,
        acts,
        score: episode.score(),
    }
}

/// Takes the act; `None` if it is not shown.
fn take(episode: &mut Episode, act: Act) -> Option<()> {
    let o = episode.observation();
    let id = o.candidates.find(|candidate| candidate.act == act)?.id;
    episode.step(Action::with_grounded_rationale(o, id)).ok()?;
    Some(())
}

/// Takes the same acts as before until the end, and returns the score; `None` if one is no longer
/// shown, or if they do not reach the end.
fn as_before(mut episode: Episode, acts: &[Act]) -> Option<f64> {
    for act in acts {
        if !episode.observation().done() {
            take(&mut episode, *act)?;
        }
    }
    episode.observation().done().then(|| episode.score())
}

/// Lets the oracle play on, and returns the score.
fn anew(mut episode: Episode) -> f64 {
    let mut player = oracle();
    while let Some(action) = player.act(&episode) {
        episode.step(action).expect("the episode runs");
    }
    episode.score()
}

const KEEP: Act = Act {
    kind: ActKind::KeepRegimen,
    drug: None,
    arg: ActArg::None,
};

/// Returns the shown acts that can be reversed at once, each with its reversal.
fn loops(episode: &Episode) -> Vec<[Act; 2]> {
    let shown = episode.observation().candidates.iter();
    let with_undo = shown.filter_map(|candidate| {
        let act = candidate.act;
        let back = match (act.kind, act.arg) {
            (ActKind::HoldDose, _) => 1,
            (ActKind::AdjustDoseBucket, ActArg::Dose(by)) => -by,
            _ => return None,
        };
        let undo = Act {
            kind: ActKind::AdjustDoseBucket,
            arg: ActArg::Dose(back),
            ..act
        };
        Some([act, undo])
    });
    with_undo.collect()
}

/// Changes of the score by detours.
#[derive(Default)]
struct Gains {
    all: Vec<f64>,
    raised: Vec<String>,
}

impl Gains {
    fn add(&mut self, place: &str, gain: f64) {
        self.all.push(gain);
        if gain > 1e-9 {
            self.raised.push(format!("{place}: {gain:+.3}"));
        }
    }

    fn mean(&self) -> f64 {
        self.all.iter().sum::<f64>() / self.all.len() as f64
    }

    /// Asserts that at most `share` of the detours raised the score, and none by more than `most`.
    fn are_rare(&self, share: f64, most: f64) {
        let raised = self.raised.len() as f64 / self.all.len() as f64;
        assert!(raised <= share, "{raised}: {:#?}", self.raised);
        let max = self.all.iter().copied().fold(0.0, f64::max);
        assert!(max <= most, "{:#?}", self.raised);
    }
}

/// Inserts a detour before every step and continues with the same acts. On the first two seeds,
/// also lets the oracle play on freely, which gives the second result.
fn detour(seeds: u64, ways: impl Fn(&Episode) -> Vec<Vec<Act>>) -> [Gains; 2] {
    let [mut same, mut free] = [Gains::default(), Gains::default()];
    for case in TaskSpec::ALL {
        for seed in 0..seeds {
            let played = played(&Setup::new(case, seed).with_rules(Rules::HARDENED));
            for (at, before) in played.before.iter().enumerate() {
                for way in ways(before) {
                    let mut episode = before.clone();
                    if way.iter().any(|act| take(&mut episode, *act).is_none()) {
                        continue;
                    }
                    let place = format!("{case} seed {seed} before step {}", at + 1);
                    if seed < 2 {
                        free.add(&place, anew(episode.clone()) - played.score);
                    }
                    if let Some(score) = as_before(episode, &played.acts[at..]) {
                        same.add(&place, score - played.score);
                    }
                }
            }
        }
    }
    [same, free]
}

/// Measured on 100 seeds per case: of 5385 detours none scored higher, and the mean score was .033
/// lower. An oracle that plays on freely scored higher in one of 582 cases, by .035, because it
/// looks only two steps ahead.
#[test]
fn extra_keep_step_never_raises_score() {
    let [same, free] = detour(20, |_| vec![vec![KEEP]]);
    assert!(same.all.len() > 800, "{}", same.all.len());
    assert!(same.raised.is_empty(), "{:#?}", same.raised);
    assert!(same.mean() < -0.02, "{}", same.mean());
    free.are_rare(0.01, 0.05);
}

/// Undoing pays in rare cases at most (spec polyguard §11, 7). Measured on 100 seeds per case: 2 of
/// 3804 detours scored higher, by .006 and .001, both in episodes that end without success, because
/// the detour shifts the random draws after it. The mean score was .05 lower.
#[test]
fn do_and_undo_rarely_raises_score() {
    let [same, free] = detour(20, |before| {
        loops(before).into_iter().map(Vec::from).collect()
    });
    assert!(same.all.len() > 500, "{}", same.all.len());
    same.are_rare(0.003, 0.01);
    assert!(same.mean() < -0.03, "{}", same.mean());
    free.are_rare(0.01, 0.05);
}
