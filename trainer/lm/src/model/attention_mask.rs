//! The attention mask of a batch: causal, without padding, and by segment in packed rows.

use burn::tensor::{Device, Tensor, TensorData};

use super::Batch;
use crate::parameter::indices;

/// Score offset of masked positions. It is finite, so that a row that attends to nothing (padding)
/// does not become NaN.
pub(super) const MASKED_SCORE: f32 = -1e30;

/// Computes the attention mask of a batch, `[rows, 1, tokens, tokens]`, on the processor.
pub(super) fn mask_of_host(batch: &Batch, device: &Device) -> Tensor<4> {
    let (rows, tokens) = (batch.rows(), batch.tokens());
    let mut mask = Vec::with_capacity(rows * tokens * tokens);
    for row in 0..rows {
        for query in 0..tokens {
            let seen = |key: usize| batch.can_attend(row, query, key);
            mask.extend((0..tokens).map(|key| if seen(key) { 0.0 } else { MASKED_SCORE }));
        }
    }
    Tensor::from_data(TensorData::new(mask, [rows, 1, tokens, tokens]), device)
}

/// Computes the same mask on its device, which gets three numbers per token.
pub(super) fn mask_of_device(batch: &Batch, device: &Device) -> Tensor<4> {
    let (rows, tokens) = (batch.rows(), batch.tokens());
    let [keys, own, prefixes] = batch
        .attention_segments()
        .map(|numbers| indices(numbers, device));
    let keys = keys.reshape([rows, 1, 1, tokens]);
    let shape = [rows, 1, tokens, 1];
    let same = keys.clone().equal(own.reshape(shape));
    let before = keys.equal(prefixes.reshape(shape));
    let columns = indices(0..tokens, device);
    let later = columns
        .clone()
        .reshape([1, 1, 1, tokens])
        .greater(columns.reshape([1, 1, tokens, 1]));
    let hidden = same.bool_or(before).bool_not().bool_or(later);
    Tensor::zeros([rows, 1, tokens, tokens], device).mask_fill(hidden, MASKED_SCORE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ModelConfig;
    use crate::{LmError, ModelType, Segment};
    use sentinel_tensor::numbers;

    #[test]
    fn masks_of_host_and_device_are_equal() -> Result<(), LmError> {
        let config = ModelConfig {
            model_type: ModelType::Qwen2,
            vocab_size: 16,
            hidden_size: 8,
            intermediate_size: 8,
            num_hidden_layers: 1,
            num_attention_heads: 1,
            num_key_value_heads: 1,
            head_dim: None,
            max_position_embeddings: 32,
            rope_theta: 1e6,
            rope_scaling: None,
            rms_norm_eps: 1e-6,
            tie_word_embeddings: true,
            initializer_range: 0.02,
        };
        let device = Device::flex();
        let text = |ids, prefix| Segment { ids, prefix };
        let packed = [
            vec![
                text(&[1, 2, 3][..], None),
                text(&[4, 5], Some(0)),
                text(&[6], Some(0)),
                text(&[7, 8], None),
            ],
            vec![text(&[1, 2], None), text(&[3], None)],
        ];
        let batches = [
            Batch::packed(&config, &packed, 0)?,
            Batch::left_padded(&config, &[vec![1, 2, 3], vec![4]], 0)?,
        ];
        for batch in batches {
            let mask = numbers(mask_of_host(&batch, &device))?;
            assert_eq!(mask, numbers(mask_of_device(&batch, &device))?);
            assert!(mask.contains(&0.0) && mask.contains(&MASKED_SCORE));
        }
        Ok(())
    }
}
