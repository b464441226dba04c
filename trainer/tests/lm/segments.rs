//! Several segments in one row give the same results as separate rows.

use sentinel_language::grpo::{Objective, Sample, accumulate};
use sentinel_lm::{
    Batch, CausalLm, Entropy, ForwardOptions, Grads, HeadOptions, LmError, ModelConfig, ModelType,
    Segment, TokenGrads, TokenSelection, TokenValues, TrainedPart,
};
use sentinel_rl::config::{LossConfig, LossType};
use sentinel_run::distributed::ProcessGroup;

use crate::oracle::{close, device, numbers};

/// Returns the configuration of a very small model.
pub(crate) fn config() -> ModelConfig {
    ModelConfig {
        model_type: ModelType::Qwen2,
        vocab_size: 50,
        hidden_size: 16,
        intermediate_size: 24,
        num_hidden_layers: 2,
        num_attention_heads: 4,
        num_key_value_heads: 2,
        head_dim: None,
        max_position_embeddings: 24,
        rope_theta: 1e4,
        rope_scaling: None,
        rms_norm_eps: 1e-6,
        tie_word_embeddings: false,
        initializer_range: 0.3,
    }
}

fn model() -> CausalLm {
    let mut model = CausalLm::initialize(config(), 7, &device()).unwrap();
    model.set_trained_part(TrainedPart::Everything);
    model
}

/// Returns token ids within the vocabulary of [`config`].
pub(crate) fn ids(start: u32, tokens: u32) -> Vec<u32> {
    (0..tokens).map(|at| (start * 13 + at * 7) % 50).collect()
}

/// Returns the log-probabilities of the selected tokens, and the gradients of their sum.
fn logps_and_gradients(model: &CausalLm, batch: &Batch, chosen: &[bool]) -> (Vec<f32>, Grads) {
    let selection = TokenSelection::new(batch, chosen).unwrap();
    let pass = ForwardOptions::training(0);
    let mut logps = Vec::new();
    let (_, grads) = model
        .gradients(batch, pass, |hidden| {
            let found = model.token_logprobs(hidden, &selection, 1.0, Entropy::Skipped, pass);
            logps = numbers(found.logps.clone());
            Ok(found.logps.sum())
        })
        .unwrap();
    (logps, grads)
}

fn assert_gradients_close(model: &CausalLm, found: &Grads, expected: &Grads) {
    for (place, parameter) in model.parameters().into_iter().enumerate() {
        let read = |grads: &Grads| numbers(grads.get(place).unwrap().clone());
        let (found, expected) = (read(found), read(expected));
        let most = expected.iter().fold(0.1_f32, |most, x| most.max(x.abs()));
        close(parameter.name(), &found, &expected, 1e-4 * most);
    }
}

#[test]
fn shared_prompt_row_matches_separate_rows() {
    let model = model();
    let prompt = ids(1, 9);
    let completions = [ids(2, 3), ids(3, 5), ids(4, 1)];
    let rows: Vec<Vec<u32>> = (completions.iter())
        .map(|completion| [prompt.as_slice(), completion].concat())
        .collect();
    let apart = Batch::left_padded(model.config(), &rows, 0).unwrap();
    let chosen: Vec<bool> = (completions.iter())
        .flat_map(|ids| (0..14).map(|at| at >= 14 - ids.len()))
        .collect();
    let (expected, slopes) = logps_and_gradients(&model, &apart, &chosen);

    let mut row = vec![Segment {
        ids: &prompt,
        prefix: None,
    }];
    row.extend(completions.iter().map(|ids| Segment {
        ids,
        prefix: Some(0),
    }));
    // A second, longer row, so that the first one is padded.
    let other = ids(5, 20);
    let beside = vec![Segment {
        ids: &other,
        prefix: None,
    }];
    let packed = Batch::packed(model.config(), &[row, beside], 0).unwrap();
    assert_eq!(packed.positions()[9..13], [9, 10, 11, 9]);
    let chosen: Vec<bool> = (0..40).map(|at| (9..18).contains(&at)).collect();
    let (found, grads) = logps_and_gradients(&model, &packed, &chosen);
    close("log-probabilities", &found, &expected, 1e-5);
    assert_gradients_close(&model, &grads, &slopes);
}

#[test]
fn packed_texts_do_not_attend_to_each_other() {
    let model = model();
    let texts = [ids(2, 6), ids(3, 4), ids(4, 8)];
    let apart = Batch::left_padded(model.config(), &texts, 0).unwrap();
    let chosen: Vec<bool> = (texts.iter())
        .flat_map(|ids| (0..8).map(|at| at > 8 - ids.len()))
        .collect();
    let (expected, slopes) = logps_and_gradients(&model, &apart, &chosen);
    let row: Vec<Segment<'_>> = (texts.iter())
        .map(|ids| Segment { ids, prefix: None })
        .collect();
    let packed = Batch::packed(model.config(), &[row], 0).unwrap();
    let firsts = [0, 6, 10];
    let chosen: Vec<bool> = (0..18).map(|at| !firsts.contains(&at)).collect();
    let (found, grads) = logps_and_gradients(&model, &packed, &chosen);
    close("log-probabilities", &found, &expected, 1e-5);
    assert_gradients_close(&model, &grads, &slopes);
    // The first token of a segment has no preceding token, wherever it is in a row.
    let chosen: Vec<bool> = (0..18).map(|at| at == 6).collect();
    let refused = TokenSelection::new(&packed, &chosen)
        .unwrap_err()
        .to_string();
    assert!(refused.contains("row 0 column 6"), "{refused}");
}

#[test]
fn invalid_packed_row_is_refused() {
    let model = model();
    let (long, short) = (ids(1, 20), ids(2, 5));
    let batch = |row: Vec<Segment<'_>>| Batch::packed(model.config(), &[row], 0);
    let text = |ids, prefix| Segment { ids, prefix };
    // Each segment fits alone, but together they are longer than the model's context.
    let found = batch(vec![text(&long, None), text(&short, Some(0))]);
    assert!(
        matches!(found, Err(LmError::PromptTooLong { longest: 25, .. })),
        "{found:?}"
    );
    assert!(batch(vec![text(&long, None), text(&short, None)]).is_ok());
    for after in [1, 2] {
        let found = batch(vec![text(&short, None), text(&short, Some(after))]);
        assert!(matches!(found, Err(LmError::Option { .. })), "{found:?}");
    }
    let chain = vec![
        text(&short, None),
        text(&short, Some(0)),
        text(&short, Some(1)),
    ];
    assert!(matches!(batch(chain), Err(LmError::Option { .. })));
    assert!(matches!(batch(Vec::new()), Err(LmError::Length { .. })));
    assert!(matches!(
        batch(vec![text(&[99], None)]),
        Err(LmError::Token { token: 99, .. })
    ));
}

/// Covers samples that share one prompt, several prompts, and a prompt shorter than its
/// completions.
#[test]
fn step_does_not_depend_on_row_packing() {
    let model = model();
    let sample = |prompt: u32, length: u32, completion: u32| Sample {
        prompt: ids(prompt, length),
        completion: ids(completion, 2 + completion % 3),
        advantage: f64::from(completion) - 3.5,
        ..Sample::default()
    };
    let group = |prompt, length| (1..6).map(move |completion| sample(prompt, length, completion));
    let samples: Vec<Sample> = group(1, 9).chain(group(2, 12)).chain(group(3, 1)).collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    let objective = Objective {
        loss: LossConfig::default(),
        temperature: 1.0,
        num_items: 50.0,
        pad: 0,
    };
    let together = accumulate(
        &model,
        &samples,
        15,
        &objective,
        ForwardOptions::training(0),
        &ProcessGroup::default(),
    )
    .unwrap();
    let alone = accumulate(
        &model,
        &samples,
        1,
        &objective,
        ForwardOptions::training(0),
        &ProcessGroup::default(),
    )
    .unwrap();
    assert!((together.loss - alone.loss).abs() < 1e-6);
    for (together, alone) in together.logps.iter().zip(&alone.logps) {
        let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
        assert!(together.len() == alone.len() && together.iter().zip(alone).all(near));
    }
    assert_gradients_close(&model, &together.grads, &alone.grads);
}

/// A smaller last micro-batch is weighted by its number of rows, so the result does not depend on
/// the size of micro-batches.
#[test]
fn smaller_last_micro_batch_is_weighted_by_rows() {
    let model = model();
    let sample = |row: u32| Sample {
        prompt: ids(1 + row / 5, 9),
        completion: ids(row, 2 + row % 3),
        advantage: f64::from(row) - 5.5,
        ..Sample::default()
    };
    let samples: Vec<Sample> = (0..11).map(sample).collect();
    let samples: Vec<&Sample> = samples.iter().collect();
    for loss_type in [
        LossType::Grpo,
        LossType::DrGrpo,
        LossType::Sapo,
        LossType::Luspo,
        LossType::Dapo,
    ] {
        let objective = Objective {
            loss: LossConfig {
                loss_type,
                ..LossConfig::default()
            },
            temperature: 1.0,
            num_items: 33.0,
            pad: 0,
        };
        let gradient = |micro| {
            let found = accumulate(
                &model,
                &samples,
                micro,
                &objective,
                ForwardOptions::training(0),
                &ProcessGroup::default(),
            );
            found.unwrap()
        };
        let (whole, ragged) = (gradient(11), gradient(4));
        assert!(
            (whole.loss - ragged.loss).abs() < 1e-6 * whole.loss.abs().max(1.0),
            "{loss_type:?}"
        );
        assert_gradients_close(&model, &whole.grads, &ragged.grads);
    }
}

/// Returns the log-probabilities of selected tokens and the gradients of their sum, computed in parts of the batch.
fn in_parts(model: &CausalLm, batch: &Batch, chosen: &[bool], by_block: bool) -> (Vec<f32>, Grads) {
    let selection = TokenSelection::new(batch, chosen).unwrap();
    let pass = ForwardOptions::training(0).with_gradient_checkpointing(by_block);
    let mut logps = Vec::new();
    let loss = |values: &TokenValues| {
        logps.clone_from(&values.logps);
        Ok(TokenGrads {
            logps: vec![1.0; values.logps.len()],
            entropies: None,
        })
    };
    let head = HeadOptions::default();
    let grads = (model.token_gradients(batch, &selection, head, pass, loss)).unwrap();
    let plain = (model.token_values(batch, &selection, head, ForwardOptions::EVALUATION)).unwrap();
    close("values without gradients", &plain.logps, &logps, 1e-5);
    (logps, grads)
}

/// Forty rows are several parts on the processor; some of them have no selected token.
#[test]
fn parts_of_a_batch_match_the_whole() {
    let model = model();
    let prompts: Vec<Vec<u32>> = (0..40).map(|row| ids(row, 4 + row % 9)).collect();
    let completion = ids(3, 5);
    let segment = |ids, prefix| Segment { ids, prefix };
    let packed = |prompt| {
        let of_group = segment(&completion, Some(0));
        vec![segment(prompt, None), of_group, of_group]
    };
    let rows: Vec<Vec<Segment<'_>>> = prompts.iter().map(|prompt| packed(prompt)).collect();
    let packed = Batch::packed(model.config(), &rows, 0).unwrap();
    let padded = Batch::left_padded(model.config(), &prompts, 0).unwrap();
    for batch in [packed, padded] {
        let chosen = |at: usize| {
            let (row, column) = (at / batch.tokens(), at % batch.tokens());
            !(10..30).contains(&row) && column > 9 && batch.previous_token(at).is_some()
        };
        let chosen: Vec<bool> = (0..batch.ids().len()).map(chosen).collect();
        let (expected, slopes) = logps_and_gradients(&model, &batch, &chosen);
        for by_block in [false, true] {
            let (found, grads) = in_parts(&model, &batch, &chosen, by_block);
            close("log-probabilities", &found, &expected, 1e-5);
            assert_gradients_close(&model, &grads, &slopes);
        }
    }
}

#[test]
fn empty_selection_is_refused() {
    let model = model();
    let batch = Batch::left_padded(model.config(), &[ids(1, 9)], 0).unwrap();
    let selection = TokenSelection::new(&batch, &[false; 9]).unwrap();
    let (head, pass) = (HeadOptions::default(), ForwardOptions::training(0));
    let loss = |_: &TokenValues| unreachable!("nothing is selected");
    let grads = model.token_gradients(&batch, &selection, head, pass, loss);
    assert!(grads.unwrap_err().to_string().contains("selected tokens"));
    assert!(model.token_values(&batch, &selection, head, pass).is_err());
}

/// Gradient checkpointing records gradients, also with options of a pass without.
#[test]
fn checkpointed_gradients_are_complete_without_tracking() {
    let model = model();
    let batch = Batch::left_padded(model.config(), &[ids(1, 9)], 0).unwrap();
    let pass = ForwardOptions::EVALUATION;
    let sum = |hidden: burn::tensor::Tensor<2>| Ok(hidden.square().sum());
    let (_, grads) = model.gradients(&batch, pass, sum).unwrap();
    let of_blocks = model.parameters().len() - 1;
    assert!((0..of_blocks).all(|place| grads.get(place).is_some()));
}

/// The cores divide several rows, and the products of a single long one.
#[test]
fn number_of_cores_changes_no_gradient() {
    let model = model();
    let prompts: Vec<Vec<u32>> = (0..40).map(|row| ids(row, 20)).collect();
    let rows = Batch::left_padded(model.config(), &prompts, 0).unwrap();
    let segment = |ids| Segment { ids, prefix: None };
    let long: Vec<Segment<'_>> = prompts.iter().map(|prompt| segment(prompt)).collect();
    let long = Batch::packed(model.config(), &[long], 0).unwrap();
    for batch in [rows, long] {
        assert_same_on_cores(&model, &batch);
    }
}

fn assert_same_on_cores(model: &CausalLm, batch: &Batch) {
    let chosen: Vec<bool> = (0..batch.ids().len()).map(|at| at % 20 > 9).collect();
    let on = |cores: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(cores);
        let (logps, grads) =
            (pool.build().unwrap()).install(|| in_parts(model, batch, &chosen, true));
        let of = |place| numbers(grads.get(place).unwrap().clone());
        let grads: Vec<Vec<f32>> = (0..model.parameters().len()).map(of).collect();
        (logps, grads)
    };
    let one = on(1);
    assert_eq!(on(2), one);
    assert_eq!(on(5), one);
}
