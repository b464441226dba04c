#!/bin/bash
# Measures a GPU in below ten minutes: its limits, the kernels of a decode step one by one, our generation and
# training, and PyTorch beside it. A part that fails or takes too long does not stop the next.
#
#   cargo bench -p sentinel-trainer --features cuda --no-run
#   cargo test --release -p sentinel-trainer --features cuda --test lm --no-run
#   DEVICE=<program "device"> KERNELS=<program "kernels"> TESTS=<program "lm"> bash trainer/benches/gpu_run.sh [part ...]
#
# Figures go to $OUT/log.txt, one JSON object a line, beside a heading for each part.
set -u; export DEVICE=${DEVICE:-} KERNELS=${KERNELS:-} TESTS=${TESTS:-}
OUT=${OUT:-target/gpu}; mkdir -p "$OUT"; export PYTHONUNBUFFERED=1 CUDA_PATH=${CUDA_PATH:-/usr/local/cuda}
exec > >(tee "$OUT/log.txt") 2>&1
chosen=" $* "
part() { # name, limit in seconds, command
  local name=$1 limit=$2 begun=$SECONDS; shift 2
  if [[ $chosen != "  " && $chosen != *" $name "* ]]; then return; fi
  echo "== $name"; timeout -k 3 "$limit" "$@"
  echo "== $name ended with $? after $((SECONDS - begun)) of $limit s; $SECONDS s in all"
}
torch="python3 trainer/benches/device_torch.py"
part card       10 nvidia-smi --query-gpu=name,driver_version,clocks.sm,memory.used --format=csv
part tests      90 env SENTINEL_TEST_DEVICE=cuda "$TESTS" --test-threads 1 device_kernels bf16::bf16_logits bf16::bf16_generation generation:: logprobs::
part generate   80 "$DEVICE" --device cuda --precision f32,bf16 --rows 1,64,256 --samples 0 --repeat 2
part unrecorded 40 "$DEVICE" --device cuda --precision f32,bf16 --rows 1,64 --samples 0 --repeat 2 --no-recording
part step       70 "$DEVICE" --device cuda --precision f32,bf16 --rows 0 --samples 16 --repeat 2
part kernels   100 "$KERNELS" --part graph,reductions,products,training
part torch      80 $torch --precision bf16 --rows 1,64,256 --repeat 2
part static     70 $torch --precision bf16 --rows 64 --static --samples 0 --repeat 2
part ceilings   45 python3 trainer/benches/ceilings.py
