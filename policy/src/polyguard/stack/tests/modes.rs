//! Tests of the cooperation of the agents over whole episodes.

use sentinel_env::Environment;
use sentinel_env::polyguard::{ActKind, Episode, Rules, Setup, TaskSpec};

use super::super::*;
use crate::rollout::run_steps;

/// Plays episodes of all cases and calls `look` with the trace of each step.
fn play(config: StackConfig, mut look: impl FnMut(&Episode, &Trace, Action)) -> Vec<f64> {
    let mut scores = Vec::new();
    for (seed, case) in (0..72).zip(TaskSpec::ALL.into_iter().cycle()) {
        let mut stack = AgentStack::new(config);
        let setup = Setup::new(case, seed).with_rules(Rules::HARDENED);
        let end = run_steps::<PolyguardEnv>(
            &setup,
            |episode| {
                let o = episode.observation();
                let action = (!o.done()).then(|| stack.choose(o))?;
                look(episode, stack.last_trace().expect("it chose"), action);
                Some(action)
            },
            |_, _| (),
        );
        scores.push(end.score());
    }
    scores
}

#[test]
fn trace_lists_agents_in_order_and_marks_disabled_part() {
    for part in std::iter::once(None).chain(StackPart::ALL.map(Some)) {
        let config = StackConfig::default();
        let config = part.map_or(config, |part| config.without(part));
        let scores = play(config, |episode, trace, action| {
            let entries = trace.entries();
            assert_eq!(entries.each_ref().map(|entry| entry.agent), AGENTS);
            let off: Vec<_> = entries.iter().filter(|e| e.verdict == "off").collect();
            let expected = usize::from(part.is_some_and(|part| part != StackPart::Abstention));
            assert_eq!(off.len(), expected);
            assert!(off.iter().all(|entry| entry.scores.is_empty()));
            let chosen = action.id().expect("a candidate");
            assert_eq!(entries[8].verdict, chosen.name());
            let kind = episode
                .observation()
                .candidates
                .get(chosen)
                .expect("shown")
                .act
                .kind;
            assert!(part != Some(StackPart::Abstention) || !kind.is_review());
        });
        assert_eq!(scores, play(config, |_, _, _| ()), "deterministic");
    }
}

#[test]
fn replan_mode_replaces_fallbacks_with_new_plans() {
    let counts = |mode| {
        let (mut fallbacks, mut replans) = (0, 0);
        play(StackConfig::new(mode), |_, trace, action| {
            let critique = trace.critique.as_ref().expect("it is on");
            let Action::Choose(choice) = action else {
                panic!("always a candidate");
            };
            assert_eq!(choice.fallback, critique.fallback.is_some());
            fallbacks += usize::from(choice.fallback);
            replans += usize::from(!critique.vetoes.is_empty() && !choice.fallback);
            assert!(critique.vetoes.len() <= if mode == Mode::ReplanOnVeto { 3 } else { 1 });
        });
        (fallbacks, replans)
    };
    let (sequential, none) = counts(Mode::SequentialPipeline);
    assert!(sequential > 0 && none == 0);
    let (rest, replans) = counts(Mode::ReplanOnVeto);
    assert!(
        replans > 0 && rest < sequential,
        "{replans} {rest} {sequential}"
    );
}

#[test]
fn routed_planner_ranks_only_candidates_in_focus() {
    let mut narrowed = 0;
    play(
        StackConfig::new(Mode::SupervisorRouted),
        |episode, trace, _| {
            let o = episode.observation();
            let focus = trace.supervision.as_ref().expect("it is on").focus;
            // If the focus permits no candidate, the planner ranks all of them.
            let routed = trace.plan.ranking.len() < trace.offer.open.len();
            for (id, _) in &trace.plan.ranking {
                let kind = o.candidates.get(*id).expect("shown").act.kind;
                let passes =
                    kind == ActKind::KeepRegimen || kind.is_review() || focus.is_served_by(kind);
                assert!(passes || !routed, "{kind:?} in {focus:?}");
            }
            narrowed += usize::from(trace.plan.ranking.len() < trace.offer.open.len());
        },
    );
    assert!(narrowed > 50);
}

#[test]
fn debate_majority_flag_matches_votes() {
    let (mut majorities, mut splits) = (0, 0);
    play(StackConfig::new(Mode::LightweightDebate), |_, trace, _| {
        let debate = trace.debate.as_ref().expect("they debate");
        let proposals = [debate.rules, debate.greedy, debate.planner];
        let votes = proposals.iter().filter(|id| **id == debate.winner).count();
        assert_eq!(votes >= 2, debate.majority);
        assert!(votes >= 1);
        majorities += usize::from(debate.majority);
        splits += usize::from(!debate.majority);
    });
    assert!(majorities > 20 && splits > 5, "{majorities} {splits}");
}
