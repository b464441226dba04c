"""Generation and a training step of transformers and PyTorch with the shape of benches/generate.rs."""
import time, torch
from transformers import Qwen2Config, Qwen2ForCausalLM
torch.set_num_threads(2)
torch.manual_seed(0)
config = Qwen2Config(vocab_size=4096, hidden_size=256, intermediate_size=896, num_hidden_layers=4,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=512, rope_theta=1e6,
    rms_norm_eps=1e-6, tie_word_embeddings=True, attn_implementation="sdpa")
model = Qwen2ForCausalLM(config)
def prompts(different):
    return torch.tensor([[(row * different // 16 * 97 + at * 31) % 4096 for at in range(128)] for row in range(16)])
def best(f, times=10):
    f(); found = []
    for _ in range(times):
        start = time.perf_counter(); f(); found.append(time.perf_counter() - start)
    return min(found), sorted(found)[len(found) // 2]
def generate(ids):
    with torch.no_grad():
        model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=32, min_new_tokens=32,
            do_sample=True, top_k=0, top_p=1.0, pad_token_id=0, eos_token_id=None)
model.eval()
print("torch", torch.__version__)
print("generate 16 prompts: best %.3f median %.3f s" % best(lambda: generate(prompts(16))))
print("generate 4 groups of 4: best %.3f median %.3f s" % best(lambda: generate(prompts(4))))
rows = torch.cat([prompts(4), torch.randint(0, 4096, (16, 32))], 1)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-9)
advantage = torch.tensor([r % 4 - 1.5 for r in range(16)])
def step(micro):
    model.train(); optimizer.zero_grad()
    for at in range(0, 16, micro):
        part = rows[at:at + micro]
        logits = model(input_ids=part, logits_to_keep=33).logits[:, :-1]
        logps = torch.log_softmax(logits, -1)
        taken = logps.gather(2, part[:, 128:].unsqueeze(2)).squeeze(2)
        loss = -(torch.exp(taken - taken.detach()) * advantage[at:at + micro, None]).sum() / 512
        loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); optimizer.step()
for micro in (16, 4):
    print(f"step, {micro} rows: best %.3f median %.3f s" % best(lambda: step(micro)))
