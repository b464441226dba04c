//! The shape of a network, as needed by weights, model files and trainers, independent of the
//! environment.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The hyperparameters of a network, as its model file stores them.
pub trait Architecture:
    Copy + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Name of the environment that the network acts in.
    const WORLD: &'static str;
    /// Version of the features that this build computes. Weights trained on another version are
    /// refused.
    const FEATURE_VERSION: u32;

    /// Returns the shape of every parameter, always in the same order.
    fn shapes(&self) -> Vec<Shape>;

    /// Returns the version of the features that the weights were trained on.
    fn feature_version(&self) -> u32;

    /// Returns the number of units of each hidden layer.
    fn hidden(&self) -> usize;
}

/// Name, size and initialization of a parameter. Matrices are stored row by row, `[inputs,
/// outputs]`; a bias has one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Name of the parameter in model files.
    pub name: &'static str,
    /// Number of inputs; 1 for a bias.
    pub rows: usize,
    /// Number of outputs, in columns.
    pub columns: usize,
    /// Distribution of the initial values.
    pub init: Init,
}

impl Shape {
    /// Creates the shape of a parameter from its name, size and initialization.
    #[must_use]
    pub const fn new(name: &'static str, rows: usize, columns: usize, init: Init) -> Self {
        Self {
            name,
            rows,
            columns,
            init,
        }
    }
}

/// The initialization of a parameter before training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// Every value is zero.
    Zero,
    /// Uniform in `±sqrt(6 / inputs)` (He et al. 2015).
    Hidden {
        /// Fan-in of a unit, summed over every matrix that feeds it.
        inputs: usize,
    },
    /// Uniform in `±0.01 * sqrt(6 / rows)`, so that an untrained policy is close to uniform.
    Head,
}
