//! Tests that check that no hidden state is included in what an agent receives.

use crate::environment::{Environment, PrivilegedState};
use crate::polyguard::model::hidden::Issue;
use crate::polyguard::{
    Action, CandidateId, Conditions, Difficulty, Episode, Formulary, Message, Session, Setup,
    Split, SubEnvironment, TaskSpec, prompt,
};

/// Returns an episode with the same observation but another hidden state.
fn with_other_truth(episode: &Episode) -> Episode {
    let mut other = episode.clone();
    let ids: Vec<_> = Formulary::extended().ids().collect();
    let h = &mut other.state.hidden;
    h.labs = [12.5, 77.0, 78.0, 3.25, 333.0];
    h.adherence = 0.111;
    h.components = Some([ids[3], ids[4]]);
    h.needed = Conditions::EMPTY;
    h.issues = [Some(Issue::Sign); 6];
    h.intolerant = Some(ids[5]);
    h.culprit = Some(ids[6]);
    (h.symptom, h.stability, h.stability_target) = (0.123, 0.456, 0.789);
    (h.risk, h.burden, h.best_risk, h.best_burden) = (0.987, 0.654, 0.321, 0.111);
    (h.signed, h.progressed, h.withheld) = (true, 0b11, [None; 10]);
    for truth in &mut h.truths {
        (truth.kappa, truth.exposure, truth.needed) = (9.0, 8.0, false);
    }
    other
}

#[test]
fn prompt_and_reply_do_not_depend_on_hidden_state() {
    for sub in SubEnvironment::ALL {
        let case = TaskSpec::new_extended(sub, Difficulty::Hard, Split::All);
        for seed in 0..5 {
            let mut session = Session::new(&Setup::new(case, seed));
            for _ in 0..3 {
                let episode = session.episode();
                if episode.observation().done() {
                    break;
                }
                let other = with_other_truth(episode);
                assert_ne!(episode.hidden(), other.hidden());
                assert_eq!(prompt(episode.observation()), prompt(other.observation()));
                let reply = session.reply();
                assert_eq!(reply, session.clone().with_episode(other).reply());
                let o = session.episode().observation();
                let last = o.candidates.iter().last().map(|c| c.id);
                let next = Action::with_grounded_rationale(o, last.unwrap_or(CandidateId::FIRST));
                assert!(session.step(&Message::from(next), &mut ()).is_ok());
            }
        }
    }
}
