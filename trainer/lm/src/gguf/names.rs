//! The names of tensors in GGUF files.

use crate::weights::{EMBEDDING, FINAL_NORM, HEAD};

/// Name of the output head, which is absent if tied to the embedding.
pub(super) const OUTPUT: &str = "output.weight";
/// Name of the factors by which the rotary frequencies of Llama 3.1 and 3.2 are divided.
pub(super) const ROPE_FACTORS: &str = "rope_freqs.weight";

/// The parts of a block: in a checkpoint, and in a GGUF file.
const PARTS: [(&str, &str); 11] = [
    ("input_layernorm", "attn_norm"),
    ("self_attn.q_proj", "attn_q"),
    ("self_attn.k_proj", "attn_k"),
    ("self_attn.v_proj", "attn_v"),
    ("self_attn.o_proj", "attn_output"),
    ("self_attn.q_norm", "attn_q_norm"),
    ("self_attn.k_norm", "attn_k_norm"),
    ("post_attention_layernorm", "ffn_norm"),
    ("mlp.gate_proj", "ffn_gate"),
    ("mlp.up_proj", "ffn_up"),
    ("mlp.down_proj", "ffn_down"),
];

/// Returns the name in a GGUF file of a tensor of a checkpoint; `None` if it has none.
pub(super) fn gguf_name(name: &str) -> Option<String> {
    match name {
        EMBEDDING => return Some("token_embd.weight".to_owned()),
        FINAL_NORM => return Some("output_norm.weight".to_owned()),
        HEAD => return Some(OUTPUT.to_owned()),
        _ => {}
    }
    let (layer, rest) = name.strip_prefix("model.layers.")?.split_once('.')?;
    let (part, end) = rest.rsplit_once('.')?;
    let (_, own) = PARTS.iter().find(|(known, _)| *known == part)?;
    Some(format!("blk.{layer}.{own}.{end}"))
}
