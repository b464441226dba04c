"""A GRPO step of TRL with the shape of benches/generate.rs: 4 groups of 4, prompt 128, completion 32.

python trainer/benches/generate_trl.py testdata/oracle/qwen2/tokenizer
"""
import sys, time, tempfile, torch
from datasets import Dataset
from transformers import Qwen2Config, Qwen2ForCausalLM, AutoTokenizer, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
torch.set_num_threads(2)
tokenizer = AutoTokenizer.from_pretrained(sys.argv[1])
config = Qwen2Config(vocab_size=4096, hidden_size=256, intermediate_size=896, num_hidden_layers=4,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512, rope_theta=1e6,
    rms_norm_eps=1e-6, tie_word_embeddings=True, attn_implementation="sdpa")
torch.manual_seed(0)
model = Qwen2ForCausalLM(config)
model.generation_config.eos_token_id = None
def prompt(number):
    ids = [(number * 97 + at * 31) % (len(tokenizer) - 10) for at in range(300)]
    text = tokenizer.decode(ids)
    while len(tokenizer(text)["input_ids"]) > 128:
        text = text[:-1]
    return text
data = Dataset.from_list([{"prompt": prompt(n)} for n in range(64)])
class Clock(TrainerCallback):
    starts, ends = [], []
    def on_step_begin(self, *_, **__): self.starts.append(time.perf_counter())
    def on_step_end(self, *_, **__): self.ends.append(time.perf_counter())
clock = Clock()
args = GRPOConfig(output_dir=tempfile.mkdtemp(), per_device_train_batch_size=16, num_generations=4,
    max_completion_length=32, max_steps=12, beta=0.0, learning_rate=1e-9, report_to=[], use_cpu=True,
    gradient_checkpointing=False, save_strategy="no", logging_steps=100, bf16=False,
    generation_kwargs={"min_new_tokens": 32})
trainer = GRPOTrainer(model=model, reward_funcs=lambda completions, **_: [float(len(c) % 4) for c in completions],
    args=args, train_dataset=data, processing_class=tokenizer, callbacks=[clock])
trainer.train()
steps = sorted(e - s for s, e in list(zip(clock.starts, clock.ends))[2:])
print("trl step: best %.3f median %.3f s" % (steps[0], steps[len(steps) // 2]), [round(x, 2) for x in steps])
