//! Completions: greedy decoding is compared exactly, sampling by its distribution.

use std::collections::BTreeMap;

use burn::tensor::Device;
use sentinel_lm::{
    BaseCheck, Batch, CausalLm, Completion, Entropy, ForwardOptions, GenerateOptions,
    GenerationDefaults, Generator, LmError, Lora, Sampler, Sampling, TokenSelection,
};
use serde::Deserialize;

use crate::oracle::{LOGITS, Oracle, close, device, every_variant, numbers, oracle};

#[derive(Deserialize)]
struct Recorded {
    prompt_ids: Vec<Vec<u32>>,
    greedy_ids: Vec<Vec<u32>>,
    stop_token_id: u32,
    greedy_ids_with_stop_padded: Vec<Vec<u32>>,
    /// Only recorded where the model does not matter.
    sampling: Option<Drawn>,
}

#[derive(Deserialize)]
struct Drawn {
    context_ids: Vec<u32>,
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    params: Params,
    kept: usize,
    ids: Vec<u32>,
    probs: Vec<f32>,
}

#[derive(Deserialize)]
struct Params {
    temperature: f64,
    top_p: f64,
    top_k: usize,
    min_p: Option<f64>,
    repetition_penalty: f64,
}

impl Params {
    fn sampling(&self) -> Sampling {
        Sampling {
            temperature: self.temperature,
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p.unwrap_or(0.0),
            repetition_penalty: self.repetition_penalty,
        }
    }
}

fn case(oracle: &Oracle, variant: &str) -> Option<(CausalLm, GenerationDefaults, Recorded)> {
    let recorded = oracle.json(&format!("generate_{variant}.json"))?;
    let folder = oracle.model(variant)?;
    oracle.path(&format!("model_{variant}/generation_config.json"))?;
    let model = CausalLm::load(&folder, &device()).unwrap();
    Some((model, GenerationDefaults::load(&folder).unwrap(), recorded))
}

fn greedy(recorded: &Recorded, defaults: &GenerationDefaults) -> GenerateOptions {
    // transformers applies the penalty of generation_config.json to greedy decoding as well.
    let sampling = Sampling {
        repetition_penalty: defaults.repetition_penalty.unwrap_or(1.0),
        ..Sampling::default()
    };
    GenerateOptions {
        greedy: true,
        sampling,
        stop_tokens: Vec::new(),
        ..GenerateOptions::new(recorded.greedy_ids[0].len(), defaults, 0)
    }
}

#[test]
fn greedy_tokens_match_transformers() {
    for (oracle, variant) in every_variant() {
        let Some((model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        let mut options = greedy(&recorded, &defaults);
        let ours = model.generate(&recorded.prompt_ids, &options).unwrap();
        for (ours, theirs) in ours.iter().zip(&recorded.greedy_ids) {
            assert_eq!(&ours.ids, theirs);
            assert!(!ours.stopped);
        }
        check_logps(&model, &recorded.prompt_ids, &ours, 1.0);

        options.stop_tokens = vec![recorded.stop_token_id];
        let ours = model.generate(&recorded.prompt_ids, &options).unwrap();
        for (ours, theirs) in ours.iter().zip(&recorded.greedy_ids_with_stop_padded) {
            let mut padded = ours.ids.clone();
            padded.resize(options.max_new_tokens, options.pad_token);
            assert_eq!(&padded, theirs);
            assert_eq!(
                ours.stopped,
                ours.ids.last() == Some(&recorded.stop_token_id)
            );
        }
    }
}

/// Checks that the log-probabilities of completions equal those of a pass over prompt and
/// completion.
fn check_logps(
    model: &CausalLm,
    prompts: &[Vec<u32>],
    completions: &[Completion],
    temperature: f64,
) {
    for (prompt, completion) in prompts.iter().zip(completions) {
        let row = [prompt.as_slice(), &completion.ids].concat();
        let chosen: Vec<bool> = (0..row.len()).map(|at| at >= prompt.len()).collect();
        let batch = Batch::left_padded(model.config(), &[row], 0).unwrap();
        let selection = TokenSelection::new(&batch, &chosen).unwrap();
        let hidden = model.hidden_states(&batch, ForwardOptions::EVALUATION);
        let pass = ForwardOptions::EVALUATION;
        let again = model.token_logprobs(hidden, &selection, temperature, Entropy::Skipped, pass);
        close(
            "log-probabilities",
            &completion.logps,
            &numbers(again.logps),
            LOGITS,
        );
    }
}

#[test]
fn sampling_distributions_match_transformers() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some((model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        let drawn = recorded.sampling.unwrap();
        let context = &drawn.context_ids;
        let batch = Batch::left_padded(model.config(), &[context], 0).unwrap();
        let logits = numbers(model.forward(&batch, ForwardOptions::EVALUATION));
        let last = &logits[logits.len() - model.config().vocab_size..];
        for case in &drawn.cases {
            let sampling = case.params.sampling();
            let ours = sampling.distribution(last, context.iter().copied());
            let ids: Vec<u32> = ours.iter().map(|(id, _)| *id).collect();
            assert_eq!((ids.len(), &ids), (case.kept, &case.ids));
            let shares: Vec<f32> = ours.iter().map(|(_, share)| *share as f32).collect();
            close("shares", &shares, &case.probs, 1e-5);
            for sampler in [Sampler::Host, Sampler::Device] {
                let generator = Generator::new(&model).with_sampler(sampler);
                assert_sample_frequencies(&generator, &defaults, context, sampling, &ours);
            }
        }
    }
}

/// Samples one token many times, and checks that each token occurs as often as expected.
fn assert_sample_frequencies(
    generator: &Generator<'_>,
    defaults: &GenerationDefaults,
    context: &[u32],
    sampling: Sampling,
    expected: &[(u32, f64)],
) {
    let draws = 1500;
    let options = GenerateOptions {
        sampling,
        ..GenerateOptions::new(1, defaults, 7)
    };
    let prompts = vec![context; draws];
    let completions = generator.generate(&prompts, &options).unwrap();
    let mut counts: BTreeMap<u32, f64> = BTreeMap::new();
    for completion in &completions {
        *counts.entry(completion.ids[0]).or_default() += 1.0;
    }
    let all = draws as f64;
    for (id, share) in expected {
        let count = counts.remove(id).unwrap_or(0.0);
        let spread = (all * share * (1.0 - share)).sqrt();
        // Six standard deviations, with a margin for distributions that are not normal.
        assert!(
            (count - all * share).abs() < 6.0 * spread + 4.0,
            "{id}: {count} of {share}"
        );
    }
    assert!(counts.is_empty(), "drawn, but not allowed: {counts:?}");
}

#[test]
fn samples_depend_only_on_seed_and_row() {
    for (oracle, variant) in every_variant() {
        let Some((mut model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        if let Some(adapter) = oracle.adapter(&format!("adapter_{variant}")) {
            Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
        }
        let options = GenerateOptions {
            sampling: Sampling {
                temperature: 0.9,
                ..Sampling::default()
            },
            stop_tokens: vec![recorded.stop_token_id],
            ..GenerateOptions::new(12, &defaults, 3)
        };
        let host = Generator::new(&model).with_sampler(Sampler::Host);
        let all = host.generate(&recorded.prompt_ids, &options).unwrap();
        check_logps(&model, &recorded.prompt_ids, &all, 0.9);
        let again = host.generate(&recorded.prompt_ids, &options).unwrap();
        assert_eq!(all, again);
        let fewer = host.generate(&recorded.prompt_ids[..2], &options).unwrap();
        for (all, fewer) in all.iter().zip(&fewer) {
            assert_eq!(all.ids, fewer.ids, "other rows change nothing");
        }
        // Equal prompts are read once, but sampled independently.
        let copies = vec![recorded.prompt_ids[1].clone(); 3];
        let same = host.generate(&copies, &options).unwrap();
        assert_eq!(same[1].ids, all[1].ids);
        assert_ne!(same[0].ids, same[1].ids);
        let other = GenerateOptions { seed: 4, ..options };
        assert_ne!(host.generate(&recorded.prompt_ids, &other).unwrap(), all);
    }
}

/// The tokens with which all prompts begin are read once; completions are those of each prompt alone.
#[test]
fn prompts_with_a_common_beginning_are_completed_as_alone() {
    for (oracle, variant) in every_variant() {
        let Some((model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        let longest = recorded
            .prompt_ids
            .iter()
            .max_by_key(|ids| ids.len())
            .unwrap();
        let beginning: Vec<u32> = longest.iter().copied().cycle().take(24).collect();
        let after = |rest: &[u32]| [&beginning, rest].concat();
        let mut prompts: Vec<Vec<u32>> = recorded.prompt_ids.iter().map(|ids| after(ids)).collect();
        // One that is the beginning itself, one of a token more, and one twice.
        prompts.extend([beginning.clone(), after(&longest[..1]), prompts[0].clone()]);
        let options = GenerateOptions {
            greedy: true,
            stop_tokens: vec![recorded.stop_token_id],
            ..GenerateOptions::new(6, &defaults, 3)
        };
        let generator = Generator::new(&model).with_sampler(Sampler::Host);
        let together = generator.generate(&prompts, &options).unwrap();
        for (prompt, together) in prompts.iter().zip(&together) {
            let alone = generator.generate(&[prompt], &options).unwrap();
            assert_eq!(together.ids, alone[0].ids);
            close("log-probabilities", &together.logps, &alone[0].logps, 1e-4);
        }
        check_logps(&model, &prompts, &together, 1.0);
    }
}

/// Returns more rows than are generated together, of many lengths, with equal ones beside each other. A
/// device that is not the processor gets fewer: a software driver would take minutes.
fn many_rows(recorded: &Recorded) -> Vec<Vec<u32>> {
    let count = if device() == Device::flex() { 600 } else { 40 };
    let prompts = recorded.prompt_ids.iter().cycle().enumerate();
    let cut = |(row, prompt): (usize, &Vec<u32>)| prompt[row / 7 % prompt.len()..].to_vec();
    prompts.map(cut).take(count).collect()
}

/// Returns a token that follows the first in some completions, and is in no place of others.
fn token_of_some(completions: &[Completion]) -> u32 {
    let in_some = |id: &u32| !completions.iter().all(|row| row.ids.contains(id));
    let mut later = completions.iter().flat_map(|row| &row.ids[1..]);
    *later.find(|id| in_some(id)).unwrap()
}

#[test]
fn device_sampler_decodes_greedily_like_host() {
    for (oracle, variant) in every_variant() {
        let Some((model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        let mut options = GenerateOptions {
            greedy: true,
            stop_tokens: Vec::new(),
            ..GenerateOptions::new(21, &defaults, 0)
        };
        let rows = many_rows(&recorded);
        let generate = |sampler, options: &GenerateOptions| {
            let generator = Generator::new(&model).with_sampler(sampler);
            generator.generate(&rows, options).unwrap()
        };
        options.stop_tokens = vec![token_of_some(&generate(Sampler::Host, &options))];
        let host = generate(Sampler::Host, &options);
        let device = generate(Sampler::Device, &options);
        let stopped = host.iter().filter(|row| row.stopped).count();
        assert!(stopped > 0 && stopped < rows.len(), "{stopped} stopped");
        for (host, device) in host.iter().zip(&device) {
            assert_eq!((&host.ids, host.stopped), (&device.ids, device.stopped));
        }
        check_logps(&model, &rows, &device, 1.0);
    }
}

#[test]
fn recorded_steps_draw_the_tokens_of_single_ones() {
    if device() == Device::flex() {
        return;
    }
    let mut recording = 0;
    for (oracle, variant) in every_variant() {
        let Some((model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        // Beyond the first capacity of the cache, with rows that are replaced.
        let options = GenerateOptions {
            stop_tokens: (0..model.config().vocab_size as u32).step_by(20).collect(),
            ..GenerateOptions::new(70, &defaults, 3)
        };
        let rows = many_rows(&recorded);
        let rows = &rows[..rows.len().min(40)];
        let generate = |records| {
            let generator = Generator::new(&model).with_sampler(Sampler::Device);
            let generator = generator.with_recorded_steps(records);
            let drawn = generator.generate(rows, &options).unwrap();
            (drawn, generator.has_recorded_steps())
        };
        let ((single, never), (recorded, has_recorded)) = (generate(false), generate(true));
        assert!(!never);
        for (single, recorded) in single.iter().zip(&recorded) {
            assert_eq!(single.ids, recorded.ids, "{variant}");
        }
        recording += usize::from(has_recorded);
    }
    // Models with norms of their heads are not recorded.
    assert!(recording > 0);
}

#[test]
fn device_sampler_returns_log_probabilities_of_its_samples() {
    for (oracle, variant) in every_variant() {
        let Some((model, defaults, recorded)) = case(&oracle, &variant) else {
            continue;
        };
        // Every eighth token stops a row, so that rows are replaced all the time and some go on
        // much longer than others.
        let stop_tokens = (0..model.config().vocab_size as u32).step_by(8).collect();
        let options = GenerateOptions {
            sampling: Sampling {
                temperature: 0.9,
                ..Sampling::default()
            },
            stop_tokens,
            ..GenerateOptions::new(40, &defaults, 3)
        };
        let generator = Generator::new(&model).with_sampler(Sampler::Device);
        let rows = many_rows(&recorded);
        let drawn = generator.generate(&rows, &options).unwrap();
        assert_eq!(drawn.len(), rows.len());
        for row in &drawn {
            let (last, before) = row.ids.split_last().unwrap();
            assert_eq!(row.stopped, options.stop_tokens.contains(last));
            assert!(before.iter().all(|id| !options.stop_tokens.contains(id)));
            assert!(row.stopped || row.ids.len() == options.max_new_tokens);
        }
        check_logps(&model, &rows, &drawn, 0.9);
        let distinct: std::collections::BTreeSet<&[u32]> =
            drawn.iter().map(|row| row.ids.as_slice()).collect();
        assert!(distinct.len() > rows.len() / 4, "{}", distinct.len());
        // The same prompts as a later part of the batch have other random numbers.
        let later = GenerateOptions {
            first_row: rows.len() as u64,
            ..options
        };
        let later = generator.generate(&rows, &later).unwrap();
        let repeated = drawn.iter().zip(&later).filter(|(a, b)| a.ids == b.ids);
        assert!(repeated.count() < rows.len() / 2);
    }
}

#[test]
fn invalid_generate_inputs_are_refused() {
    for (oracle, variant) in every_variant() {
        let Some((model, defaults, _)) = case(&oracle, &variant) else {
            continue;
        };
        let room = model.config().max_position_embeddings - 8;
        let prompts = [vec![1; room + 1], vec![1; 3], vec![1; room + 4]];
        let error = model.generate(&prompts, &GenerateOptions::new(8, &defaults, 0));
        let message = error.as_ref().unwrap_err().to_string();
        let longest = format!("{}, in row 2", room + 4);
        assert!(
            message.contains("2 of 3") && message.contains(&longest),
            "{message}"
        );
        let Err(LmError::PromptTooLong {
            count,
            prompts,
            longest,
            row,
            limit,
        }) = error
        else {
            panic!("{error:?}");
        };
        assert_eq!(
            (count, prompts, longest, row, limit),
            (2, 3, room + 4, 2, room)
        );
        let none: [Vec<u32>; 1] = [Vec::new()];
        let error = model.generate(&none, &GenerateOptions::new(8, &defaults, 0));
        assert!(matches!(error, Err(LmError::Length { .. })));
        let unknown = [vec![u32::MAX]];
        let error = model.generate(&unknown, &GenerateOptions::new(8, &defaults, 0));
        assert!(matches!(
            error,
            Err(LmError::Token {
                token: u32::MAX,
                ..
            })
        ));
        let mut options = GenerateOptions::new(8, &defaults, 0);
        options.sampling.temperature = 0.0;
        let error = model.generate(&[vec![1]], &options).unwrap_err();
        assert!(error.to_string().contains("temperature"), "{error}");
    }
}
