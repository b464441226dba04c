#!/usr/bin/env python3
"""Records tiny random models of Qwen3 and Llama 3 with transformers and PEFT: logits, gradients, AdamW steps, greedy
decoding, adapters and chat renderings.

usage: record_families.py OUTPUT_DIR TEMPLATES_DIR

OUTPUT_DIR receives the folders `qwen3` and `llama`; TEMPLATES_DIR is `trl/chat_templates` of TRL 1.16.0. Needs torch 2.15,
transformers 5.23, peft 0.21. The script checks what it records: every parameter and every option of the configuration
changes the logits, and greedy decoding is never close to a tie.
"""

import datetime
import json
import math
import os
import shutil
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import peft
import torch
import transformers
from peft import LoraConfig, PeftModel, get_peft_model
from peft.utils import get_peft_model_state_dict
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, LlamaForCausalLM, Qwen3Config, Qwen3ForCausalLM
from transformers.utils.chat_template_utils import render_jinja_template

VOCABULARY = 96
COMMON = {
    "vocab_size": VOCABULARY,
    "num_hidden_layers": 2,
    "max_position_embeddings": 512,
    "bos_token_id": 90,
    "eos_token_id": 91,
    "attention_dropout": 0.0,
}
# Heads are wider than hidden_size / num_attention_heads wherever the file can say so. In `llama` and `tied`, the
# wavelengths of the six frequencies are 6, 29, 135, 628, 2915 and 13531, so that two are kept (below 256 / 4), one is
# between the limits, and three are divided by the factor (above 256).
VARIANTS = {
    "qwen3": {
        "untied": {"hidden_size": 24, "intermediate_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "head_dim": 8, "rms_norm_eps": 1e-6, "tie_word_embeddings": False,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 1e6}},
        "tied": {"hidden_size": 24, "intermediate_size": 40, "num_attention_heads": 3, "num_key_value_heads": 1,
                 "head_dim": 12, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
                 "rope_parameters": {"rope_type": "default", "rope_theta": 1e4}},
    },
    "llama": {
        "untied": {"hidden_size": 32, "intermediate_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2,
                   "rms_norm_eps": 1e-5, "tie_word_embeddings": False,
                   "rope_parameters": {"rope_type": "default", "rope_theta": 5e5}},
        "tied": {"hidden_size": 24, "intermediate_size": 40, "num_attention_heads": 4, "num_key_value_heads": 2,
                 "head_dim": 12, "rms_norm_eps": 1e-5, "tie_word_embeddings": True,
                 "rope_parameters": {"rope_type": "llama3", "rope_theta": 1e4, "factor": 8.0, "low_freq_factor": 1.0,
                                     "high_freq_factor": 4.0, "original_max_position_embeddings": 256}},
    },
}
CLASSES = {"qwen3": (Qwen3Config, Qwen3ForCausalLM), "llama": (LlamaConfig, LlamaForCausalLM)}
NEW_TOKENS = 24
MARGIN = 1e-3


def new_model(family, options, seed):
    """Returns a model whose parameters all differ from their initial values, norms included."""
    config_class, model_class = CLASSES[family]
    config = config_class(**COMMON, **options)
    config._attn_implementation = "eager"
    torch.manual_seed(seed)
    model = model_class(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.dim() == 1:
                parameter.copy_(1 + 0.4 * torch.randn_like(parameter))
            else:
                deviation = 0.4 if "embed" in name or "lm_head" in name else 1.2 / math.sqrt(parameter.shape[1])
                parameter.copy_(deviation * torch.randn_like(parameter))
    return model


def ids(rows, tokens, seed):
    return torch.randint(0, VOCABULARY, (rows, tokens), generator=torch.Generator().manual_seed(seed))


def logits(model, input_ids, mask=None, positions=None):
    with torch.no_grad():
        return model(input_ids=input_ids, attention_mask=mask, position_ids=positions).logits


def check_parameters_matter(model):
    """Fails if reversing a parameter leaves the logits as they are."""
    batch = ids(2, 40, 5)
    before = logits(model, batch)
    for name, parameter in model.named_parameters():
        kept = parameter.data.clone()
        parameter.data = kept.flip(0)
        apart = (logits(model, batch) - before).abs().max().item()
        parameter.data = kept
        assert apart > 2e-2, (name, apart)


def check_options_matter(model, options, batch):
    """Fails if a rotary option could be ignored."""
    before = logits(model, batch)
    state = model.state_dict()

    def apart(changed):
        config_class, model_class = type(model.config), type(model)
        config = config_class(**COMMON, **{**options, **changed})
        config._attn_implementation = "eager"
        other = model_class(config).eval()
        other.load_state_dict(state)
        return (logits(other, batch) - before).abs().max().item()

    rope = options["rope_parameters"]
    found = {"rope_theta": apart({"rope_parameters": {**rope, "rope_theta": rope["rope_theta"] * 2}})}
    if rope["rope_type"] == "llama3":
        plain = {"rope_type": "default", "rope_theta": rope["rope_theta"]}
        found["rope_type"] = apart({"rope_parameters": plain})
        for key in ("factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"):
            found[key] = apart({"rope_parameters": {**rope, key: rope[key] * 1.25 if key != "original_max_position_embeddings" else 300}})
    print("  apart with another value:", {key: round(value, 4) for key, value in found.items()})
    assert all(value > 1e-2 for value in found.values()), found


def record_forward(model, path):
    file = {}
    file["a.input_ids"] = ids(2, 14, 1)
    with torch.no_grad():
        found = model(input_ids=file["a.input_ids"], output_hidden_states=True)
    for layer, state in enumerate(found.hidden_states):
        file[f"a.hidden.{layer}"] = state
    file["a.logits"] = found.logits
    file["long.input_ids"] = ids(1, 96, 2)
    file["long.logits_last4"] = logits(model, file["long.input_ids"])[:, -4:]
    lengths, tokens = [6, 3, 1, 5], 6
    mask = torch.tensor([[int(at >= tokens - length) for at in range(tokens)] for length in lengths])
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    padded = torch.where(mask == 1, ids(4, tokens, 3), 0)
    scores = logits(model, padded, mask, positions)
    logprobs = scores.log_softmax(-1)[:, :-1].gather(2, padded[:, 1:, None])[..., 0]
    both = (mask[:, 1:] * mask[:, :-1]).bool()
    file["pad.input_ids"], file["pad.attention_mask"], file["pad.position_ids"] = padded, mask, positions
    file["pad.logits"] = scores * mask[..., None]
    file["pad.logprobs_next"] = torch.where(both, logprobs, 0.0)
    save_file({name: value.contiguous() for name, value in file.items()}, path)


def sft_batch():
    """Returns ids, mask and labels of four rows, padded on the right, with labels on the end of each."""
    lengths, starts, tokens = [20, 9, 15, 12], [8, 4, 9, 5], 20
    mask = torch.tensor([[int(at < length) for at in range(tokens)] for length in lengths])
    batch = torch.where(mask == 1, ids(4, tokens, 4), 0)
    labels = torch.where(mask == 1, batch, -100)
    for row, start in enumerate(starts):
        labels[row, :start] = -100
    return batch, mask, labels


def loss_of(model, batch, mask, labels):
    scores = model(input_ids=batch, attention_mask=mask).logits[:, :-1]
    return torch.nn.functional.cross_entropy(scores.reshape(-1, VOCABULARY), labels[:, 1:].reshape(-1), ignore_index=-100)


def with_adapter(model, rank_stabilized, targets, seed):
    config = LoraConfig(r=4, lora_alpha=8, target_modules=targets, use_rslora=rank_stabilized, task_type="CAUSAL_LM")
    adapted = get_peft_model(model, config)
    torch.manual_seed(seed)
    with torch.no_grad():
        for name, parameter in adapted.named_parameters():
            if "lora_B" in name:
                parameter.copy_(0.2 * torch.randn_like(parameter))
    return adapted


def file_key(name):
    return name.replace(".default.", ".")


def record_sft(folder, adapter, base, base_name, path, json_path, grads_path):
    batch, mask, labels = sft_batch()
    file = {"input_ids": batch, "attention_mask": mask, "labels": labels}
    found = {"lr": 1e-2, "betas": [0.9, 0.999], "eps": 1e-8, "weight_decay": 0.01, "max_grad_norm": 1.0, "steps": []}
    model = PeftModel.from_pretrained(base(), adapter, is_trainable=True)
    trained = {name: p for name, p in model.named_parameters() if p.requires_grad}
    optimizer = torch.optim.AdamW(trained.values(), lr=found["lr"], weight_decay=found["weight_decay"])
    with torch.no_grad():
        scores = model(input_ids=batch, attention_mask=mask).logits[:, :-1].log_softmax(-1)
    targets, on = labels[:, 1:].clamp(min=0), labels[:, 1:] != -100
    file["logprobs"] = torch.where(on, scores.gather(2, targets[..., None])[..., 0], 0.0)
    found["mean_token_accuracy"] = (scores.argmax(-1) == targets)[on].double().mean().item()
    found["entropy"] = -(scores.exp() * scores).sum(-1)[on].mean().item()
    for step in range(3):
        optimizer.zero_grad()
        loss = loss_of(model, batch, mask, labels)
        loss.backward()
        if step == 0:
            file.update({f"grad.{file_key(name)}": p.grad.clone() for name, p in trained.items()})
        norm = torch.nn.utils.clip_grad_norm_(trained.values(), found["max_grad_norm"])
        found["steps"].append({"loss": loss.item(), "grad_norm": norm.item()})
        optimizer.step()
        if step == 1:
            file.update({f"after_step2.{file_key(name)}": p.detach().clone() for name, p in trained.items()})
    full = base()
    full.requires_grad_(True)
    loss = loss_of(full, batch, mask, labels)
    loss.backward()
    found["full_loss"] = loss.item()
    grads = {name: p.grad for name, p in full.named_parameters()}
    found["full_grad_norms"] = {name: grad.norm().item() for name, grad in grads.items()}
    save_file({name: value.contiguous() for name, value in file.items()}, path)
    save_file({name: value.contiguous() for name, value in grads.items()}, grads_path)
    with open(json_path, "w") as out:
        json.dump(found, out, indent=1)


def greedy(model, prompt, tokens):
    """Returns greedily decoded tokens, and the smallest distance of the two largest logits on the way."""
    row, margin = list(prompt), math.inf
    for _ in range(tokens):
        last = logits(model, torch.tensor([row]))[0, -1]
        best = last.topk(2)
        margin = min(margin, (best.values[0] - best.values[1]).item())
        row.append(best.indices[0].item())
    return row[len(prompt):], margin


def prompts():
    return [ids(1, length, 20 + length)[0].tolist() for length in (5, 6, 4, 3)]


def greedy_case(model):
    """Returns the case, or None if a decision is close to a tie, rows repeat few tokens, or none serves as a stop token.

    The tests also decode the ends of the prompts, so these are checked too."""
    found, margins = [], []
    for prompt in prompts():
        for start in range(len(prompt)):
            row, margin = greedy(model, prompt[start:], NEW_TOKENS)
            margins.append(margin)
            if start == 0:
                found.append(row)
    varied = sum(len(set(row)) >= 8 for row in found)
    if min(margins) < MARGIN or varied < 2:
        return None
    for stop in found[0][2:12]:
        ends = [row.index(stop) for row in found if stop in row]
        if found[0].index(stop) >= 2 and 0 < len(ends) < len(found):
            return {"prompt_ids": prompts(), "greedy_ids": found, "stop_token_id": stop, "min_margin": min(margins)}
    return None


def record_generation(model, case, pad, path):
    longest = max(len(prompt) for prompt in case["prompt_ids"])
    padded = torch.tensor([[pad] * (longest - len(prompt)) + prompt for prompt in case["prompt_ids"]])
    mask = torch.tensor([[0] * (longest - len(prompt)) + [1] * len(prompt) for prompt in case["prompt_ids"]])

    def generate(stop):
        found = model.generate(padded, attention_mask=mask, max_new_tokens=NEW_TOKENS, do_sample=False, pad_token_id=pad,
                               eos_token_id=stop)
        rows = found[:, longest:].tolist()
        return [row + [pad] * (NEW_TOKENS - len(row)) for row in rows]

    assert generate(-1) == case["greedy_ids"], "generate() differs from one pass for each token"
    case["greedy_ids_with_stop_padded"] = generate(case["stop_token_id"])
    with open(path, "w") as out:
        json.dump(case, out)


def record_variant(root, family, variant, options):
    print(family, variant)
    for seed in range(1000):
        model = new_model(family, options, seed)
        case = greedy_case(model)
        if case is not None:
            break
    print("  seed", seed, "smallest greedy margin", case["min_margin"])
    check_parameters_matter(model)
    check_options_matter(model, options, ids(1, 96, 2))
    pad = COMMON["bos_token_id"]
    model.generation_config.update(eos_token_id=[COMMON["eos_token_id"], pad], pad_token_id=pad, do_sample=True,
                                   temperature=0.7, top_k=20, top_p=0.8)
    folder = f"{root}/model_{variant}"
    model.save_pretrained(folder)
    with open(f"{folder}/config.json") as text:
        config = json.load(text)
    # The keys of transformers 4: no rope_parameters, no layer_types, torch_dtype.
    rope = config.pop("rope_parameters")
    config["rope_theta"] = rope.pop("rope_theta")
    config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
    config["torch_dtype"] = config.pop("dtype")
    config["transformers_version"] = "4.51.0"
    config.pop("layer_types", None)
    if "head_dim" not in options:
        config.pop("head_dim")
    with open(f"{folder}/config.legacy.json", "w") as out:
        json.dump(config, out, indent=2)

    def base():
        return AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval()

    again, found = AutoModelForCausalLM.from_pretrained(folder, output_loading_info=True)
    assert not any(found[kind] for kind in ("missing_keys", "unexpected_keys", "mismatched_keys")), found
    record_forward(base(), f"{root}/forward_{variant}.safetensors")
    record_generation(base(), case, pad, f"{root}/generate_{variant}.json")

    everything = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    adapters = {f"adapter_{variant}": (False, everything)}
    if variant == "untied":
        adapters["adapter_untied_qv_rslora"] = (True, ["q_proj", "v_proj"])
    for name, (rank_stabilized, targets) in adapters.items():
        adapted = with_adapter(base(), rank_stabilized, targets, 7)
        adapted.peft_config["default"].base_model_name_or_path = f"../model_{variant}"
        adapted.save_pretrained(f"{root}/{name}")
        os.remove(f"{root}/{name}/README.md")
        kept = get_peft_model_state_dict(adapted)
        assert all("default" not in key for key in kept)
        batch = ids(2, 14, 1)
        file = {"input_ids": batch, "logits": logits(adapted, batch)}
        assert (file["logits"] - logits(base(), batch)).abs().max() > 0.1
        merged = adapted.merge_and_unload()
        file["merged_logits"] = logits(merged, batch)
        key = "model.layers.0.self_attn.q_proj.weight"
        file[f"merged.{key}"] = merged.state_dict()[key]
        save_file({k: v.contiguous() for k, v in file.items()}, f"{root}/lora_logits_{name}.safetensors")
    record_sft(folder, f"{root}/adapter_{variant}", base, f"model_{variant}", f"{root}/sft_{variant}.safetensors",
               f"{root}/sft_{variant}.json", f"{root}/full_grads_{variant}.safetensors")
    return seed, case["min_margin"]


def record_chat(root, family, templates):
    """Renders conversations with the checkpoints' own templates, as TRL ships them."""
    names = {"qwen3": ["qwen3", "qwen3_instruct_2507", "qwen3_training"],
             "llama": ["llama3", "llama3_1", "llama3_2", "llama3_training"]}[family]
    special = {"bos_token": "<|begin_of_text|>", "eos_token": "<|eot_id|>"} if family == "llama" else {
        "eos_token": "<|im_end|>", "pad_token": "<|endoftext|>"}
    call = {"role": "assistant", "content": "", "tool_calls": [
        {"type": "function", "function": {"name": "book", "arguments": {"room": 3, "nights": [1, 2], "quiet": True}}}]}
    conversations = [
        [{"role": "user", "content": " Hello \n"}],
        [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2+2?"},
         {"role": "assistant", "content": "4"}, {"role": "user", "content": "And 3+3?"}],
        [{"role": "user", "content": "2+2?"}, {"role": "assistant", "content": "<think>\nTwo and two.\n</think>\n\n4"},
         {"role": "user", "content": "And 3+3?"}, {"role": "assistant", "content": "<think>\nSix.\n</think>\n\n6"}],
        [{"role": "user", "content": "Book room 3"}, call, {"role": "tool", "content": "{\"done\": true}"},
         {"role": "assistant", "content": "Done."}],
    ]
    tools = [{"type": "function", "function": {"name": "book", "description": "Books a \"room\" <now>", "parameters": {
        "type": "object", "properties": {"room": {"type": "integer"}}, "required": ["room"]}}}]
    # Variables that the user passes to the template, one of them in place of a special token.
    variables = {"qwen3": [{"enable_thinking": False}, {"enable_thinking": True}],
                 "llama": [{"date_string": "1 Jan 2030", "tools_in_user_message": False}, {"bos_token": "<s>"}]}[family]
    found = {"templates": {}, "special": special, "chat": []}
    today = datetime.datetime.now().strftime("%d %b %Y")
    for name in names:
        with open(f"{templates}/{name}.jinja") as text:
            source = text.read()
        found["templates"][name] = source
        for messages in conversations:
            for given in (None, tools):
                if given and name in ("llama3", "llama3_training"):
                    continue
                if any("tool_calls" in message for message in messages) and name in ("llama3", "llama3_training"):
                    continue
                for prompt in (False, True):
                    rendered, _ = render_jinja_template(conversations=[messages], tools=given, documents=None,
                                                        chat_template=source, add_generation_prompt=prompt, **special)
                    # The date of the day is in the templates of Llama 3.1 and 3.2.
                    text = rendered[0].replace(today, "TODAY")
                    found["chat"].append({"template": name, "messages": messages, "tools": given,
                                          "add_generation_prompt": prompt, "text": text})
    for name in names:
        for messages, given in ((conversations[1], None), (conversations[0], tools)):
            if given and name in ("llama3", "llama3_training"):
                continue
            for kwargs in variables:
                rendered, _ = render_jinja_template(conversations=[messages], tools=given, documents=None,
                                                    chat_template=found["templates"][name], add_generation_prompt=True,
                                                    **{**special, **kwargs})
                text = rendered[0].replace(today, "TODAY")
                found["chat"].append({"template": name, "messages": messages, "tools": given,
                                      "add_generation_prompt": True, "chat_template_kwargs": kwargs, "text": text})
    with open(f"{root}/chat_cases.json", "w") as out:
        json.dump(found, out)
    def key(case):
        return json.dumps([case["template"], case["messages"], case["tools"], case["add_generation_prompt"]])

    plain = {key(case): case["text"] for case in found["chat"] if "chat_template_kwargs" not in case}
    for kwargs in variables:
        cases = [case for case in found["chat"] if case.get("chat_template_kwargs") == kwargs]
        # Thinking is on unless the variable says otherwise.
        assert any(case["text"] != plain[key(case)] for case in cases) != kwargs.get("enable_thinking", False), kwargs
    print(family, len(found["chat"]), "renderings")


def main():
    output, templates = sys.argv[1:3]
    torch.set_num_threads(1)
    for family, variants in VARIANTS.items():
        root = f"{output}/{family}"
        shutil.rmtree(root, ignore_errors=True)
        os.makedirs(root)
        meta = {"versions": {"torch": torch.__version__, "transformers": transformers.__version__, "peft": peft.__version__,
                             "trl": "1.16.0 (templates only)"}, "variants": {}}
        for variant, options in variants.items():
            seed, margin = record_variant(root, family, variant, options)
            meta["variants"][variant] = {"seed": seed, "min_greedy_margin": margin}
        record_chat(root, family, templates)
        with open(f"{root}/meta.json", "w") as out:
            json.dump(meta, out, indent=1)
        for folder, _, files in os.walk(root):
            for name in files:
                os.chmod(f"{folder}/{name}", 0o644)


if __name__ == "__main__":
    main()
