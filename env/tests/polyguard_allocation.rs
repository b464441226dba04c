//! Tests that a step of the PolyGuard world does not allocate, by counting allocations.

use sentinel_env::Environment;
mod counting;
mod polyguard_play;

use polyguard_play::{cases, noise};
use sentinel_env::polyguard::{Action, CandidateId, Choice, Episode, Rules, Setup};

#[test]
fn reset_step_and_clone_do_not_allocate() {
    for case in cases() {
        for seed in 0..20 {
            let mut episode = Episode::reset(&Setup::new(case, seed).with_rules(Rules::HARDENED));
            let mut n = seed as u32;
            let before = counting::allocations();
            while !episode.observation().done() {
                n += 1;
                let id = CandidateId::new((noise(n) % 10 + 1) as u8);
                let id = id.filter(|id| episode.observation().candidates.get(*id).is_some());
                let action = id.map_or_else(
                    || Action::with_grounded_rationale(episode.observation(), CandidateId::FIRST),
                    |id| Action::Choose(Choice::new(id)),
                );
                assert!(episode.step(action).is_ok());
            }
            // The copy that look-ahead takes is counted too.
            let copy = episode.clone();
            let made = counting::allocations() - before;
            assert_eq!(made, 0, "{case}, seed {seed}");
            assert_eq!(copy.observation(), episode.observation());
        }
    }
}
