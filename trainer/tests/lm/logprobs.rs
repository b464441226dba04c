//! Log-probabilities and entropies of completions, for the policy and the reference.

use sentinel_lm::{
    BaseCheck, Batch, CausalLm, Entropy, ForwardOptions, Lora, TokenSelection, TrainedPart,
};
use serde_json::Value;

use crate::oracle::{LOGITS, Recorded, close, device, numbers, oracle};

/// Joins two tables row by row.
fn joined<T: Copy>(left: &[T], right: &[T], rows: usize) -> Vec<T> {
    let left = left.chunks(left.len() / rows);
    let rows = left.zip(right.chunks(right.len() / rows));
    rows.flat_map(|(left, right)| [left, right].concat())
        .collect()
}

#[test]
fn policy_and_reference_logprobs_match_trl() {
    let oracle = oracle();
    for variant in oracle.variants() {
        let Some(file) = oracle.tensors(&format!("grpo_{variant}.safetensors")) else {
            continue;
        };
        let Some(run) = oracle.json::<Value>(&format!("grpo_{variant}.json")) else {
            continue;
        };
        let temperature = run["config"]["temperature"].as_f64().unwrap();
        let adapter = oracle.adapter(&format!("adapter_{variant}"));
        let (Some(adapter), Some(folder)) = (adapter, oracle.model(&variant)) else {
            continue;
        };
        let mut model = CausalLm::load(&folder, &device()).unwrap();
        Lora::load(&mut model, &adapter, BaseCheck::Weights).unwrap();
        model.set_trained_part(TrainedPart::Adapter);

        let rows = file["prompt_ids"].shape[0];
        let both = |a: &Recorded, b: &Recorded| joined(&a.flags(), &b.flags(), rows);
        let ids = joined(
            &file["prompt_ids"].ids(),
            &file["completion_ids"].ids(),
            rows,
        );
        let mask = both(&file["prompt_mask"], &file["completion_mask"]);
        let nothing = vec![false; file["prompt_mask"].whole.len()];
        let chosen = joined(&nothing, &file["completion_mask"].flags(), rows);
        let tokens = ids.len() / rows;
        let batch = Batch::new(model.config(), ids, mask, tokens).unwrap();
        let selection = TokenSelection::new(&batch, &chosen).unwrap();

        let counted = |name: &str| -> Vec<f32> {
            let values = file[name]
                .values
                .iter()
                .zip(file["completion_mask"].flags());
            values
                .filter(|(_, on)| *on)
                .map(|(value, _)| *value)
                .collect()
        };
        for (pass, name) in [
            (ForwardOptions::training(0), "logps"),
            (ForwardOptions::EVALUATION, "logps"),
            (ForwardOptions::REFERENCE, "ref_per_token_logps"),
        ] {
            let hidden = model.hidden_states(&batch, pass);
            let found = model.token_logprobs(hidden, &selection, temperature, Entropy::Value, pass);
            close(name, &numbers(found.logps), &counted(name), LOGITS);
            if pass.adapter {
                let entropies = numbers(found.entropies.unwrap());
                close("entropies", &entropies, &counted("entropies"), LOGITS);
            }
        }
    }
}
