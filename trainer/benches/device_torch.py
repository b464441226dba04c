"""The work of benches/device.rs with transformers, PEFT and PyTorch, one JSON object for each measurement.

The same shape (Qwen2.5-0.5B, random weights, or a model in a folder), prompts, adapter (all linear layers) and lengths.
"""
import argparse, json, resource, statistics, time
import torch
from peft import LoraConfig, get_peft_model
from transformers import AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--device", default="cuda")
parser.add_argument("--precision", choices=["f32", "tf32", "bf16"], default="bf16")
parser.add_argument("--rows", default="1,64,256")
parser.add_argument("--prompt", type=int, default=128)
parser.add_argument("--completion", type=int, default=64)
parser.add_argument("--samples", type=int, default=16)
parser.add_argument("--micro", type=int, default=16)
parser.add_argument("--repeat", type=int, default=3)
parser.add_argument("--layers", type=int, default=24)
parser.add_argument("--model", help="folder of a model in place of random weights")
parser.add_argument("--rank", type=int, default=8)
parser.add_argument("--threads", type=int, help="threads of the processor")
parser.add_argument("--static", action="store_true", help="a cache of fixed size, the adapter merged, the step compiled")
args = parser.parse_args()

torch.manual_seed(0)
if args.threads:
    torch.set_num_threads(args.threads)
torch.set_float32_matmul_precision("high" if args.precision == "tf32" else "highest")
shape = Qwen2Config(vocab_size=151936, hidden_size=896, intermediate_size=4864, num_hidden_layers=args.layers,
    num_attention_heads=14, num_key_value_heads=2, max_position_embeddings=32768, rope_theta=1e6,
    rms_norm_eps=1e-6, tie_word_embeddings=True, attn_implementation="sdpa")
kind = torch.bfloat16 if args.precision == "bf16" else torch.float32
start = time.perf_counter()
if args.model:
    model = AutoModelForCausalLM.from_pretrained(args.model, dtype=kind, attn_implementation="sdpa").to(args.device)
else:
    with torch.device(args.device):
        model = Qwen2ForCausalLM(shape).to(kind)
config = model.config
linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
model = get_peft_model(model, LoraConfig(r=args.rank, lora_alpha=args.rank, target_modules=linear), autocast_adapter_dtype=False)
print(json.dumps({"what": "start", "torch": torch.__version__, "s": round(time.perf_counter() - start, 2)}), flush=True)

def tokens(first, count):
    return [(first + at * 31) % config.vocab_size for at in range(count)]

def sync():
    if args.device == "cuda":
        torch.cuda.synchronize()

def measure(what, rows, count, work):
    times = []
    for _ in range(args.repeat + 1):
        sync(); start = time.perf_counter(); work(); sync()
        times.append(time.perf_counter() - start)
    median = statistics.median(times[1:])
    memory = torch.cuda.max_memory_reserved() / 2**20 if args.device == "cuda" else resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    print(json.dumps({"what": what, "device": args.device, "precision": args.precision, "rows": rows,
        "first_s": round(times[0], 3), "median_s": round(median, 4), "tokens_per_s": round(count / median),
        "memory_mib": round(memory)}), flush=True)

model.eval()
decoder = model.merge_and_unload() if args.static else model
cache = {"cache_implementation": "static"} if args.static else {}
for rows in [int(n) for n in args.rows.split(",") if n]:
    ids = torch.tensor([tokens(row * 97, args.prompt) for row in range(rows)], device=args.device)
    mask = torch.ones_like(ids)
    def generate():
        with torch.no_grad():
            out = decoder.generate(input_ids=ids, attention_mask=mask, max_new_tokens=args.completion,
                min_new_tokens=args.completion, do_sample=True, top_k=0, top_p=1.0, pad_token_id=0, eos_token_id=None, **cache)
        assert out.shape[1] == args.prompt + args.completion
    measure("generate, static" if args.static else "generate", rows, rows * args.completion, generate)

if args.samples and not args.static:
    trained = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=1e-9)
    rows = torch.tensor([tokens(row * 97, args.prompt) + tokens(row * 53 + 17, args.completion)
        for row in range(args.samples)], device=args.device)
    advantage = torch.tensor([row % 4 - 1.5 for row in range(args.samples)], device=args.device)
    def step():
        model.train(); optimizer.zero_grad()
        for at in range(0, args.samples, args.micro):
            part = rows[at:at + args.micro]
            logits = model(input_ids=part, logits_to_keep=args.completion + 1, use_cache=False).logits[:, :-1]
            logps = torch.log_softmax(logits.float(), -1)
            taken = logps.gather(2, part[:, args.prompt:].unsqueeze(2)).squeeze(2)
            ratio = torch.exp(taken - taken.detach())
            loss = -(ratio * advantage[at:at + args.micro, None]).sum() / (args.samples * args.completion)
            loss.backward()
        torch.nn.utils.clip_grad_norm_(trained, 1.0); optimizer.step()
        loss.item()
    count = args.samples * (args.prompt + args.completion)
    measure("step", args.samples, count, step)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    model.enable_input_require_grads()
    measure("step, checkpointed", args.samples, count, step)
