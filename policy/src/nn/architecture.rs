//! The shape of a network: what weights, model files and trainers need to know of it, whatever its
//! environment.

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The hyperparameters of a network, as its model file holds them.
pub trait Architecture:
    Copy + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// Name of the environment that the network acts in.
    const WORLD: &'static str;
    /// Version of the features that this build computes. Weights of another version do not fit them.
    const FEATURE_VERSION: u32;

    /// Returns every parameter, always in the same order.
    fn shapes(&self) -> Vec<Shape>;

    /// Returns the version of the features that the weights were trained on.
    fn feature_version(&self) -> u32;

    /// Returns the number of units of each hidden layer.
    fn hidden(&self) -> usize;
}

/// A parameter. Matrices are stored row by row, `[inputs, outputs]`; a bias has one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its name in files.
    pub name: &'static str,
    /// Inputs.
    pub rows: usize,
    /// Outputs.
    pub columns: usize,
    /// How it is drawn before training.
    pub init: Init,
}

impl Shape {
    /// A parameter of this name and size.
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

/// How a parameter is initialized.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// All zero.
    Zero,
    /// Uniform within `sqrt(6 / inputs)` (He et al. 2015).
    Hidden {
        /// All inputs of a unit, over every matrix that feeds it.
        inputs: usize,
    },
    /// Uniform within a hundredth of that, so that a fresh policy is close to uniform.
    Head,
}
