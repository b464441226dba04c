//! The key-value cache of decoding, so that each new token costs one token of computation.

use burn::tensor::{Device, Int, Tensor};

use crate::lm::config::ModelConfig;

/// The cached keys and values of one layer, `[rows, groups, capacity, head]` each.
///
/// The memory for all tokens is allocated at once and written in place.
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
    /// Creates a cache with room for `capacity` tokens in each row.
    pub(crate) fn new(config: &ModelConfig, rows: usize, capacity: usize, device: &Device) -> Self {
        let shape = [
            rows,
            config.num_key_value_heads,
            capacity,
            config.head_dim(),
        ];
        let empty = || LayerCache {
            stored: Some((Tensor::zeros(shape, device), Tensor::zeros(shape, device))),
            filled: 0,
        };
        Self {
            layers: (0..config.num_hidden_layers).map(|_| empty()).collect(),
        }
    }

    /// Returns the number of cached tokens per row.
    pub(crate) fn filled(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.filled)
    }

    /// Selects rows as [`Self::select`] does, and makes room for `capacity` tokens in each.
    pub(crate) fn expand_rows(&mut self, rows: &Tensor<1, Int>, capacity: usize) {
        self.select(rows);
        for layer in &mut self.layers {
            let grow = |all: Tensor<4>| {
                let [rows, groups, filled, head] = all.dims();
                let room = Tensor::zeros([rows, groups, capacity, head], &all.device());
                room.slice_assign([0..rows, 0..groups, 0..filled, 0..head], all)
            };
            let stored = layer.stored.take();
            layer.stored = stored.map(|(keys, values)| (grow(keys), grow(values)));
        }
    }

    /// Keeps the given rows in this order; a row may occur several times.
    pub(crate) fn select(&mut self, rows: &Tensor<1, Int>) {
        for layer in &mut self.layers {
            let Some((keys, values)) = layer.stored.take() else {
                continue;
            };
            let pick = |all: Tensor<4>| all.select(0, rows.clone());
            layer.stored = Some((pick(keys), pick(values)));
        }
    }
}

impl LayerCache {
    /// Appends keys and values of new tokens; returns views of all cached ones.
    pub(super) fn push(&mut self, key: Tensor<4>, value: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        let [rows, groups, tokens, head] = key.dims();
        let end = self.filled + tokens;
        let place = [0..rows, 0..groups, self.filled..end, 0..head];
        let (keys, values) = match self.stored.take() {
            Some((keys, values)) => (
                keys.slice_assign(place.clone(), key),
                values.slice_assign(place, value),
            ),
            None => (key, value),
        };
        self.filled = end;
        let seen = |all: &Tensor<4>| all.clone().narrow(2, 0, end);
        let views = (seen(&keys), seen(&values));
        self.stored = Some((keys, values));
        views
    }
}
