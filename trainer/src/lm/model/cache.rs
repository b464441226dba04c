//! Keys and values of tokens that were read, so that the next one costs one token.

use burn::tensor::{Device, Int, Tensor};

use crate::lm::config::ModelConfig;

/// One layer's keys and values, `[rows, groups, capacity, head]` each. Room for all tokens is made
/// at once and written in place.
#[derive(Clone, Debug)]
pub(crate) struct LayerCache {
    /// Absent only while it is written: what nobody else holds is written in place.
    stored: Option<(Tensor<4>, Tensor<4>)>,
    filled: usize,
}

/// All layers' keys and values.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    pub(crate) layers: Vec<LayerCache>,
}

impl Cache {
    /// Room for `capacity` tokens in each row.
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

    /// The tokens that it holds.
    pub(crate) fn filled(&self) -> usize {
        self.layers.first().map_or(0, |layer| layer.filled)
    }

    /// The cache of these rows, in this order, a row possibly several times, with room for
    /// `capacity` tokens.
    pub(crate) fn spread(&mut self, rows: &Tensor<1, Int>, capacity: usize) {
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

    /// The cache of these rows, in this order; a row may come several times.
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
    /// Adds tokens; gives all keys and values so far.
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
