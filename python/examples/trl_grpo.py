"""Takes GRPO steps with TRL on a world that is played by tool calls.

    pip install "./python[trl]"
    python python/examples/trl_grpo.py --model Qwen/Qwen2.5-0.5B-Instruct --steps 20
    python python/examples/trl_grpo.py --tiny --steps 1     # a random model, no download

The seed of an episode is in the row of the dataset, so that the completions of a group play the same
episode. Reward is the score of the episode; one that is not played to its end earns nothing for the rest.
"""

from __future__ import annotations

import argparse
from functools import partial

from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM
from trl import GRPOConfig, GRPOTrainer

from sentinel_env.trl import TrustTools, episode_rows


def tiny_model() -> tuple[Qwen2ForCausalLM, PreTrainedTokenizerFast]:
    """Returns a random model of 60 thousand parameters that reads single bytes, and its tokenizer."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from trl.chat_template_utils import qwen2_5_chat_template

    special = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE({token: index for index, token in enumerate(alphabet)}, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.add_special_tokens(special)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token="<|im_end|>", pad_token="<|endoftext|>")
    fast.chat_template = qwen2_5_chat_template
    config = Qwen2Config(
        vocab_size=len(fast),
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=2,
        num_attention_heads=2,
        num_key_value_heads=1,
        max_position_embeddings=8192,
        eos_token_id=fast.eos_token_id,
        pad_token_id=fast.pad_token_id,
    )
    return Qwen2ForCausalLM(config), fast


def main() -> None:
    """Trains and prints the log."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--model", help="a model of the Hub or a folder")
    chosen.add_argument("--tiny", action="store_true", help="a random model, to test the installation")
    parser.add_argument("--task", type=int, default=1)
    parser.add_argument("--steps", type=int, default=1)
    parser.add_argument("--out", default="trl-trust")
    given = parser.parse_args()
    if given.tiny:
        model, tokenizer = tiny_model()
    else:
        model = AutoModelForCausalLM.from_pretrained(given.model)
        tokenizer = AutoTokenizer.from_pretrained(given.model)
    config = GRPOConfig(
        output_dir=given.out,
        max_steps=given.steps,
        per_device_train_batch_size=4,
        num_generations=4,
        max_completion_length=32 if given.tiny else 2048,
        learning_rate=1e-5,
        logging_steps=1,
        save_strategy="no",
        report_to="none",
        bf16=False,
        use_cpu=given.tiny,
    )
    trainer = GRPOTrainer(
        model=model,
        processing_class=tokenizer,
        args=config,
        train_dataset=Dataset.from_list(episode_rows("trust", range(100_000, 100_512))),
        environment_factory=partial(TrustTools, task=given.task),
    )
    trainer.train()
    for row in trainer.state.log_history:
        if "reward" in row:
            print({key: row[key] for key in ("step", "reward", "rewards/TrustTools/mean", "loss") if key in row})


if __name__ == "__main__":
    main()
