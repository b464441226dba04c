#!/bin/sh
# Trains a published language model, SmolLM2-135M-Instruct, in the trust world: SFT of a LoRA adapter on demonstrations of
# `bayes`, then GRPO of the same adapter with look-ahead. The model is `base/model` in the folder, the adapter `policy`.
#
# Two hours of two cores, 3 GB of disk and 12 GB of memory. Usage, in the root of the repository, where the compact policy
# of GRPO's continuations is: sh trainer/recipes/smollm2-trust.sh [FOLDER] [SEED]
#
# It needs Python with pip, or the interpreter that PYTHON names.
. "$(dirname "$0")/steps.sh"
# Sizes of the published run.
corpus_seeds=${CORPUS_SEEDS:-100000..100200}
rows=${ROWS:-5000}
updates=${UPDATES:-24}
begin "corpus $corpus_seeds, rows $rows, updates $updates"

SENTINEL=$sentinel sh "$(dirname "$0")/smollm2.sh" "$out/base"
create lm corpus --world trust --task all --policy bayes --seeds "$corpus_seeds" --random-action-prob 0.1 \
  --prompt compact --force --out "$out/corpus.jsonl"
shuffle 0 "$out/corpus.jsonl" "$out/shuffled.jsonl"
select_lines 1 "$rows" "$out/shuffled.jsonl" "$out/sft.jsonl"
run lm sft --model "$out/base/model" --lora-r 8 --data "$out/sft.jsonl" --seed "$seed" --learning-rate 2e-3 \
  --warmup-steps 20 --per-device-train-batch-size 4 --no-gradient-checkpointing --output-dir "$out/sft"
run lm grpo --model "$out/base/model" --adapter "$out/sft" --world trust --task all --prompt compact --seed "$seed" \
  --seeds 210000..213000 --credit lookahead --continuation-policy trained --continuation-model replays/grpo \
  --lookahead-rollouts 32 --episodes-per-update 8 --groups-per-update 32 --max-steps "$updates" \
  --per-device-train-batch-size 12 --max-length 320 --max-completion-length 40 --learning-rate 1e-3 --warmup-steps 2 \
  --no-gradient-checkpointing --save-steps 4 --output-dir "$out/policy"
