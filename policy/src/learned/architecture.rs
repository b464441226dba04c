//! What weights, model files and trainers need to know of a network, whatever its world.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::layout::Shape;
use crate::WorldName;

/// The shape of a world's network, as its file says it.
pub trait Architecture:
    Copy + PartialEq + std::fmt::Debug + Serialize + DeserializeOwned + Send + Sync + 'static
{
    /// The world that it acts in.
    const WORLD: WorldName;
    /// Version of the features that this build computes: weights of another one mean something else.
    const FEATURE_VERSION: u32;

    /// Every parameter, always in the same order.
    fn shapes(&self) -> Vec<Shape>;

    /// Version of the features that the weights were trained on.
    fn feature_version(&self) -> u32;

    /// Units of each hidden layer.
    fn hidden(&self) -> usize;
}
