//! Properties of every episode of the PolyGuard world, for arbitrary answers.
#![allow(
    clippy::unwrap_used,
    reason = "a test stops at the first thing that is not there"
)]

use sentinel_env::Environment;
use sentinel_env::PrivilegedState;
use sentinel_env::TrajectoryDigest;
mod polyguard_play;

use std::collections::BTreeSet;

use polyguard_play::{answer, cases, cells, noise, play_out, shown};
use proptest::prelude::*;
use sentinel_env::polyguard::{
    ActArg, ActKind, Action, CandidateId, Choice, Component, Drug, EndReason, Episode, Exploit,
    Issue, Observation, Rules, Setup, Split, StepError, SubEnvironment, TaskSpec, Violation,
};

fn setups() -> impl Strategy<Value = Setup> {
    let all = (0..76usize, any::<u64>(), any::<bool>());
    all.prop_map(|(case, seed, hardened)| {
        let rules = if hardened {
            Rules::HARDENED
        } else {
            Rules::REFERENCE
        };
        Setup::new(cases()[case], seed).with_rules(rules)
    })
}

/// Checks the invariants that must always hold.
fn assert_invariants(episode: &Episode) {
    let (o, h) = (episode.observation(), episode.hidden());
    for value in [o.risk, o.burden, h.risk, h.burden, h.stability, h.symptom] {
        assert!((0.0..=1.0).contains(&value), "{value}");
    }
    assert!((0.0..=1.0).contains(&o.uncertainty));
    assert!(o.step_count <= o.budget && usize::from(o.step_count) == o.history.len());
    assert_eq!(o.done(), o.candidates.count() == 0);
    if !o.done() {
        let first = o.candidates.get(CandidateId::FIRST).map(|c| c.act.kind);
        assert_eq!(first, Some(ActKind::KeepRegimen));
    }
    let drugs: BTreeSet<Drug> = o.regimen.iter().map(|row| row.drug).collect();
    assert_eq!(drugs.len(), o.regimen.len(), "no medicine twice");
    for candidate in o.candidates.iter() {
        assert!((0.0..=1.0).contains(&candidate.est_risk));
        assert!((candidate.est_delta - (candidate.est_risk - o.risk)).abs() < 1e-12);
    }
    for (pair, _) in o.flagged_pairs() {
        // Every flagged pair is a row of the table.
        assert!(pair.index() < o.formulary().pairs().len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn episode_ends_and_keeps_invariants(setup in setups(), start in 0..1_000_000u32) {
        let mut episode = Episode::reset(&setup);
        assert_invariants(&episode);
        let mut returned = 0.0;
        for n in start.. {
            let refused = episode.observation().invalid_count;
            let Ok(step) = episode.step(answer(episode.observation(), n)) else {
                break;
            };
            assert_invariants(&episode);
            prop_assert!((0.001..=0.999).contains(&step.info.total));
            let honest = step.info.violation.is_none() && step.info.exploit.is_none();
            prop_assert_eq!(step.info.reward.gated, if honest { step.info.reward.additive } else { 0.001 });
            prop_assert_eq!(
                episode.observation().invalid_count - refused,
                u8::from(step.info.violation.is_some())
            );
            prop_assert_eq!(step.info.end.is_some(), step.info.score.is_some());
            prop_assert_eq!(step.info.end, episode.observation().end);
            returned += step.info.total;
        }
        let o = episode.observation();
        prop_assert!(o.done());
        prop_assert!((0.001..=0.999).contains(&episode.score()));
        prop_assert!((returned - episode.hidden().tally().returned).abs() < 1e-9);
        prop_assert_eq!(episode.step(Action::Exploit), Err(StepError::Over));
    }

    /// Checks that every shown candidate is legal, so the verifier never refuses it.
    #[test]
    fn every_shown_candidate_is_legal(setup in setups(), start in 0..1_000_000u32) {
        let mut episode = Episode::reset(&setup);
        for n in start..start + 10 {
            let ids: Vec<CandidateId> =
                episode.observation().candidates.iter().map(|c| c.id).collect();
            for id in ids {
                let mut copy = episode.clone();
                let step = copy.step(Action::Choose(Choice::new(id))).unwrap();
                prop_assert_eq!(step.info.violation, None);
                prop_assert_eq!(step.info.act, episode.observation().candidates.get(id).map(|c| c.act));
                assert_invariants(&copy);
            }
            let id = shown(episode.observation(), noise(n));
            episode.step(Action::with_grounded_rationale(episode.observation(), id)).unwrap();
            if episode.observation().done() {
                break;
            }
        }
    }
}

#[test]
fn same_seed_and_actions_give_same_episode() {
    for case in cases() {
        for seed in 0..8 {
            let digest = |seed: u64| {
                let mut episode = Episode::reset(&Setup::new(case, seed));
                let mut prints = TrajectoryDigest::default();
                for n in 0.. {
                    let Ok(step) = episode.step(answer(episode.observation(), n)) else {
                        break;
                    };
                    prints.push(&episode, &step.info);
                }
                let state = format!("{:?} {:?}", episode.observation(), episode.hidden());
                (prints.digest(), prints.trail().to_vec(), state)
            };
            let first = digest(seed);
            assert_eq!(first, digest(seed), "{case} {seed}");
            assert_ne!(first, digest(seed + 1000), "{case} {seed}");
        }
    }
}

/// Checks that a copy, which includes the state of the random stream, continues as the original
/// does.
#[test]
fn cloned_episode_continues_identically() {
    for case in cases() {
        let mut episode = Episode::reset(&Setup::new(case, 11));
        let id = shown(episode.observation(), 3);
        episode.step(Action::Choose(Choice::new(id))).unwrap();
        let mut copy = episode.clone();
        play_out(&mut episode, 5);
        play_out(&mut copy, 5);
        assert_eq!(episode.observation(), copy.observation());
        assert_eq!(episode.hidden(), copy.hidden());
    }
}

/// Checks that a step that is refused or an exploit earns 0.001 under the gated rules.
#[test]
fn gated_violation_or_exploit_earns_minimum_reward() {
    let (mut refused, mut cheated) = (0, 0);
    for case in cases() {
        for seed in 0..20 {
            let mut episode = Episode::reset(&Setup::new(case, seed).with_rules(Rules::HARDENED));
            for n in seed as u32 * 31.. {
                let Ok(step) = episode.step(answer(episode.observation(), n)) else {
                    break;
                };
                if step.info.violation.is_some() || step.info.exploit.is_some() {
                    assert_eq!((step.info.total, step.info.reward.gated), (0.001, 0.001));
                    assert_eq!(step.info.reward.component(Component::Legality), 0.001);
                    refused += usize::from(step.info.violation.is_some());
                    cheated += usize::from(step.info.exploit.is_some());
                } else {
                    assert_eq!(step.info.total, step.info.reward.additive);
                }
            }
        }
    }
    assert!(refused > 200 && cheated > 200, "{refused} and {cheated}");
}

/// Chooses candidates of the given kinds in turn, and stops when one is not shown. Adds the
/// exploits found to `seen`.
fn play_kinds_in_turn(case: TaskSpec, seed: u64, kinds: &[ActKind], seen: &mut BTreeSet<Exploit>) {
    let mut episode = Episode::reset(&Setup::new(case, seed));
    for kind in kinds {
        let o = episode.observation();
        let Some(id) = o.candidates.find(|c| c.act.kind == *kind).map(|c| c.id) else {
            break;
        };
        let step = episode.step(Action::Choose(Choice::new(id))).unwrap();
        if let Some(exploit) = step.info.exploit {
            assert_eq!(step.info.end, Some(EndReason::ExploitDetection));
            seen.insert(exploit);
        }
        if step.info.end.is_some() {
            break;
        }
    }
}

#[test]
fn exploits_possible_with_shown_candidates_are_detected() {
    use ActKind::{
        FetchExternalEvidence as Fetch, KeepRegimen as Keep, OrderMonitoring as Monitor,
        RequestPharmacistReview as Review,
    };
    let mut seen = BTreeSet::new();
    for case in cases() {
        for seed in 0..20 {
            play_kinds_in_turn(case, seed, &[Keep; 10], &mut seen);
            play_kinds_in_turn(
                case,
                seed,
                &[Keep, Keep, Fetch, Keep, Keep, Keep],
                &mut seen,
            );
            play_kinds_in_turn(case, seed, &[Review; 10], &mut seen);
            play_kinds_in_turn(case, seed, &[Fetch; 10], &mut seen);
            play_kinds_in_turn(case, seed, &[Monitor; 10], &mut seen);
        }
    }
    let by_hand = [
        Exploit::CandidateMismatch,
        Exploit::IllegalChoice,
        Exploit::ParserExploit,
    ];
    for exploit in Exploit::ALL {
        // The other three need more than shown candidates and are tested with the bad input.
        let expected = !by_hand.contains(&exploit);
        assert_eq!(seen.contains(&exploit), expected, "{exploit:?}");
    }
}

/// Checks the reasons for which candidates are withheld. The other reasons concern acts that no
/// rule proposes.
#[test]
fn illegal_candidates_are_withheld() {
    let mut seen = BTreeSet::new();
    for case in cases() {
        for seed in 0..60 {
            let mut episode = Episode::reset(&Setup::new(case, seed));
            for n in 0.. {
                for id in CandidateId::all() {
                    if episode.observation().candidates.get(id).is_none() {
                        let step = episode.clone().step(Action::Choose(Choice::new(id)));
                        seen.extend(step.unwrap().info.violation);
                    }
                }
                let id = shown(episode.observation(), noise(n + seed as u32));
                episode.step(Action::Choose(Choice::new(id))).unwrap();
                if episode.observation().done() {
                    break;
                }
            }
        }
    }
    for why in [
        Violation::UnknownCandidate,
        Violation::AbruptStop,
        Violation::DoseOutOfRange,
        Violation::DuplicateDrug,
        Violation::CreatesMajorPair,
        Violation::RenalUnsafe,
    ] {
        assert!(seen.contains(&why), "{why:?} in {seen:?}");
    }
}

/// Returns the archetypes of the regimen, including the components of a product.
fn present(episode: &Episode) -> u64 {
    let (o, h) = (episode.observation(), episode.hidden());
    o.regimen.iter().fold(0, |bits, row| match row.drug {
        Drug::Known(id) => bits | id.bit(),
        Drug::Product => h
            .components
            .into_iter()
            .flatten()
            .fold(bits, |b, id| b | id.bit()),
    })
}

/// Returns `true` if an archetype of the set, or a pair of them, is held out.
fn has_held_out(o: &Observation, mask: u64) -> bool {
    let formulary = o.formulary();
    let both = |pair: &sentinel_env::polyguard::Pair| pair.first.bit() | pair.second.bit();
    let mut pairs = formulary.pairs().iter().filter(|pair| pair.held_out);
    mask & formulary.held_out() != 0 || pairs.any(|pair| mask & both(pair) == both(pair))
}

#[test]
fn train_split_never_contains_held_out_items() {
    let mut offered = 0;
    for case in cells(Split::Train) {
        for seed in 0..60 {
            let mut episode = Episode::reset(&Setup::new(case, seed));
            for n in 0.. {
                let o = episode.observation();
                let mask = present(&episode);
                assert!(!has_held_out(o, mask), "{case} {seed}: taken");
                for candidate in o.candidates.iter() {
                    if let ActArg::Target(drug) = candidate.act.arg {
                        let target = o.known_archetypes(drug);
                        assert!(!has_held_out(o, mask | target), "{case} {seed}: offered");
                        offered += 1;
                    }
                }
                if o.done() {
                    break;
                }
                let id = shown(o, noise(n + seed as u32));
                episode.step(Action::Choose(Choice::new(id))).unwrap();
            }
        }
    }
    assert!(offered > 1_000, "{offered}");
}

/// Returns the planted archetypes, as far as they can be distinguished from those filled in.
fn planted(episode: &Episode) -> u64 {
    use SubEnvironment as Sub;
    let (o, h) = (episode.observation(), episode.hidden());
    let formulary = o.formulary();
    let rows = |is: &dyn Fn(&sentinel_env::polyguard::Medication) -> bool| {
        let rows = o.regimen.iter().filter(|row| is(row));
        rows.fold(0, |bits, row| bits | o.known_archetypes(row.drug))
    };
    let pairs = h.issues().fold(0, |bits, issue| match issue {
        Issue::Pair(pair) | Issue::ComponentPair(pair) => {
            let pair = formulary.pair(pair);
            bits | pair.first.bit() | pair.second.bit()
        }
        _ => bits,
    });
    let own = match o.task.sub_environment() {
        Sub::Ddi => 0,
        Sub::BanditMining => rows(&|row| row.prior > 0),
        Sub::PrecisionDosing => rows(&|row| row.questioned),
        Sub::Deprescribing => rows(&|row| row.stale),
        Sub::NewDrugDecomposition => h
            .components
            .into_iter()
            .flatten()
            .fold(0, |b, id| b | id.bit()),
        Sub::WebSearchMissingData => rows(&|row| {
            let renal = |id| formulary.get(id).renal_below.is_some();
            row.drug.archetype().is_some_and(renal)
        }),
        Sub::AlternativeSuggestion => {
            let problem = o.problem.and_then(Drug::archetype);
            let partners = problem.map_or(0, |id| formulary.partners(id));
            problem.map_or(0, |id| id.bit()) | partners & present(episode)
        }
        // Members of the set rules cannot be distinguished from those filled in.
        Sub::RegimenRisk => present(episode),
    };
    own | pairs
}

#[test]
fn holdout_split_plants_held_out_items() {
    const SEEDS: u64 = 200;
    for case in cells(Split::Holdout) {
        let holds = |seed: &u64| {
            let episode = Episode::reset(&Setup::new(case, 1_000_000 + seed));
            has_held_out(episode.observation(), planted(&episode))
        };
        let held = (0..SEEDS).filter(holds).count();
        assert!(
            held * 100 >= 95 * SEEDS as usize,
            "{case}: {held} of {SEEDS}"
        );
    }
}
