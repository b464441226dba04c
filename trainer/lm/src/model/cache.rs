//! The key-value cache of decoding, so that each new token costs one token of computation.

use burn::tensor::{DType, Device, Int, Tensor};

use super::cube::{self, DecodePlaces};
use crate::config::ModelConfig;

const SUPPORTED: &str = "a cache that the kernels support";

/// The cached keys and values of one layer, `[rows, groups, capacity, head]` each.
///
/// The memory for all tokens is allocated at once and written in place. Each row ends at the last
/// column that is filled; shorter rows begin later.
#[derive(Clone, Debug)]
pub(crate) struct LayerCache {
    /// Keys and values; `None` only during a write, because a tensor with one owner is updated in
    /// place.
    stored: Option<(Tensor<4>, Tensor<4>)>,
    filled: usize,
}

/// The cached keys and values of all layers.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) layers: Vec<LayerCache>,
}

impl Cache {
    /// Creates a cache of a model's keys and values on a device and in a format, with room for
    /// `capacity` tokens in each row.
    pub(super) fn new(
        config: &ModelConfig,
        [rows, capacity]: [usize; 2],
        place: (&Device, DType),
    ) -> Self {
        let shape = [
            rows,
            config.num_key_value_heads,
            capacity,
            config.head_dim(),
        ];
        let zeros = || Tensor::zeros(shape, place);
        let empty = || LayerCache {
            stored: Some((zeros(), zeros())),
            filled: 0,
        };
        Self {
            layers: (0..config.num_hidden_layers).map(|_| empty()).collect(),
        }
    }

    /// Returns the number of filled columns.
    pub(crate) fn filled(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.filled)
    }

    /// Returns the number of columns that there is room for.
    pub(crate) fn capacity(&self) -> usize {
        self.shape()[2]
    }

    /// Returns the shape of the keys of a layer, `[rows, groups, capacity, head]`.
    pub(crate) fn shape(&self) -> [usize; 4] {
        let stored = self.layers.first().and_then(|layer| layer.stored.as_ref());
        stored.map_or([0; 4], |(keys, _)| keys.dims())
    }

    /// Counts columns that were written in all layers.
    pub(crate) fn count_filled(&mut self, columns: usize) {
        for layer in &mut self.layers {
            layer.filled += columns;
        }
    }

    /// Keeps the given rows in this order; a row may occur several times.
    pub(crate) fn select(&mut self, rows: &Tensor<1, Int>) {
        self.map(|all, _| all.select(0, rows.clone()));
    }

    /// Moves the last `length` filled columns to the end of `filled` columns, with room for
    /// `capacity`.
    pub(crate) fn resize(&mut self, length: usize, filled: usize, capacity: usize) {
        self.map(|all, before| {
            let [rows, groups, _, head] = all.dims();
            let shape = [rows, groups, capacity, head];
            let room = Tensor::zeros(shape, (&all.device(), all.dtype()));
            let kept = all.narrow(2, before - length, length);
            room.slice_assign([0..rows, 0..groups, filled - length..filled, 0..head], kept)
        });
        for layer in &mut self.layers {
            layer.filled = filled;
        }
    }

    /// Writes the first `count` columns of the only row of `other` to a row, from `column` on.
    pub(crate) fn write_row(&mut self, row: usize, column: usize, other: &Self, count: usize) {
        for (layer, other) in self.layers.iter_mut().zip(&other.layers) {
            let both = layer.stored.take().zip(other.stored.as_ref());
            layer.stored = both.map(|((keys, values), (other_keys, other_values))| {
                let write = |all: Tensor<4>, other: &Tensor<4>| {
                    let [_, groups, _, head] = all.dims();
                    let place = [row..row + 1, 0..groups, column..column + count, 0..head];
                    all.slice_assign(place, other.clone().narrow(2, 0, count))
                };
                (write(keys, other_keys), write(values, other_values))
            });
        }
    }

    /// Appends the rows of another cache with as many filled columns and the same capacity.
    pub(crate) fn append_rows(&mut self, other: Self) {
        for (layer, other) in self.layers.iter_mut().zip(other.layers) {
            let both = layer.stored.take().zip(other.stored);
            layer.stored = both.map(|((keys, values), (more_keys, more_values))| {
                let join = |all, more| Tensor::cat(vec![all, more], 0);
                (join(keys, more_keys), join(values, more_values))
            });
        }
    }

    /// Replaces keys and values by a function of them and of the number of filled columns.
    fn map(&mut self, change: impl Fn(Tensor<4>, usize) -> Tensor<4>) {
        for layer in &mut self.layers {
            let filled = layer.filled;
            let stored = layer.stored.take();
            layer.stored =
                stored.map(|(keys, values)| (change(keys, filled), change(values, filled)));
        }
    }
}

impl LayerCache {
    /// Writes keys and values of new tokens after the filled columns; returns all, with columns that are not filled yet.
    /// [`Cache::count_filled`] makes them filled ones.
    pub(super) fn push(&mut self, key: Tensor<4>, value: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        let [rows, groups, tokens, head] = key.dims();
        let place = [
            0..rows,
            0..groups,
            self.filled..self.filled + tokens,
            0..head,
        ];
        let all = match self.stored.take() {
            Some((keys, values)) => (
                keys.slice_assign(place.clone(), key),
                values.slice_assign(place, value),
            ),
            None => (key, value),
        };
        self.stored.insert(all).clone()
    }

    /// Writes a new token of each row like [`Self::push`] and attends from it, by the kernels of a graphics processor: from joined queries, keys
    /// and values, `[rows, (heads + 2 * groups) * head]`, with an optional bias. Returns `[rows, heads * head]`.
    ///
    /// # Panics
    /// If the kernels do not support the shape of the cache; callers check this.
    pub(super) fn attend_token(
        &mut self,
        qkv: &Tensor<2>,
        bias: Option<&Tensor<2>>,
        places: &DecodePlaces,
    ) -> Tensor<2> {
        let (keys, values) = self
            .stored
            .take()
            .expect("a cache that is not being written");
        let scale = 1.0 / (keys.dims()[3] as f64).sqrt();
        let cache = [keys, values];
        let appended = cube::append_token(qkv, bias, places, cache, scale);
        let (query, [keys, values]) = appended.expect(SUPPORTED);
        let mixed = cube::cached_attention(&query, [&keys, &values], places);
        self.stored = Some((keys, values));
        mixed.expect(SUPPORTED)
    }
}
