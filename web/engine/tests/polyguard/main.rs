//! The engine of the PolyGuard world.

#[path = "../common/mod.rs"]
mod common;
mod secrecy;
mod views;

use std::collections::BTreeSet;

use common::{
    ask, codes_replay_the_run, deferred, episode_ref, played, policies_play_as_natively,
    repository, run_of, truth_of, truths, unknown_words_are_named, views,
};
use sentinel_env::polyguard::{
    Action, CandidateId, Choice, Confidence, Difficulty, PolyguardEnv, RationaleTerms, Rules,
    Split, SubEnvironment, TaskSpec, Violation,
};
use sentinel_env::rng::Streams;
use sentinel_env::{Environment as _, EpisodeSpec};
use sentinel_page_engine::Engine;
use sentinel_page_engine::actor::{Actor, PolicyActor, PolicyOutput};
use sentinel_page_engine::world::{weights_path, world_info};
use sentinel_page_protocol::{
    AgentView, Branch, DeferredReply, Panel, Reply, Request, StepLine, Truth,
};
use sentinel_policy::nn::Published as _;
use sentinel_policy::polyguard::PolicyName;

fn origin(task: TaskSpec, seed: u64) -> EpisodeSpec<PolyguardEnv> {
    EpisodeSpec {
        task,
        seed,
        streams: Streams::Independent,
        rules: Rules::REFERENCE,
    }
}

fn request(origin: &EpisodeSpec<PolyguardEnv>, player: &str, branch: Option<Branch>) -> Request {
    Request::Play {
        run: 1,
        episode: episode_ref(origin),
        player: player.to_owned(),
        branch,
        watched: false,
    }
}

/// Plays an episode and returns the views and the hidden state of all frames.
fn shown(origin: &EpisodeSpec<PolyguardEnv>, player: &str) -> (Vec<AgentView>, Vec<Truth>) {
    let mut engine = Engine::<PolyguardEnv>::default();
    let replies = ask(&mut engine, request(origin, player, None));
    let views = views(run_of(&replies));
    let replies = ask(&mut engine, Request::ShowTruth { run: 1, show: true });
    let truths = truths(truth_of(&replies));
    assert_eq!(views.len(), truths.len());
    (views, truths)
}

fn panel<'a>(panels: &'a [Panel], id: &str) -> &'a Panel {
    let panel = panels.iter().find(|panel| panel.id == id);
    panel.unwrap_or_else(|| panic!("no panel {id}"))
}

#[test]
fn policies_play_in_the_page_as_natively() {
    // One of each sub-environment and of all difficulties.
    for (number, task) in TaskSpec::ALL.into_iter().enumerate().step_by(4) {
        policies_play_as_natively(EpisodeSpec {
            rules: [Rules::REFERENCE, Rules::HARDENED][number % 8 / 4],
            ..origin(task, 11)
        });
    }
    let holdout = TaskSpec::ALL[14].with_split(Split::Holdout);
    policies_play_as_natively(origin(holdout.expect("a task"), 1_000_003));
    let reference = TaskSpec::parse("DEPRESCRIBING-medium-reference");
    policies_play_as_natively(origin(reference.expect("a task"), 5));
}

#[test]
fn codes_of_a_run_replay_it() {
    for player in ["random", "no_change", "rules_only", "stack_routed", "stack"] {
        for task in TaskSpec::ALL.into_iter().step_by(5) {
            codes_replay_the_run(origin(task, 5), player);
        }
    }
}

/// An actor that gives answers of every form.
struct Erratic(u64);

impl Erratic {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.0 >> 33) % bound
    }
}

impl Actor<PolyguardEnv> for Erratic {
    fn observe(&mut self, _episode: &PolyguardEnv) {}

    fn choose(&mut self, episode: &PolyguardEnv) -> (Option<Action>, bool) {
        let o = episode.observation();
        if o.done() {
            return (None, false);
        }
        let id = CandidateId::new(1 + self.below(10) as u8).expect("an id");
        let action = match self.below(12) {
            0 => Action::Exploit,
            1 | 2 => Action::Invalid(Violation::ALL[self.below(19) as usize]),
            3 | 4 => Action::Choose(Choice::new(id)),
            5 | 6 => Action::Choose(Choice {
                confidence: Confidence::new(self.below(1001) as f64 / 1000.0),
                cites: RationaleTerms::from_text("egfr warfarin_like pain"),
                repaired: self.below(2) == 0,
                fallback: self.below(2) == 0,
                ..Choice::new(id)
            }),
            _ => Action::with_grounded_rationale(o, id),
        };
        (Some(action), false)
    }

    fn policy_output(&self, _episode: &PolyguardEnv) -> PolicyOutput {
        PolicyOutput::default()
    }
}

#[test]
fn codes_replay_answers_of_every_form() {
    let (mut refused, mut exploits) = (0, 0);
    for (seed, task) in (0..).zip(TaskSpec::ALL.into_iter().cycle().take(120)) {
        let origin = origin(task, seed);
        let run = played(
            PolyguardEnv::reset(&origin.setup()),
            Some(Box::new(Erratic(seed))),
        );
        let lines = (1..run.frames().len()).filter_map(|index| run.step_line(index));
        let lines: Vec<StepLine> = lines.collect();
        refused += lines.iter().filter(|line| line.result == "refused").count();
        exploits += lines
            .iter()
            .filter(|line| line.result == "judged as cheating")
            .count();
        let branch = Branch {
            at: 0,
            actions: lines.iter().map(|line| line.code.as_str()).collect(),
            resume: false,
        };
        let mut engine = Engine::<PolyguardEnv>::default();
        let replies = ask(&mut engine, request(&origin, "you", Some(branch)));
        let update = run_of(&replies);
        assert_eq!(update.digest, run.digest(), "{origin:?}");
        assert!(update.refused.is_empty());
    }
    assert!(refused > 20 && exploits > 20, "{refused} {exploits}");
}

#[test]
fn words_that_make_no_sense_are_named_and_defaults_play() {
    unknown_words_are_named::<PolyguardEnv>();
    let mut engine = Engine::<PolyguardEnv>::default();
    // A fitted policy is not played by the page.
    let replies = ask(
        &mut engine,
        request(&origin(TaskSpec::ALL[0], 1), "thompson", None),
    );
    let named = |reply: &Reply| matches!(reply, Reply::Problem(text) if text.contains("thompson"));
    assert!(replies.iter().any(named), "{replies:?}");
}

#[test]
fn every_task_has_its_own_coordinates() {
    let info = world_info::<PolyguardEnv>();
    assert_eq!(info.tasks.len(), 24 * 3 + 4);
    assert_eq!(info.legacy_player, "stack_replan");
    // The notice is in the page's document, so that it is there from the first paint on.
    let document = String::from_utf8(repository("index.html")).expect("a document");
    assert!(document.contains("never for the care of a patient"));
    let mut seen = BTreeSet::new();
    for task in &info.tasks {
        let known = TaskSpec::parse(&task.name).expect("a task of the world");
        assert_eq!(task.coordinates.len(), info.axes.len());
        let names = task.coordinates.iter().zip(&info.axes);
        let names: Vec<&str> = names
            .map(|(at, axis)| axis.choices[usize::from(*at)].name.as_str())
            .collect();
        let expected = [
            known.sub_environment().name(),
            known.difficulty().name(),
            known.split().name(),
            known.formulary().name(),
        ];
        assert_eq!(names, expected);
        assert!(seen.insert(task.coordinates.clone()), "{}", task.name);
    }
    let labels: BTreeSet<&str> = info.tasks.iter().map(|task| task.label.as_str()).collect();
    assert_eq!(labels.len(), info.tasks.len());
    let slow: Vec<&str> = (info.players.iter().filter(|player| player.slow))
        .map(|player| player.name.as_str())
        .collect();
    assert_eq!((slow, info.players.len()), (vec!["oracle"], 12));
}

#[test]
fn check_describes_and_warns() {
    let mut engine = Engine::<PolyguardEnv>::default();
    ask(
        &mut engine,
        request(&origin(TaskSpec::ALL[0], 1), "you", None),
    );
    let mut check = |code: &str| {
        let request = Request::Check {
            run: 1,
            at: 0,
            code: code.to_owned(),
        };
        match ask(&mut engine, request).pop() {
            Some(Reply::Checked { label, warning, .. }) => (label, warning),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(check("1"), ("Keep the regimen".to_owned(), String::new()));
    assert!(check("e").1.contains("cheating"));
    assert!(check("ib").1.contains("refused"));
    assert!(check("c1u.").1.contains("cheating"));
    assert_eq!(check("zz").1, "This is not an action.");
}

#[test]
fn trained_policy_says_how_likely_each_candidate_is() {
    let mut engine = Engine::<PolyguardEnv>::default();
    let path = weights_path(PolyguardEnv::MODELS[0]);
    let origin = origin(TaskSpec::ALL[7], 1);
    let replies = ask(&mut engine, request(&origin, "", None));
    assert!(replies.contains(&Reply::Need(path.clone())));
    let root = env!("CARGO_MANIFEST_DIR");
    let file = |name: &str| {
        let content = std::fs::read(format!("{root}/../../{name}"));
        Request::File {
            name: name.to_owned(),
            content: Ok(content.expect("a file of the repository")),
            dropped: false,
        }
    };
    let replies = ask(&mut engine, file(&path));
    let update = run_of(&replies);
    let note = &update.source_note;
    assert!(update.done && note.contains("parameters"), "{note}");
    let views = views(update);
    for view in &views[..views.len() - 1] {
        let buttons = panel(&view.panels, "candidates").cards.iter();
        let chances = buttons.flat_map(|card| &card.buttons);
        let sum: f32 = chances.map(|button| button.chance.expect("a chance")).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    }
}

/// Checks that a replay of the repository plays without a miss, and that no policy replaces it.
#[test]
fn replay_of_the_repository_plays() {
    let mut engine = Engine::<PolyguardEnv>::default();
    let root = env!("CARGO_MANIFEST_DIR");
    let path = format!("{root}/../../replays/polyguard-rules_only-hardened.jsonl");
    let content = Ok(std::fs::read(path).expect("the repository's replay"));
    let name = "rules.jsonl".to_owned();
    let replies = ask(
        &mut engine,
        Request::File {
            name,
            content,
            dropped: true,
        },
    );
    let replies = deferred(&replies);
    let Some(DeferredReply::Opened(episode)) = replies.last() else {
        panic!("{replies:?}")
    };
    let task = TaskSpec::parse(&episode.task).expect("a task");
    let origin = EpisodeSpec {
        rules: Rules::parse(&episode.rules).expect("rules"),
        ..origin(task, episode.seed)
    };
    let replies = ask(&mut engine, request(&origin, &episode.player, None));
    let update = run_of(&replies);
    let note = &update.source_note;
    assert!(update.done && note.contains("0 misses"), "{note}");
    let run = played(
        PolyguardEnv::reset(&origin.setup()),
        Some(Box::new(PolicyActor(
            PolicyName::RulesOnly.player(origin.seed, Streams::Independent),
        ))),
    );
    assert_eq!(update.digest, run.digest());
}

/// Checks that the oracle resolves every issue in every sub-environment, and that the end is named.
#[test]
fn good_end_is_told() {
    for sub in SubEnvironment::ALL {
        let task = TaskSpec::new_extended(sub, Difficulty::Easy, Split::All);
        let (views, _) = shown(&origin(task, 1), "oracle");
        let last = views.last().expect("a frame");
        assert_eq!(last.standing, "Ended: safe resolution", "{task}");
        assert!(last.detail.contains("Score 0."), "{}", last.detail);
        assert!(last.headline.contains(": "), "{}", last.headline);
        assert!(!last.headline.contains("The agent "), "{}", last.headline);
    }
}
