//! The policy of a trained model.

use std::sync::Arc;

use sentinel_env::polyguard::{Action, CANDIDATES, CandidateId, Observation, PolyguardWorld};

use super::features::Observer;
use super::forward::Scratch;
use super::layout::PolyguardNet;
use crate::learned::{Model, best, softmax};
use crate::play::Policy;

/// Which candidates are shown.
#[must_use]
pub fn legal(o: &Observation) -> [bool; CANDIDATES] {
    let mut legal = [false; CANDIDATES];
    for candidate in o.candidates.iter() {
        legal[candidate.id.index()] = true;
    }
    legal
}

/// Takes the likeliest candidate; the first of those that are equally likely.
#[derive(Clone, Debug)]
pub struct Trained {
    model: Arc<Model<PolyguardNet>>,
    observer: Observer,
    scratch: Scratch,
    said: Option<([f32; CANDIDATES], [bool; CANDIDATES])>,
}

impl Trained {
    /// The policy of a model, for one episode.
    #[must_use]
    pub fn new(model: Arc<Model<PolyguardNet>>) -> Self {
        Self {
            observer: Observer::default(),
            scratch: Scratch::new(&model.weights),
            said: None,
            model,
        }
    }
}

impl Policy<PolyguardWorld> for Trained {
    fn observe(&mut self, o: &Observation) {
        self.observer.observe(o);
        let features = self.observer.features(o);
        let logits = self.model.weights.forward(&features, &mut self.scratch);
        self.said = Some((logits, legal(o)));
    }

    fn choose(&mut self, o: &Observation) -> Action {
        if self.said.is_none() {
            self.observe(o);
        }
        let chosen = self.said.and_then(|(logits, mask)| best(&logits, &mask));
        let id = chosen.and_then(|at| CandidateId::new(at as u8 + 1));
        // Keeping is always shown while the episode runs, which is when a policy is asked.
        Action::explained(o, id.unwrap_or(CandidateId::FIRST))
    }

    fn probabilities(&self) -> Option<[f64; CANDIDATES]> {
        let (logits, mask) = self.said?;
        Some(softmax(&logits, &mask))
    }
}
