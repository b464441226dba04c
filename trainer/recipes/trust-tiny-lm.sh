#!/bin/sh
# Trains a tiny language model in the trust world: SFT on demonstrations of `bayes`, then GRPO with look-ahead. It is
# `policy` in the folder.
#
# 65 minutes of one core. Usage, in the root of the repository, where the compact policy of GRPO's continuations is:
# sh trainer/recipes/trust-tiny-lm.sh [FOLDER] [SEED]
. "$(dirname "$0")/steps.sh"
# Sizes of the published run.
corpus_seeds=${CORPUS_SEEDS:-100000..102200}
rows=${ROWS:-100000}
updates=${UPDATES:-300}
begin "corpus $corpus_seeds, rows $rows, updates $updates"

create lm corpus --world trust --task all --policy bayes --seeds "$corpus_seeds" --random-action-prob 0.1 \
  --prompt detailed --force --out "$out/corpus.jsonl"
shuffle 0 "$out/corpus.jsonl" "$out/shuffled.jsonl"
select_lines 1 "$rows" "$out/shuffled.jsonl" "$out/sft.jsonl"
create lm init --preset tiny --data "$out/corpus.jsonl" --overwrite-output-dir --output-dir "$out/new"
run lm sft --model "$out/new" --full --data "$out/sft.jsonl" --learning-rate 1e-3 --warmup-steps 50 \
  --per-device-train-batch-size 8 --no-gradient-checkpointing --output-dir "$out/sft"
run lm grpo --model "$out/sft" --full --world trust --task all --prompt detailed --seed "$seed" \
  --seeds 210000..213000 --credit lookahead --continuation-policy trained --continuation-model replays/grpo \
  --lookahead-rollouts 32 --episodes-per-update 8 --groups-per-update 128 --max-steps "$updates" \
  --per-device-train-batch-size 48 --max-completion-length 32 --learning-rate 2e-4 --warmup-steps 10 \
  --no-gradient-checkpointing --output-dir "$out/policy"
