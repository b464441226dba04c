//! Rotary positions as Hugging Face's checkpoints expect them: the two halves of a head turn
//! together, not neighbouring numbers.

use burn::tensor::{Device, Tensor, TensorData};

use crate::lm::config::ModelConfig;

/// Cosines and sines of tokens, each `[rows, tokens, 1, head / 2]`.
#[derive(Clone, Debug)]
pub(crate) struct Rope {
    cosine: Tensor<4>,
    sine: Tensor<4>,
}

impl Rope {
    /// For tokens at `positions`, `[rows * tokens]`.
    pub(crate) fn new(
        config: &ModelConfig,
        positions: &[usize],
        rows: usize,
        device: &Device,
    ) -> Self {
        let half = config.head_dim() / 2;
        // Rounded as the reference rounds them: at far positions the angle feels it.
        let frequencies: Vec<f32> = (0..half)
            .map(|i| (1.0 / config.rope_theta.powf(i as f64 / half as f64)) as f32)
            .collect();
        let angle = |position: &usize, frequency: &f32| f64::from(*position as f32 * frequency);
        let angles = positions
            .iter()
            .flat_map(|position| frequencies.iter().map(move |f| angle(position, f)));
        let (cosine, sine): (Vec<f32>, Vec<f32>) = angles
            .map(|angle| (angle.cos() as f32, angle.sin() as f32))
            .unzip();
        let shape = [rows, positions.len() / rows.max(1), 1, half];
        let place = |values| Tensor::from_data(TensorData::new(values, shape), device);
        Self {
            cosine: place(cosine),
            sine: place(sine),
        }
    }

    /// Turns `[rows, tokens, heads, head]`.
    pub(crate) fn turn(&self, x: Tensor<4>) -> Tensor<4> {
        let half = x.dims()[3] / 2;
        let (a, b) = (x.clone().narrow(3, 0, half), x.narrow(3, half, half));
        let (cosine, sine) = (self.cosine.clone(), self.sine.clone());
        let first = a.clone() * cosine.clone() - b.clone() * sine.clone();
        let second = b * cosine + a * sine;
        Tensor::cat(vec![first, second], 3)
    }
}
