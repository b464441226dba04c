//! The policy of a trained model.

use std::sync::Arc;

use sentinel_env::slot::SLOTS;
use sentinel_env::trust::{Action, Observation};

use super::features::Observer;
use super::file::Model;
use super::forward::{Output, Scratch};
use super::softmax::{best, softmax};
use crate::Policy;

/// Which of [`Action::ALL`] may be taken: all of them until the episode ends, then none.
#[must_use]
pub fn legal(observation: &Observation) -> [bool; 12] {
    [!observation.done(); 12]
}

/// Takes the likeliest action; the first of those that are equally likely.
#[derive(Clone, Debug)]
pub struct Trained {
    model: Arc<Model>,
    observer: Observer,
    scratch: Scratch,
    said: Option<(Output, [bool; 12])>,
}

impl Trained {
    /// The policy of a model, for one episode.
    #[must_use]
    pub fn new(model: Arc<Model>) -> Self {
        Self {
            observer: Observer::new(model.config.net.features),
            scratch: Scratch::new(&model.weights),
            said: None,
            model,
        }
    }
}

impl Policy for Trained {
    fn observe(&mut self, observation: &Observation) {
        self.observer.observe(observation);
        let features = self.observer.features(observation);
        let output = self.model.weights.forward(&features, &mut self.scratch);
        self.said = Some((output, legal(observation)));
    }

    fn choose(&mut self, observation: &Observation) -> Action {
        if self.said.is_none() {
            self.observe(observation);
        }
        let chosen = self
            .said
            .and_then(|(output, mask)| best(&output.actions, &mask));
        // Something is legal for as long as the episode runs, which is when a policy is asked.
        chosen.map_or(Action::Skip, |index| Action::ALL[index])
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        let (output, _) = self.said?;
        Some(
            output
                .beliefs
                .map(|logits| softmax(&logits, &[true; SLOTS])),
        )
    }

    fn probabilities(&self) -> Option<[f64; 12]> {
        let (output, mask) = self.said?;
        Some(softmax(&output.actions, &mask))
    }
}
