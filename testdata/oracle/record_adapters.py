#!/usr/bin/env python3
"""Records logits of adapters of every form that PEFT writes, on `qwen3/model_tied` and `qwen2/model_untied`.

usage: record_adapters.py ORACLE_DIR

Writes ORACLE_DIR/peft/FORM/ (an adapter, with f16 weights) and ORACLE_DIR/peft/logits.json. Needs torch 2.15, transformers 5.24 and
peft 0.21. The script checks that every adapter changes the logits, and those of the forms that differ from `plain`
differ from its logits as well.
"""

import json
import os
import shutil
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import LoraConfig, PeftModel, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM

#: Options of each form, and the model if it is not `qwen3/model_tied`.
FORMS = {
    "plain": {},
    "rank_pattern": {"rank_pattern": {"layers.0.self_attn.v_proj": 3, "v_proj": 1}},
    "alpha_pattern": {"alpha_pattern": {"v_proj": 16, "^model.layers.1.self_attn.q_proj": 1.5}, "use_rslora": True,
                      "rank_pattern": {r"layers\.1\..*": 4}},
    "layers_to_transform": {"layers_to_transform": [1]},
    "one_layer": {"layers_to_transform": 0, "layers_pattern": "layers"},
    "exclude_modules": {"target_modules": ["q_proj", "v_proj", "down_proj"], "exclude_modules": ["down_proj"]},
    "exclude_pattern": {"target_modules": ["q_proj", "v_proj"], "exclude_modules": r".*\.1\.self_attn\.v_proj"},
    "expression": {"target_modules": r"^(?!.*layers\.0).*\.(q_proj|up_proj)"},
    "suffixes": {"target_modules": ["self_attn.q_proj", "model.layers.1.mlp.down_proj"]},
    "all_linear": {"target_modules": "all-linear", "fan_in_fan_out": True},
    "head": {"target_modules": ["q_proj", "lm_head"]},
    "embedding": {"target_modules": ["q_proj", "embed_tokens"]},
    "saved_head": {"modules_to_save": ["lm_head"]},
    "saved_embedding": {"modules_to_save": ["embed_tokens"]},
    "saved_norms": {"modules_to_save": ["norm", "post_attention_layernorm"]},
    "saved_layer": {"target_modules": "all-linear", "modules_to_save": ["o_proj"]},
    "biases": {"bias": "all", "model": "qwen2/model_untied"},
    "head_untied": {"target_modules": ["lm_head"], "model": "qwen2/model_untied"},
    "saved_beside_original": {"target_modules": ["q_proj", "embed_tokens"], "modules_to_save": ["lm_head"]},
    "orthogonal": {"init_lora_weights": "orthogonal"},
    "saved_mlp": {"modules_to_save": ["layers.1.mlp"]},
    "saved_attention": {"target_modules": ["up_proj", "v_proj"], "modules_to_save": ["self_attn"], "model": "qwen2/model_untied"},
    "saved_model": {"target_modules": ["lm_head"], "modules_to_save": ["model"]},
    "saved_tied": {"modules_to_save": ["lm_head"], "ensure_weight_tying": True},
    "embedding_tied": {"target_modules": ["q_proj", "embed_tokens"], "ensure_weight_tying": True,
                       "rank_pattern": {"embed_tokens": 3}, "alpha_pattern": {"lm_head": 9}},
    "expression_tied": {"target_modules": r"(.*\.)?(q_proj|embed_tokens)", "ensure_weight_tying": True},
    "embedding_not_tied": {"target_modules": r".*\.(q_proj|embed_tokens)", "ensure_weight_tying": True},
    "full_name": {"target_modules": ["model.layers.0.self_attn.q_proj", "v_proj"], "layers_to_transform": [1]},
    "empty_pattern": {"layers_to_transform": [1], "layers_pattern": ""},
    "end_of_text": {"target_modules": r".*(q|k)_proj\Z"},
}
IDS = [1] + [(37 * i * i + 11 * i) % 90 for i in range(1, 24)]


def load(path: str) -> torch.nn.Module:
    """Loads a base model."""
    return AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32, attn_implementation="eager").eval()


def last_logits(model: torch.nn.Module) -> torch.Tensor:
    """Returns the logits after the last token."""
    with torch.no_grad():
        return model(torch.tensor([IDS])).logits[0, -1]


def record(oracle: str, form: str, options: dict) -> dict:
    """Writes one adapter, and returns its logits."""
    options = dict(options)
    base = options.pop("model", "qwen3/model_tied")
    options.setdefault("target_modules", ["q_proj", "v_proj"])
    options = {"r": 2, "lora_alpha": 4, "task_type": "CAUSAL_LM", **options}
    path, folder = os.path.join(oracle, base), os.path.join(oracle, "peft", form)
    torch.manual_seed(len(form))
    model = get_peft_model(load(path), LoraConfig(**options))
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.requires_grad:
                parameter.add_(torch.randn_like(parameter) * 0.2)
    shutil.rmtree(folder, ignore_errors=True)
    model.save_pretrained(folder)
    os.remove(os.path.join(folder, "README.md"))
    weights = os.path.join(folder, "adapter_model.safetensors")
    save_file({name: tensor.half() for name, tensor in load_file(weights).items()}, weights, {"format": "pt"})
    config = os.path.join(folder, "adapter_config.json")
    described = json.load(open(config))
    described["base_model_name_or_path"] = base
    json.dump(described, open(config, "w"), indent=1)
    read = PeftModel.from_pretrained(load(path), folder).eval()
    logits = last_logits(read)
    apart = (logits - last_logits(load(path))).abs().max().item()
    print(f"{form}: {apart:.3f} from the base model")
    assert apart > 0.01
    return {"form": form, "model": base, "logits": [round(x, 5) for x in logits.tolist()]}


def main() -> None:
    """Records all forms."""
    oracle = sys.argv[1]
    forms = [record(oracle, form, options) for form, options in FORMS.items()]
    assert len({str(form["logits"]) for form in forms}) == len(forms)
    with open(os.path.join(oracle, "peft", "logits.json"), "w") as file:
        json.dump({"ids": IDS, "forms": forms}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
