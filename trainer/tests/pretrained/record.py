#!/usr/bin/env python3
"""Compares a model that `sentinel lm import` wrote with transformers' own reading of the file, and records what
transformers and PEFT compute with it.
usage: record.py FILE.gguf FOLDER OUT   (FOLDER is the imported model in f32, OUT a folder for the records)
Fails if weights differ in a bit, or the configuration, tokens or rendered chats differ.  Needs torch, transformers,
gguf, peft."""
import json
import os
import random
import sys

os.environ["HF_HUB_OFFLINE"] = "1"
import torch
from peft import LoraConfig, get_peft_model
from safetensors.torch import load_file, save_file
from transformers import AutoModelForCausalLM, AutoTokenizer

PROMPTS = ["The capital of France is", "def add(a, b):\n    return", "Once upon a time there was a"]
CHATS = [
    [{"role": "user", "content": "What is the capital of France?"}],
    [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "2 + 2?\n"}],
    [
        {"role": "user", "content": "  Hello 世界 🙂 "},
        {"role": "assistant", "content": "Hi <|im_end|> there."},
        {"role": "user", "content": "And \"1,234.5\"?"},
    ],
]
TOKENS = 32
POOL = [
    "The quick brown fox jumps over the lazy dog.", "don't we'll they've I'm HE'S", "naïve façade über Œuvre",
    "fn main() { println!(\"{}\", 1 + 2); }", "for i in range(10):\n\tprint(i)\r\n", "SELECT * FROM t WHERE a <= 3.14;",
    "0", "7", "42", "1234567890", "3.14159", "1e-5", "0x1F", "²³½", "١٢٣", "１２３", "v1.2.3", "S3 0.86", "10,000 km",
    "🙂", "👩‍👩‍👧‍👦", "🇫🇷", "e\u0301", "\u200b", "\ufeff", "世界", "你好，世界！", "日本語のテキスト", "한국어 문장", "Привет, мир", "שלום",
    "مرحبا", "हिन्दी", " ", "  ", "    ", "\n", "\n\n", "\r\n", "\t", "\t\t  \n", " \n ", "\u00a0", "\u3000",
    "<|im_start|>", "<|im_end|>", "<|endoftext|>", "<repo_name>", "<file_sep>", "<|im_start", "|>", "...", "!!!", "--",
    "__init__", "CamelCaseWord", "snake_case_word", "https://example.org/a?b=c&d=%20", "{\"a\": [1, 2, null]}", "\\", "\"",
    "\x00", "\x1b[0m", "\u2028", "ﬁ", "ẞ", "a" * 40, "=" * 40,
]


def strings():
    """500 texts of one to six parts of the pool, with and without spaces between them."""
    draw = random.Random(1)
    texts = ["", *POOL]
    while len(texts) < 500:
        parts = [draw.choice(POOL) for _ in range(draw.randint(2, 6))]
        texts.append("".join(part + draw.choice(["", " ", "  ", "\n"]) for part in parts))
    return texts[:500]


def check_weights(gguf, folder, model):
    ours = load_file(os.path.join(folder, "model.safetensors"))
    own = AutoModelForCausalLM.from_pretrained(os.path.dirname(gguf), gguf_file=os.path.basename(gguf), dtype=torch.float32)
    theirs = own.state_dict()
    tied = {"lm_head.weight"} if model.config.tie_word_embeddings else set()
    assert set(ours) == set(theirs) - tied, set(ours) ^ set(theirs)
    for name, tensor in ours.items():
        same = torch.equal(tensor.view(torch.int32), theirs[name].contiguous().view(torch.int32))
        assert same, f"{name} differs"
    one, two = own.config.to_dict(), model.config.to_dict()
    for key in [
        "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
        "num_key_value_heads", "max_position_embeddings", "tie_word_embeddings", "hidden_act",
    ]:
        assert one[key] == two[key], (key, one[key], two[key])
    f32 = lambda number: torch.tensor(number, dtype=torch.float32).item()
    assert f32(one["rms_norm_eps"]) == f32(two["rms_norm_eps"])
    assert own.config.rope_parameters["rope_theta"] == model.config.rope_parameters["rope_theta"]
    print(f"{len(ours)} tensors, {sum(t.numel() for t in ours.values())} numbers: equal to the bit")


def check_tokenizer(gguf, tokenizer, texts):
    own = AutoTokenizer.from_pretrained(os.path.dirname(gguf), gguf_file=os.path.basename(gguf))
    # transformers knows the rules of fewer names than llama.cpp: without those of `smollm` it merges a space with the
    # digit after it, which the model has never seen.
    plain = ["".join(letter for letter in text if not letter.isnumeric()) for text in texts]
    ids = lambda tokenizer, texts: [tokenizer.encode(text, add_special_tokens=False) for text in texts]
    differing = [t for t, a, b in zip(plain, ids(own, plain), ids(tokenizer, plain)) if a != b]
    assert not differing, differing[:5]
    others = sum(a != b for a, b in zip(ids(own, texts), ids(tokenizer, texts)))
    print(f"{len(texts)} texts: equal tokens without digits; with digits {others} differ from transformers' reading of the file")
    for chat in CHATS:
        for prompted in (False, True):
            render = lambda t: t.apply_chat_template(chat, tokenize=False, add_generation_prompt=prompted)
            assert render(own) == render(tokenizer), chat


def record_tokens(model, tokenizer, texts, out):
    greedy = []
    for prompt in PROMPTS:
        ids = tokenizer(prompt, return_tensors="pt", add_special_tokens=False).input_ids
        with torch.no_grad():
            made = model.generate(ids, max_new_tokens=TOKENS, do_sample=False, eos_token_id=-1, pad_token_id=0)
            logits = model(ids).logits
        greedy.append({
            "prompt": prompt, "ids": ids[0].tolist(), "completion": made[0, ids.shape[1]:].tolist(),
            "last_logits": logits[0, -1].tolist(),
        })
    chats = []
    for chat in CHATS:
        for prompted in (False, True):
            text = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=prompted)
            chats.append({"messages": chat, "add_generation_prompt": prompted, "text": text})
    encoded = [{"text": text, "ids": tokenizer.encode(text, add_special_tokens=True)} for text in texts]
    with open(os.path.join(out, "records.json"), "w") as file:
        json.dump({"greedy": greedy, "chats": chats, "texts": encoded}, file)


def record_gradients(model, tokenizer, out):
    """An adapter that PEFT saves, and loss and gradients of it for two rows of which the first tokens do not count."""
    torch.manual_seed(1)
    targets = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
    adapted = get_peft_model(model, LoraConfig(r=8, lora_alpha=16, target_modules=targets, task_type="CAUSAL_LM"))
    for name, parameter in adapted.named_parameters():
        if "lora_B" in name:
            torch.nn.init.normal_(parameter, std=0.01)
    adapted.save_pretrained(os.path.join(out, "adapter"))
    rows = [tokenizer.encode(text)[:24] for text in (PROMPTS[0] + " Paris, and that of Italy is Rome. " * 4, "1 2 3 4 5 6 7 8 9 " * 8)]
    ids = torch.tensor(rows)
    labels = ids.clone()
    labels[:, :8] = -100
    loss = adapted(input_ids=ids, labels=labels).loss
    loss.backward()
    named = {name: p.grad.contiguous() for name, p in adapted.named_parameters() if p.grad is not None}
    named = {name.replace(".default", ""): grad for name, grad in named.items()}
    save_file({**named, "input_ids": ids, "labels": labels, "loss": loss.detach().reshape(1)}, os.path.join(out, "gradients.safetensors"))
    print(f"loss {loss.item():.6f}, {len(named)} gradients")


def main():
    gguf, folder, out = sys.argv[1:4]
    os.makedirs(out, exist_ok=True)
    model, loading = AutoModelForCausalLM.from_pretrained(
        folder, dtype=torch.float32, attn_implementation="eager", output_loading_info=True
    )
    assert not any(loading.values()), loading
    model.eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    texts = strings()
    check_weights(gguf, folder, model)
    check_tokenizer(gguf, tokenizer, texts)
    record_tokens(model, tokenizer, texts, out)
    record_gradients(model, tokenizer, out)


main()
