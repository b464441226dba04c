//! The policy of a trained model.

use std::sync::Arc;

use sentinel_env::cluster::{Action, ActionType, ClusterWorld, Observation};
use sentinel_env::slot::SLOTS;

use super::choice::{COLUMNS, Choice, Factor, SEGMENTS};
use super::features::{Features, Observer};
use super::forward::{Output, Scratch, run};
use super::layout::ClusterNet;
use super::legal::legal;
use crate::cluster::Policy;
use crate::learned::{Model, Weights, best_of, masked_softmax, softmax};

impl Weights<ClusterNet> {
    /// Runs the network on one observation.
    #[must_use]
    pub fn forward(&self, features: &Features, scratch: &mut Scratch) -> Output {
        run(self, features, scratch)
    }
}

/// Takes the likeliest value of each factor; the first of those that are equally likely.
#[derive(Clone, Debug)]
pub struct Trained {
    model: Arc<Model<ClusterNet>>,
    observer: Observer,
    scratch: Scratch,
    said: Option<(Output, [bool; COLUMNS])>,
}

impl Trained {
    /// The policy of a model, for one episode.
    #[must_use]
    pub fn new(model: Arc<Model<ClusterNet>>) -> Self {
        Self {
            observer: Observer::new(),
            scratch: Scratch::new(&model.weights),
            said: None,
            model,
        }
    }

    /// Probability of each column within its factor, for the observation taken in last.
    #[must_use]
    pub fn factors(&self) -> Option<[f64; COLUMNS]> {
        let (output, mask) = self.said.as_ref()?;
        let mut all = [0.0; COLUMNS];
        for segment in &SEGMENTS {
            let range = segment.clone();
            let (logits, mask) = (&output.actions[range.clone()], &mask[range.clone()]);
            masked_softmax(logits, mask, &mut all[range]);
        }
        Some(all)
    }
}

impl Policy<ClusterWorld> for Trained {
    fn observe(&mut self, o: &Observation) {
        self.observer.observe(o);
        let features = self.observer.features(o);
        let output = self.model.weights.forward(&features, &mut self.scratch);
        self.said = Some((output, legal(o)));
    }

    fn choose(&mut self, o: &Observation) -> Action {
        if self.said.is_none() {
            self.observe(o);
        }
        let choose = |(output, mask): &(Output, _)| likeliest(&output.actions, mask).action();
        self.said.as_ref().map_or(Action::Tick, choose)
    }

    fn belief(&self) -> Option<[[f64; SLOTS]; SLOTS]> {
        let (output, _) = self.said.as_ref()?;
        Some(
            output
                .beliefs
                .map(|logits| softmax(&logits, &[true; SLOTS])),
        )
    }

    fn probabilities(&self) -> Option<[f64; ActionType::ALL.len()]> {
        let words = &self.factors()?[Factor::Kind.columns()];
        words.try_into().ok()
    }
}

/// The likeliest value of each factor that may be chosen.
#[must_use]
pub fn likeliest(logits: &[f32; COLUMNS], mask: &[bool; COLUMNS]) -> Choice {
    Choice::make(|columns| best_of(logits, mask, columns))
}
