"""A GRPO step of TRL, beside benches/generate.rs: 4 groups of 4, prompt 128, completion 32.

python trainer/benches/generate_trl.py testdata/oracle/qwen2/tokenizer

With --corpus, beside that option of benches/device.rs: an adapter on all linear layers of a model, the first
eight different prompts of a corpus in its chat template, eight completions each.

python trainer/benches/generate_trl.py outputs/smollm2 --corpus corpus.jsonl --rank 16 --completion 32
"""
import argparse, json, resource, time, tempfile, torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, Qwen2Config, Qwen2ForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
parser = argparse.ArgumentParser()
parser.add_argument("folder", help="of the tokenizer, and with --corpus of the model")
parser.add_argument("--corpus")
parser.add_argument("--rank", type=int, default=16)
parser.add_argument("--completion", type=int, default=32)
parser.add_argument("--micro", type=int, default=16, help="completions that are trained together")
parser.add_argument("--repeat", type=int, default=10)
args = parser.parse_args()
torch.set_num_threads(2)
torch.manual_seed(0)
tokenizer = AutoTokenizer.from_pretrained(args.folder)
if args.corpus:
    from peft import LoraConfig
    model = AutoModelForCausalLM.from_pretrained(args.folder, dtype=torch.float32, attn_implementation="sdpa")
    prompts = []
    for line in open(args.corpus):
        prompt = json.loads(line)["prompt"]
        if prompt not in prompts and len(prompts) < 8:
            prompts.append(prompt)
    groups, generations = len(prompts), 8
else:
    config = Qwen2Config(vocab_size=4096, hidden_size=256, intermediate_size=896, num_hidden_layers=4,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512, rope_theta=1e6,
        rms_norm_eps=1e-6, tie_word_embeddings=True, attn_implementation="sdpa")
    model = Qwen2ForCausalLM(config)
    def prompt(number):
        ids = [(number * 97 + at * 31) % (len(tokenizer) - 10) for at in range(300)]
        text = tokenizer.decode(ids)
        while len(tokenizer(text)["input_ids"]) > 128:
            text = text[:-1]
        return text
    prompts, groups, generations = [prompt(n) for n in range(64)], 4, 4
model.generation_config.eos_token_id = None
class Clock(TrainerCallback):
    starts, ends = [], []
    def on_step_begin(self, *_, **__): self.starts.append(time.perf_counter())
    def on_step_end(self, *_, **__): self.ends.append(time.perf_counter())
clock = Clock()
samples = groups * generations
micro = min(args.micro, samples)
config = GRPOConfig(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=micro,
    gradient_accumulation_steps=samples // micro, num_generations=generations,
    max_completion_length=args.completion, max_steps=args.repeat + 2, beta=0.0, learning_rate=1e-9, report_to=[], use_cpu=True,
    gradient_checkpointing=False, save_strategy="no", logging_steps=100, bf16=False,
    generation_kwargs={"min_new_tokens": args.completion})
linear = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"]
adapter = LoraConfig(r=args.rank, lora_alpha=args.rank, target_modules=linear) if args.corpus else None
reward = lambda completions, **_: [float(len(str(c)) % 4) for c in completions]
trainer = GRPOTrainer(model=model, reward_funcs=reward, args=config, peft_config=adapter,
    train_dataset=Dataset.from_list([{"prompt": prompt} for prompt in prompts]), processing_class=tokenizer, callbacks=[clock])
trainer.train()
steps = sorted(e - s for s, e in list(zip(clock.starts, clock.ends))[2:])
print("trl step: best %.3f median %.3f s, memory %d MiB" % (steps[0], steps[len(steps) // 2],
    resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10), [round(x, 2) for x in steps])
