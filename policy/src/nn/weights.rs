//! The parameter values of a network.

use sentinel_env::rng::{PyRandom, derive_seed};

use super::architecture::{Architecture, Init, Shape};

/// The parameters of a network, each stored row by row, in the order of [`Architecture::shapes`].
#[derive(Clone, Debug, PartialEq)]
pub struct Weights<A> {
    config: A,
    tensors: Vec<Vec<f32>>,
}

impl<A: Architecture> Weights<A> {
    /// Draws initial weights. The same seed gives the same weights on every machine.
    #[must_use]
    pub fn init(config: A, seed: u64) -> Self {
        let fresh = |(index, shape): (u64, &Shape)| {
            let mut random = PyRandom::new(derive_seed(seed, 1 + index));
            let bound = bound(shape);
            let draw = |_| (bound * (2.0 * random.random() - 1.0)) as f32;
            (0..shape.rows * shape.columns).map(draw).collect()
        };
        let tensors = (0..).zip(&config.shapes()).map(fresh).collect();
        Self { config, tensors }
    }

    /// Creates weights from the values of each parameter; `None` unless there is one entry per
    /// shape and each has the length of its shape.
    #[must_use]
    pub fn from_tensors(config: A, tensors: Vec<Vec<f32>>) -> Option<Self> {
        let shapes = config.shapes();
        let fits = (shapes.iter().zip(&tensors))
            .all(|(shape, values)| values.len() == shape.rows * shape.columns);
        (fits && shapes.len() == tensors.len()).then_some(Self { config, tensors })
    }

    /// Returns the hyperparameters of the network.
    #[must_use]
    pub const fn config(&self) -> &A {
        &self.config
    }

    /// Returns each parameter with its shape, in the order of [`Architecture::shapes`].
    pub fn iter(&self) -> impl Iterator<Item = (Shape, &[f32])> {
        let values = self.tensors.iter().map(Vec::as_slice);
        self.config.shapes().into_iter().zip(values)
    }

    /// Returns the values of the parameter at `index` in [`Architecture::shapes`].
    ///
    /// # Panics
    /// If there is no such parameter.
    #[must_use]
    pub fn tensor(&self, index: usize) -> &[f32] {
        &self.tensors[index]
    }

    /// Returns the total number of trainable values.
    #[must_use]
    pub fn count(&self) -> usize {
        self.tensors.iter().map(Vec::len).sum()
    }
}

fn bound(shape: &Shape) -> f64 {
    match shape.init {
        Init::Zero => 0.0,
        Init::Hidden { inputs } => (6.0 / inputs as f64).sqrt(),
        Init::Head => 0.01 * (6.0 / shape.rows as f64).sqrt(),
    }
}
