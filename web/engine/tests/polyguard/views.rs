//! Tests of the agent's view and of the truth.

use sentinel_env::polyguard::{Exploit, PolyguardEnv, TaskSpec};
use sentinel_env::{Environment as _, PrivilegedState as _};
use sentinel_page_engine::{Engine, PageWorld as _, Run};
use sentinel_page_protocol::{Branch, Layout, Request, Tone};

use crate::common::{ask, run_of, truth_of, views};
use crate::{origin, panel, request, shown};

#[test]
fn panels_show_the_chart_of_the_patient() {
    let (mut gaps, mut edges, mut missing) = (0, 0, 0);
    for task in TaskSpec::ALL {
        for seed in 0..4 {
            let origin = origin(task, seed);
            let episode = PolyguardEnv::reset(&origin.setup());
            let o = episode.observation();
            let run = Run::<PolyguardEnv>::new(&origin.setup(), None, None, None);
            let view = run.view(0);
            let candidates = panel(&view.panels, "candidates");
            let codes = candidates.cards.iter().flat_map(|card| &card.buttons);
            let codes: Vec<&str> = codes.map(|button| button.code.as_str()).collect();
            let expected: Vec<String> = o
                .candidates
                .iter()
                .map(|candidate| (candidate.id.number() % 10).to_string())
                .collect();
            assert_eq!(codes, expected, "{task} {seed}");
            let last = o.candidates.iter().last().expect("a candidate").id.number();
            let shows_gaps = usize::from(last) > o.candidates.count();
            assert_eq!(!candidates.summary.is_empty(), shows_gaps, "{task} {seed}");
            gaps += usize::from(shows_gaps);
            let regimen = panel(&view.panels, "regimen");
            assert_eq!(regimen.cards.len(), o.regimen.len());
            let graph = panel(&view.panels, "graph");
            let Layout::Graph(lines) = &graph.layout else {
                panic!("no graph")
            };
            let keys: Vec<&str> = graph.cards.iter().map(|card| card.key.as_str()).collect();
            for edge in lines {
                let ends = [edge.from.as_str(), edge.to.as_str()];
                assert!(ends.iter().all(|end| keys.contains(end)), "{task} {edge:?}");
            }
            assert!(lines.len() >= o.flagged_pairs().count());
            edges += lines.len();
            let patient = panel(&view.panels, "patient");
            let unknown = patient.cards.iter().filter(|card| card.state == "missing");
            assert_eq!(unknown.count(), o.labs.missing());
            missing += o.labs.missing();
        }
    }
    assert!(
        gaps > 3 && edges > 40 && missing > 20,
        "{gaps} {edges} {missing}"
    );
}

#[test]
fn next_candidate_and_chances_are_shown_on_its_button() {
    let (views, _) = shown(&origin(TaskSpec::ALL[1], 2), "stack");
    let (last, before) = views.split_last().expect("frames");
    for view in before {
        let candidates = panel(&view.panels, "candidates");
        let buttons = candidates.cards.iter().flat_map(|card| &card.buttons);
        assert_eq!(buttons.clone().filter(|button| button.next).count(), 1);
        let values: Vec<f32> = buttons.filter_map(|button| button.value).collect();
        assert!(values.contains(&0.0) && values.iter().all(|value| value.is_finite()));
        let agents = panel(&view.panels, "agents");
        assert_eq!(agents.cards.len(), 9);
    }
    assert!(last.done && panel(&last.panels, "candidates").cards.is_empty());
    assert!(last.panels.iter().all(|panel| panel.id != "agents"));
}

/// Checks that no agent is asked where the visitor acts, and that no report is shown there.
#[test]
fn remarks_belong_to_the_choice_that_follows() {
    let branch = Branch {
        at: 1,
        actions: "1".to_owned(),
        resume: false,
    };
    let mut engine = Engine::<PolyguardEnv>::default();
    let play = request(&origin(TaskSpec::ALL[4], 11), "stack", Some(branch));
    let replies = ask(&mut engine, play);
    let reported: Vec<bool> = views(run_of(&replies))
        .iter()
        .map(|view| view.panels.iter().any(|panel| panel.id == "agents"))
        .collect();
    assert_eq!(reported, [true, false, false]);
}

/// Checks that a broken rule against cheating is named, and that it was predicted if it is public.
#[test]
fn rules_against_cheating_are_named_and_predicted() {
    let mut caught = 0;
    for task in TaskSpec::ALL {
        let (views, _) = shown(&origin(task, 2), "no_change");
        let last = views.last().expect("a frame");
        let audit = panel(&last.panels, "audit");
        assert_eq!(audit.cards.len(), Exploit::ALL.len());
        let hit = audit.cards.iter().filter(|card| card.tone == Tone::Bad);
        let ended = usize::from(last.standing == "Ended: cheating");
        assert_eq!(hit.count(), ended, "{task}");
        if ended == 1 {
            let before = &views[views.len() - 2];
            let buttons = panel(&before.panels, "candidates").cards.iter();
            let mut buttons = buttons.flat_map(|card| &card.buttons);
            let next = buttons.find(|button| button.next).expect("a choice");
            assert!(next.warning.contains("cheating"), "{}", next.warning);
        }
        caught += ended;
    }
    assert!(caught > 12, "{caught}");
}

#[test]
fn truth_tells_issues_medicines_and_what_is_not_shown() {
    let (mut withheld, mut pairs) = (0, 0);
    for task in TaskSpec::ALL {
        for seed in 0..5 {
            let origin = origin(task, seed);
            let episode = PolyguardEnv::reset(&origin.setup());
            let run = Run::<PolyguardEnv>::new(&origin.setup(), None, None, None);
            let truth = PolyguardEnv::truth(run.frames(), 0);
            let (resolved, all) = episode.count_resolved();
            let issues = panel(&truth.panels, "issues");
            assert_eq!(issues.cards.len(), usize::from(all), "{task}");
            let good = issues.cards.iter().filter(|card| card.tone == Tone::Good);
            assert_eq!(good.count(), usize::from(resolved), "{task} {seed}");
            let hidden = panel(&truth.panels, "withheld").cards.len();
            assert_eq!(hidden, episode.hidden().withheld().count());
            withheld += hidden;
            pairs += panel(&truth.panels, "hidden-pairs").cards.len();
            let view = run.view(0);
            for note in &truth.notes {
                let cards = &panel(&view.panels, &note.panel).cards;
                assert!(cards.iter().any(|card| card.key == note.card), "{note:?}");
            }
            let exposures = truth.notes.iter().filter(|note| note.value.is_some());
            assert_eq!(exposures.count(), episode.observation().regimen.len());
            assert!(truth.terms.is_empty() && truth.headline.starts_with("In truth"));
        }
    }
    assert!(withheld > 5 && pairs > 20, "{withheld} {pairs}");
}

#[test]
fn terms_add_up_to_the_reward() {
    for task in TaskSpec::ALL.into_iter().step_by(3) {
        let (views, truths) = shown(&origin(task, 8), "random");
        for (view, truth) in views.iter().zip(&truths).skip(1) {
            let own = truth.terms.iter().filter(|term| term.group.is_empty());
            let sum: f64 = own
                .map(|term| term.weight.unwrap_or(0.0) * term.value)
                .sum();
            let reward = view.reward.expect("after a step");
            assert!((sum - reward).abs() < 6e-4, "{task}: {sum} {reward}");
            assert_eq!(
                view.done,
                truth.terms.iter().any(|term| term.group == "Score")
            );
            assert!(view.terms.is_empty() && !view.terms_note.is_empty());
        }
    }
}

#[test]
fn true_charts_add_hidden_lines() {
    let mut engine = Engine::<PolyguardEnv>::default();
    let replies = ask(
        &mut engine,
        request(&origin(TaskSpec::ALL[3], 4), "rules_only", None),
    );
    let update = run_of(&replies).clone();
    let names = |chart: &sentinel_page_protocol::Chart| -> Vec<String> {
        chart.lines.iter().map(|line| line.name.clone()).collect()
    };
    let public = ["visible risk", "uncertainty", "burden", "symptom"];
    assert_eq!(names(&update.charts[0]), public);
    let replies = ask(&mut engine, Request::ShowTruth { run: 1, show: true });
    let truth = truth_of(&replies);
    let all = names(&truth.charts[0]);
    assert_eq!(&all[4..], ["true risk", "true control"]);
    for chart in [&update.charts[0], &truth.charts[0]] {
        assert!(
            chart
                .lines
                .iter()
                .all(|line| line.y.len() == update.frames.len())
        );
        assert_eq!(chart.strips[0].bars.len(), update.steps.len());
    }
    assert!(truth.steps.iter().any(|line| line.sign != "▾"));
}
