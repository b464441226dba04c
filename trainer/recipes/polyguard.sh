#!/bin/sh
# Trains PolyGuard's compact policy: expert iteration from fresh weights, then GRPO. It is `policy` in the folder.
#
# 6 minutes of one core. Usage: sh trainer/recipes/polyguard.sh [FOLDER] [SEED]
. "$(dirname "$0")/steps.sh"
begin

run improve --world polyguard --seed "$seed" --output-dir "$out/improved"
run train --world polyguard --init "$out/improved" --max-steps 400 --learning-rate 0.0005 --entropy-coef 0.01 \
  --seed "$seed" --output-dir "$out/policy"
