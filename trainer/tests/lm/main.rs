//! Compares the language models with values recorded from transformers and PEFT
//! (`testdata/oracle/README.md`). `SENTINEL_TESTDATA` names another folder of recorded data,
//! which may hold other shapes and fewer files.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

mod adapter;
mod adapter_forms;
mod adapter_tokenizer;
mod bf16;
mod bf16_figures;
mod chat_template_kwargs;
#[path = "../common/mod.rs"]
mod common;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device_decode;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device_gradients;
#[cfg(any(feature = "cuda", feature = "wgpu"))]
mod device_kernels;
mod distributed;
mod evaluation;
mod files;
mod foreign;
mod forward;
mod generation;
mod gradients;
mod grpo;
mod init;
mod inputs;
mod logprobs;
mod lookahead;
mod options;
mod oracle;
mod output_dir;
mod packing;
mod peft;
mod pretrained;
mod provenance;
mod ranks;
mod record;
mod rewind;
mod rollout_runs;
mod rollouts;
mod run_errors;
mod runs;
mod segments;
mod sft;
mod source;
mod stop_tokens;
mod text;
mod tokenizer_files;
