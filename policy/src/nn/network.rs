//! What a learned policy of an environment consists of, and the choice that stands for an action.

use std::fmt::Debug;
use std::ops::Range;

use sentinel_env::Environment;

use super::architecture::Architecture;
use super::ops::softmax;
use super::schema::FeatureSchema;
use super::weights::Weights;

/// The observation that a network acts on.
pub type ObservationOf<N> = <<N as Network>::Env as Environment>::Observation;
/// The action that a network chooses.
pub type ActionOf<N> = <<N as Network>::Env as Environment>::Action;

/// A policy network of an environment: observations to features, features to logits, and a choice
/// of columns to an action.
///
/// An action has one or several factors. Each factor is a softmax over a segment of the columns, and
/// the log-probability of an action is the sum over the factors that it uses. One segment is
/// Gymnasium's `Discrete`, several that are all used are its `MultiDiscrete`;
/// [`Network::next_factor`] also allows factors that depend on what was chosen before.
pub trait Network: Architecture {
    /// The environment that it acts in.
    type Env: Environment;
    /// What is remembered over an episode.
    type Observer: Observe<Observation = ObservationOf<Self>, Features = Self::Features>;
    /// The input of a forward pass.
    type Features: Clone + Debug + Send + Sync;

    /// Number of columns: logits of one observation.
    const LOGITS: usize;
    /// The columns of each factor, in order and without gaps.
    const SEGMENTS: &'static [Range<usize>];
    /// Rows and classes of the belief over hidden variables, where the network has one.
    const BELIEF_SHAPE: Option<[usize; 2]> = None;
    /// The names of the features, per kind of row.
    const FEATURE_SCHEMAS: &'static [FeatureSchema];

    /// Returns an observer that has seen nothing.
    fn observer(&self) -> Self::Observer;

    /// Returns buffers for the hidden layers, so that a forward pass need not allocate.
    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    /// Computes the logits, and the belief where there is one. `out` holds zeros when it is called;
    /// [`Weights::forward`] sees to that.
    fn forward(
        weights: &Weights<Self>,
        features: &Self::Features,
        scratch: &mut Scratch,
        out: &mut Output,
    );

    /// Writes which columns can be chosen at an observation. `mask` has [`Network::LOGITS`] entries.
    /// By default all of them can until the episode has ended.
    fn action_mask(observation: &ObservationOf<Self>, mask: &mut [bool]) {
        mask.fill(!Self::Env::is_done(observation));
    }

    /// Returns the factor to choose next, as an index into [`Network::SEGMENTS`]; `None` when the
    /// choice is complete, after [`FACTORS_MAX`] at the latest. By default every factor is chosen, in
    /// order.
    fn next_factor(chosen: &Choice) -> Option<usize> {
        const {
            assert!(
                Self::SEGMENTS.len() <= FACTORS_MAX,
                "a choice cannot hold all factors: implement `next_factor`"
            );
        }
        Some(chosen.len()).filter(|factor| *factor < Self::SEGMENTS.len())
    }

    /// Returns the action that a complete choice stands for.
    fn action(choice: &Choice, observation: &ObservationOf<Self>) -> ActionOf<Self>;

    /// Returns the choice that stands for an action at an observation, if one does. Imitation needs
    /// it, to learn what a teacher did.
    fn choice_of(action: ActionOf<Self>, observation: &ObservationOf<Self>) -> Option<Choice>;

    /// Chooses factor by factor. `pick` returns a column of the range that it is given.
    fn select(mut pick: impl FnMut(Range<usize>) -> usize) -> Choice {
        let mut choice = Choice::default();
        while let Some(factor) = Self::next_factor(&choice) {
            choice.push(pick(Self::SEGMENTS[factor].clone()));
        }
        choice
    }
}

/// Memory over the observations of one episode, from which features are computed. Nothing but
/// features reaches a network.
pub trait Observe: Clone + Debug + Send + Sync {
    /// What is observed.
    type Observation;
    /// What is computed from it.
    type Features;

    /// Takes in an observation: each one of an episode once, in order.
    fn observe(&mut self, observation: &Self::Observation);

    /// Returns the features of the observation taken in last.
    fn features(&self, observation: &Self::Observation) -> Self::Features;
}

/// Most factors of one choice.
pub const FACTORS_MAX: usize = 8;

/// An action as the columns that were chosen, one for each of its factors.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    columns: [u16; FACTORS_MAX],
    len: u8,
}

impl Choice {
    /// The choice of a single factor.
    #[must_use]
    pub const fn single(column: usize) -> Self {
        let mut columns = [0; FACTORS_MAX];
        columns[0] = column as u16;
        Self { columns, len: 1 }
    }

    /// Adds the column of the next factor.
    ///
    /// # Panics
    /// If there are [`FACTORS_MAX`] already.
    pub const fn push(&mut self, column: usize) {
        self.columns[self.len as usize] = column as u16;
        self.len += 1;
    }

    /// Returns the number of factors chosen so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns whether nothing was chosen yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the column of the factor chosen at `place`.
    ///
    /// # Panics
    /// If no factor was chosen there yet.
    #[must_use]
    pub const fn column(&self, place: usize) -> usize {
        assert!(place < self.len as usize);
        self.columns[place] as usize
    }

    /// Returns the columns in the order in which they were chosen.
    pub fn columns(self) -> impl Iterator<Item = usize> {
        self.columns
            .into_iter()
            .take(usize::from(self.len))
            .map(usize::from)
    }
}

/// Buffers for hidden layers.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    buffers: Vec<Vec<f32>>,
}

impl Scratch {
    /// Buffers of these lengths.
    #[must_use]
    pub fn new(lengths: &[usize]) -> Self {
        let buffers = lengths.iter().map(|length| vec![0.0; *length]);
        Self {
            buffers: buffers.collect(),
        }
    }

    /// Returns the first `N` buffers; one that does not exist is empty.
    #[inline]
    pub fn buffers<const N: usize>(&mut self) -> [&mut [f32]; N] {
        let mut all = self.buffers.iter_mut();
        std::array::from_fn(|_| all.next().map_or(&mut [][..], Vec::as_mut_slice))
    }
}

/// What a network computes for one observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Logits of all columns, see [`Network::SEGMENTS`].
    pub logits: Vec<f32>,
    /// Logits of the belief row by row, see [`Network::BELIEF_SHAPE`].
    pub beliefs: Vec<f32>,
}

impl Output {
    /// Makes it zeros of these lengths.
    pub(super) fn reset(&mut self, logits: usize, beliefs: usize) {
        for (values, length) in [(&mut self.logits, logits), (&mut self.beliefs, beliefs)] {
            values.clear();
            values.resize(length, 0.0);
        }
    }

    /// Returns the probabilities of each row of the belief, where the network has one.
    #[must_use]
    pub fn belief<N: Network>(&self) -> Option<Vec<Vec<f64>>> {
        let [_, classes] = N::BELIEF_SHAPE?;
        let rows = self.beliefs.chunks_exact(classes);
        Some(rows.map(|row| softmax(row, &vec![true; classes])).collect())
    }
}
