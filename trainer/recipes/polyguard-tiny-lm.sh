#!/bin/sh
# Trains a tiny language model in PolyGuard by four runs of SFT: two on demonstrations of `rules_only`, one on those
# of the trained compact policy, and one on rows of which three of four have replacement names for their medicines. It
# is `policy` in the folder.
#
# 166 minutes of one core. Usage, in the root of the repository, where the compact policy is:
# sh trainer/recipes/polyguard-tiny-lm.sh [FOLDER] [SEED]
. "$(dirname "$0")/steps.sh"
# Sizes of the published run.
rules_seeds=${RULES_SEEDS:-100000..101100}
compact_seeds=${COMPACT_SEEDS:-110000..112000}
renamed_seeds=${RENAMED_SEEDS:-112000..113500}
first=${FIRST_ROWS:-60000}
second=${SECOND_ROWS:-50000}
third=${THIRD_ROWS:-100000}
fourth=${FOURTH_ROWS:-40000}
begin "corpora $rules_seeds $compact_seeds $renamed_seeds, rows $first $second $third $fourth"

# A corpus in random order: name, policy, seeds, seed of the order, more options.
corpus() {
  name=$1 policy=$2 seeds=$3 order=$4
  shift 4
  create lm corpus --world polyguard --task all --policy "$policy" --rules hardened --prompt detailed \
    --seeds "$seeds" --random-action-prob 0.1 --force "$@" --out "$out/$name.jsonl"
  shuffle "$order" "$out/$name.jsonl" "$out/$name-shuffled.jsonl"
}
# A run of SFT: model, rows, learning rate, folder, more options.
sft() {
  model=$1 rows=$2 rate=$3 folder=$4
  shift 4
  run lm sft --model "$out/$model" --full --data "$out/$rows.jsonl" --learning-rate "$rate" --warmup-steps 50 \
    --per-device-train-batch-size 8 --no-gradient-checkpointing "$@" --output-dir "$out/$folder"
}

corpus rules rules_only "$rules_seeds" 1
corpus compact trained "$compact_seeds" 1
corpus renamed trained "$renamed_seeds" "$seed" --rename-prob 0.75
select_lines 1 "$first" "$out/rules-shuffled.jsonl" "$out/first.jsonl"
select_lines $((first + 1)) "$second" "$out/rules-shuffled.jsonl" "$out/second.jsonl"
select_lines 1 "$third" "$out/compact-shuffled.jsonl" "$out/third.jsonl"
select_lines 1 "$fourth" "$out/renamed-shuffled.jsonl" "$out/fourth.jsonl"
create lm init --preset tiny --data "$out/first.jsonl" --overwrite-output-dir --output-dir "$out/new"
sft new first 1e-3 sft-1
sft sft-1 second 1e-3 sft-2
sft sft-2 third 1e-3 sft-3
sft sft-3 fourth 5e-4 policy --seed "$seed"
