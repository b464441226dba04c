//! The interface of a learned policy network, and the choice of columns that stands for an action.

use std::fmt::Debug;
use std::ops::Range;

use sentinel_env::Environment;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::architecture::Architecture;
use super::feature_schema::FeatureSchema;
use super::ops::softmax;
use super::weights::Weights;

/// The observation type of a network's environment.
pub type ObservationOf<N> = <<N as Network>::Env as Environment>::Observation;
/// The action type of a network's environment.
pub type ActionOf<N> = <<N as Network>::Env as Environment>::Action;

/// A policy network of an environment: it maps observations to features, features to logits, and a
/// choice of columns to an action.
///
/// An action has one or several factors. Each factor is a softmax over a segment of the columns,
/// and the log-probability of an action is the sum over the factors that it uses. One segment
/// corresponds to Gymnasium's `Discrete`, and several segments that are all used to its
/// `MultiDiscrete`. [`Network::next_factor`] also allows factors that depend on earlier choices.
pub trait Network: Architecture {
    /// The environment that the network acts in.
    type Env: Environment;
    /// The memory over the observations of an episode, which computes features.
    type Observer: Observe<Observation = ObservationOf<Self>, Features = Self::Features>;
    /// The input of a forward pass, for one observation.
    type Features: Clone + Debug + Send + Sync + Serialize + DeserializeOwned;

    /// Number of columns: the logits of one observation.
    const LOGITS: usize;
    /// The columns of each factor, in order and without gaps.
    const FACTOR_COLUMNS: &'static [Range<usize>];
    /// Shape `[variables, classes]` of the belief over hidden variables, if the network has one.
    const BELIEF_SHAPE: Option<[usize; 2]> = None;
    /// Names of the features, one schema per kind of row.
    const FEATURE_SCHEMAS: &'static [FeatureSchema];

    /// Creates an observer that has not seen any observation.
    fn observer(&self) -> Self::Observer;

    /// Creates buffers for the hidden layers, so that a forward pass need not allocate.
    fn scratch(&self) -> Scratch {
        Scratch::default()
    }

    /// Computes the logits, and the belief if there is one. `out` holds zeros on entry, which
    /// [`Weights::forward`] ensures.
    fn forward(
        weights: &Weights<Self>,
        features: &Self::Features,
        scratch: &mut Scratch,
        out: &mut Output,
    );

    /// Writes the mask of the columns that can be chosen; `mask` has [`Network::LOGITS`] entries.
    /// By default every column can be chosen until the episode has ended.
    fn action_mask(observation: &ObservationOf<Self>, mask: &mut [bool]) {
        mask.fill(!Self::Env::is_done(observation));
    }

    /// Returns the factor to choose next as an index into [`Network::FACTOR_COLUMNS`]; `None` if the
    /// choice is complete, which must be the case after at most [`FACTORS_MAX`] factors. By default
    /// every factor is chosen, in order.
    fn next_factor(chosen: &Choice) -> Option<usize> {
        const {
            assert!(
                Self::FACTOR_COLUMNS.len() <= FACTORS_MAX,
                "a choice cannot hold all factors: implement `next_factor`"
            );
        }
        Some(chosen.len()).filter(|factor| *factor < Self::FACTOR_COLUMNS.len())
    }

    /// Returns the action that a complete choice stands for.
    fn decode_action(choice: &Choice, observation: &ObservationOf<Self>) -> ActionOf<Self>;

    /// Returns the choice that stands for an action; `None` if there is none. Imitation learning
    /// uses it to convert the actions of a teacher.
    fn encode_action(action: ActionOf<Self>, observation: &ObservationOf<Self>) -> Option<Choice>;

    /// Returns every action that a complete choice of unmasked columns stands for; none after the
    /// end of the episode.
    fn legal_actions(observation: &ObservationOf<Self>) -> Vec<ActionOf<Self>> {
        let mut mask = vec![false; Self::LOGITS];
        Self::action_mask(observation, &mut mask);
        let mut all = Vec::new();
        let mut open = vec![Choice::default()];
        while let Some(choice) = open.pop() {
            let Some(factor) = Self::next_factor(&choice) else {
                all.push(Self::decode_action(&choice, observation));
                continue;
            };
            let columns = Self::FACTOR_COLUMNS[factor].clone().rev();
            for column in columns.filter(|column| mask[*column]) {
                let mut longer = choice;
                longer.push(column);
                open.push(longer);
            }
        }
        all
    }

    /// Builds a choice factor by factor. `pick` returns a column of the range that it is given.
    fn build_choice(mut pick: impl FnMut(Range<usize>) -> usize) -> Choice {
        let mut choice = Choice::default();
        while let Some(factor) = Self::next_factor(&choice) {
            choice.push(pick(Self::FACTOR_COLUMNS[factor].clone()));
        }
        choice
    }
}

/// Memory over the observations of one episode, from which features are computed. A network
/// receives these features and nothing else.
pub trait Observe: Clone + Debug + Send + Sync {
    /// The observation type of the environment.
    type Observation;
    /// The features that are computed from observations.
    type Features;

    /// Updates the memory with an observation. Call it once for every observation of an episode, in
    /// order.
    fn observe(&mut self, observation: &Self::Observation);

    /// Returns the features of the latest observation.
    fn features(&self, observation: &Self::Observation) -> Self::Features;
}

/// Largest number of factors of one choice.
pub const FACTORS_MAX: usize = 8;

/// An action as the chosen columns, one for each factor that it uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choice {
    columns: [u16; FACTORS_MAX],
    len: u8,
}

impl Choice {
    /// Creates the choice of a single factor.
    #[must_use]
    pub const fn single(column: usize) -> Self {
        let mut columns = [0; FACTORS_MAX];
        columns[0] = column as u16;
        Self { columns, len: 1 }
    }

    /// Appends the column of the next factor.
    ///
    /// # Panics
    /// If the choice already has [`FACTORS_MAX`] factors.
    pub const fn push(&mut self, column: usize) {
        self.columns[self.len as usize] = column as u16;
        self.len += 1;
    }

    /// Returns the number of factors chosen so far.
    #[must_use]
    pub const fn len(&self) -> usize {
        self.len as usize
    }

    /// Returns `true` if no factor has been chosen yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the column of the factor that was chosen at position `place`, counted from 0.
    ///
    /// # Panics
    /// If fewer factors have been chosen.
    #[must_use]
    pub const fn column(&self, place: usize) -> usize {
        assert!(place < self.len as usize);
        self.columns[place] as usize
    }

    /// Returns the columns in the order in which they were chosen.
    pub fn chosen_columns(self) -> impl Iterator<Item = usize> {
        self.columns
            .into_iter()
            .take(usize::from(self.len))
            .map(usize::from)
    }
}

/// Buffers for the hidden layers of a forward pass.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    buffers: Vec<Vec<f32>>,
}

impl Scratch {
    /// Creates zeroed buffers of the given lengths.
    #[must_use]
    pub fn new(lengths: &[usize]) -> Self {
        let buffers = lengths.iter().map(|length| vec![0.0; *length]);
        Self {
            buffers: buffers.collect(),
        }
    }

    /// Returns the first `N` buffers; a buffer that does not exist is returned as an empty slice.
    #[inline]
    pub fn buffers<const N: usize>(&mut self) -> [&mut [f32]; N] {
        let mut all = self.buffers.iter_mut();
        std::array::from_fn(|_| all.next().map_or(&mut [][..], Vec::as_mut_slice))
    }
}

/// The output of a network for one observation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Output {
    /// Logits of all columns, `[LOGITS]`, see [`Network::FACTOR_COLUMNS`].
    pub logits: Vec<f32>,
    /// Logits of the belief, row by row, see [`Network::BELIEF_SHAPE`].
    pub beliefs: Vec<f32>,
}

impl Output {
    /// Resizes the output to these lengths and fills it with zeros.
    pub(super) fn reset(&mut self, logits: usize, beliefs: usize) {
        for (values, length) in [(&mut self.logits, logits), (&mut self.beliefs, beliefs)] {
            values.clear();
            values.resize(length, 0.0);
        }
    }

    /// Returns the belief as probabilities, `[variables, classes]`; `None` if the network has no
    /// belief.
    #[must_use]
    pub fn belief<N: Network>(&self) -> Option<Vec<Vec<f64>>> {
        let [_, classes] = N::BELIEF_SHAPE?;
        let rows = self.beliefs.chunks_exact(classes);
        Some(rows.map(|row| softmax(row, &vec![true; classes])).collect())
    }
}
