#!/usr/bin/env python3
"""Records logits of `qwen2/model_tied` with scaled rotary frequencies, by transformers.

usage: record_rope.py ORACLE_DIR

Writes ORACLE_DIR/qwen2/rope_tied.json. Needs torch 2.15 and transformers 5.24. The script checks that every scaling but `dynamic`, which
changes nothing below `max_position_embeddings`, changes the logits.
"""

import json
import os
import shutil
import sys
import tempfile

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from transformers import AutoModelForCausalLM

#: Keys of `config.json` in place of those of the model. Both names of the object, and both of the kind, occur.
CASES = {
    "default": {},
    "linear": {"rope_scaling": {"type": "linear", "factor": 2.5}},
    "dynamic": {"rope_scaling": {"type": "dynamic", "factor": 4.0}},
    "yarn as Qwen2.5's model card": {
        "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 128}},
    "yarn with the ratio of two scales": {
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "mscale": 1.0, "mscale_all_dim": 0.5,
                            "beta_fast": 16, "beta_slow": 2, "truncate": False, "original_max_position_embeddings": 64}},
    "yarn with limits that null does not round": {
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 10000.0, "factor": 8.0, "truncate": None,
                            "original_max_position_embeddings": 64}},
    "yarn with an attention factor": {
        "rope_parameters": {"rope_type": "yarn", "rope_theta": 1000000.0, "factor": 2.0, "attention_factor": 1.3}},
}
IDS = [(37 * i * i + 11 * i) % 700 for i in range(300)]
#: Positions whose logits are recorded, and the number of logits of each.
POSITIONS, LOGITS = [1, 40, 299], 48


def logits(model_dir: str, changes: dict) -> list[list[float]]:
    """Returns the first logits at the recorded positions."""
    with tempfile.TemporaryDirectory() as folder:
        for name in ["config.json", "model.safetensors"]:
            shutil.copy(os.path.join(model_dir, name), folder)
        path = os.path.join(folder, "config.json")
        config = json.load(open(path))
        config.pop("rope_parameters")
        config.update({"rope_theta": 1000000.0} if "rope_parameters" not in changes else {}, **changes)
        json.dump(config, open(path, "w"))
        model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()
    with torch.no_grad():
        found = model(torch.tensor([IDS])).logits[0]
    return [[round(x, 6) for x in found[position, :LOGITS].tolist()] for position in POSITIONS]


def main() -> None:
    """Records all cases."""
    oracle = sys.argv[1]
    cases = [{"name": name, "config": changes, "logits": logits(os.path.join(oracle, "qwen2", "model_tied"), changes)}
             for name, changes in CASES.items()]
    plain = cases[0]["logits"]
    for case in cases[1:]:
        most = max(abs(a - b) for row, other in zip(case["logits"], plain) for a, b in zip(row, other))
        print(f"{case['name']}: differs by {most:.4f}")
        assert (most < 1e-5) == (case["name"] == "dynamic")
    with open(os.path.join(oracle, "qwen2", "rope_tied.json"), "w") as file:
        json.dump({"ids": IDS, "positions": POSITIONS, "cases": cases}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
