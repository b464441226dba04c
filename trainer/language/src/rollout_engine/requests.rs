//! The division of a batch of prompts into requests, and the checks of the answers.
//!
//! vLLM samples completion `k` of a prompt with the seed `seed + k`, and every prompt of a request with
//! the same seed. Prompts are therefore sampled in requests of their own, in which equal prompts that
//! follow each other are completions of one prompt; row `i` of a batch always has the seed
//! `options.seed + i`, however the batch is divided. Greedy decoding has no seed, and vLLM refuses
//! several greedy completions of a prompt: there a request holds several prompts.

use std::ops::Range;

use sentinel_lm::{Completion, GenerateOptions};
use sentinel_server::completions::protocol::{
    Choice, CompletionRequest, CompletionResponse, ExtraArgs, Prompts, SamplingParams,
};

/// Largest number of completions of a request.
const MAX_COMPLETIONS: usize = 1024;

/// A request with the rows of the batch that it completes.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RowRequest {
    pub(super) rows: Range<usize>,
    pub(super) request: CompletionRequest,
}

/// Divides a batch into requests for `replicas` servers.
pub(super) fn divide(
    prompts: &[Vec<u32>],
    options: &GenerateOptions,
    model: &str,
    replicas: usize,
) -> Vec<RowRequest> {
    let share = prompts.len().div_ceil(replicas.max(1));
    let most = share.clamp(1, MAX_COMPLETIONS);
    let mut requests = Vec::new();
    let mut start = 0;
    while start < prompts.len() {
        let is_same = |prompt: &&Vec<u32>| options.greedy || **prompt == prompts[start];
        let count = prompts[start..]
            .iter()
            .take(most)
            .take_while(is_same)
            .count();
        let rows = start..start + count;
        start += count;
        requests.push(RowRequest {
            request: request(&prompts[rows.clone()], rows.start, options, model),
            rows,
        });
    }
    requests
}

/// Creates a request with every sampling field set, because unset ones come from the model's
/// `generation_config.json` on the server.
fn request(
    prompts: &[Vec<u32>],
    first_row: usize,
    options: &GenerateOptions,
    model: &str,
) -> CompletionRequest {
    let sampling = &options.sampling;
    let (prompt, n) = match prompts.first() {
        Some(first) if !options.greedy => (Prompts::Ids(first.clone()), prompts.len()),
        _ => (Prompts::IdLists(prompts.to_vec()), 1),
    };
    let temperature = if options.greedy {
        0.0
    } else {
        sampling.temperature
    };
    CompletionRequest {
        model: model.to_owned(),
        prompt,
        max_tokens: options.max_new_tokens,
        sampling: SamplingParams {
            n,
            temperature,
            top_p: if options.greedy { 1.0 } else { sampling.top_p },
            top_k: if options.greedy {
                0
            } else {
                i64::try_from(sampling.top_k).unwrap_or(0)
            },
            min_p: if options.greedy { 0.0 } else { sampling.min_p },
            repetition_penalty: sampling.repetition_penalty,
            seed: Some(options.seed.wrapping_add(first_row as u64).cast_signed()),
            stop_token_ids: options.stop_tokens.clone(),
        },
        logprobs: Some(0),
        return_token_ids: true,
        vllm_xargs: ExtraArgs {
            sentinel_first_row: u32::try_from(first_row).unwrap_or(0),
        },
    }
}

/// Returns the completions of an answer, in the order of the rows.
///
/// # Errors
/// Returns the reason why the answer cannot be trained on: another model, another prompt than was sent,
/// a token without a finite log-probability, or missing completions.
pub(super) fn completions(
    asked: &RowRequest,
    prompts: &[Vec<u32>],
    vocabulary: usize,
    answer: CompletionResponse,
) -> Result<Vec<Completion>, String> {
    if answer.model != asked.request.model {
        return Err(format!(
            "model {} was asked for, and {} answered",
            asked.request.model, answer.model
        ));
    }
    let count = asked.rows.len();
    let mut found: Vec<Option<Completion>> = vec![None; count];
    for choice in answer.choices {
        let index = choice.index;
        let place = found.get_mut(index).filter(|place| place.is_none());
        let place = place.ok_or_else(|| {
            format!("completion {index} of {count} is there twice or beyond the end")
        })?;
        let prompt = &prompts[asked.rows.start + index];
        let read = completion(&asked.request, prompt, vocabulary, choice);
        *place = Some(read.map_err(|reason| format!("completion {index}: {reason}"))?);
    }
    let missing = found.iter().position(Option::is_none);
    match missing {
        Some(index) => Err(format!("completion {index} of {count} is missing")),
        None => Ok(found.into_iter().flatten().collect()),
    }
}

fn completion(
    request: &CompletionRequest,
    prompt: &[u32],
    vocabulary: usize,
    choice: Choice,
) -> Result<Completion, String> {
    let read = choice
        .prompt_token_ids
        .ok_or("there is no prompt_token_ids")?;
    if read != prompt {
        return Err(format!(
            "prompt_token_ids ({} tokens) are not the tokens that were sent ({})",
            read.len(),
            prompt.len()
        ));
    }
    let ids = choice.token_ids.ok_or("there is no token_ids")?;
    if ids.is_empty() || ids.len() > request.max_tokens {
        return Err(format!(
            "it has {} tokens, not 1 to {}",
            ids.len(),
            request.max_tokens
        ));
    }
    if let Some(id) = ids.iter().find(|id| **id as usize >= vocabulary) {
        return Err(format!(
            "token {id} is outside of the vocabulary of {vocabulary} tokens"
        ));
    }
    let logps = choice
        .logprobs
        .ok_or("there is no logprobs")?
        .token_logprobs;
    if logps.len() != ids.len() {
        return Err(format!(
            "{} tokens have {} log-probabilities",
            ids.len(),
            logps.len()
        ));
    }
    let finite = |(at, logp): (usize, Option<f64>)| {
        let logp = logp.map(|logp| logp as f32).filter(|logp| logp.is_finite());
        logp.ok_or_else(|| format!("the log-probability of token {at} is not finite"))
    };
    let logps = logps
        .into_iter()
        .enumerate()
        .map(finite)
        .collect::<Result<_, _>>()?;
    let last = ids.last().copied().unwrap_or_default();
    let stopped = match choice.finish_reason.as_deref() {
        Some("stop") if request.sampling.stop_token_ids.contains(&last) => true,
        Some("stop") => {
            return Err(format!(
                "it ended with token {last}, which is not one of stop_token_ids"
            ));
        }
        Some("length") => false,
        other => {
            return Err(format!(
                "its finish_reason is {other:?}, not stop or length"
            ));
        }
    };
    Ok(Completion {
        ids,
        logps,
        stopped,
    })
}
