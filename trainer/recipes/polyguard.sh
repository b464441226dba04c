#!/bin/sh
# Trains PolyGuard's compact policy: expert iteration from fresh weights, then GRPO. It is `policy` in the folder.
#
# 6 minutes of one core. Usage: sh trainer/recipes/polyguard.sh [FOLDER] [SEED]
set -eu
. "$(dirname "$0")/steps.sh"
out=${1:-outputs/recipes/polyguard}
seed=${2:-1}
begin "$out" "seed $seed"

run improve --world polyguard --seed "$seed" --output-dir "$out/improved"
run train --world polyguard --init "$out/improved" --learning-rate 0.0005 --seed "$seed" --output-dir "$out/policy"
