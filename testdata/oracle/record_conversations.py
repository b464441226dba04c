#!/usr/bin/env python3
"""Records which parts of a conversation TRL trains with `assistant_only_loss`, by transformers' rendering of TRL's templates.

usage: record_conversations.py ORACLE_DIR TEMPLATES_DIR

Writes ORACLE_DIR/conversations.json. Needs transformers 5.24 and TRL's `trl/chat_templates` (1.16, Apache-2.0). Of each family it records the template, the
text, and the answers that its training variant marks; that variant must render the same text.
"""

import json
import os
import sys

from transformers.utils.chat_template_utils import render_jinja_template

#: Template and the training variant whose marks are recorded; both are the same where the plain one renders other texts.
FAMILIES = {
    "qwen2_5": ("qwen2_5", "qwen2_5_training"),
    "llama3": ("llama3", "llama3_training"),
    "qwen3": ("qwen3_training", "qwen3_training"),
    "qwen3_instruct_2507": ("qwen3_instruct_2507", "qwen3_instruct_2507_training"),
}
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "Whom do you ask?"},
    {"role": "assistant", "content": "I ask S2."},
    {"role": "user", "content": "S2 was wrong."},
    {"role": "assistant", "content": "Then I verify S0, and ask S2 no more."},
    {"role": "user", "content": "Go on."},
    {"role": "assistant", "content": "S0."},
]


def render(folder: str, name: str) -> tuple[str, list[list[int]]]:
    """Returns the text and the marked ranges of characters."""
    template = open(os.path.join(folder, f"{name}.jinja")).read()
    # Special tokens that the templates refer to.
    tokens = {"bos_token": "<|begin_of_text|>", "eos_token": "<|endoftext|>"}
    texts, ranges = render_jinja_template([MESSAGES], chat_template=template, return_assistant_tokens_mask=True, **tokens)
    return texts[0], ranges[0]


def main() -> None:
    """Records all families."""
    oracle, folder = sys.argv[1:]
    cases = []
    for family, (plain, training) in FAMILIES.items():
        (text, _), (marked, ranges) = render(folder, plain), render(folder, training)
        assert text == marked and len(ranges) == 3, family
        cases.append({"family": family, "template": open(os.path.join(folder, f"{plain}.jinja")).read(), "text": text,
                      "answers": [text[start:end] for start, end in ranges]})
        print(family, cases[-1]["answers"])
    with open(os.path.join(oracle, "conversations.json"), "w") as file:
        json.dump({"messages": MESSAGES, "cases": cases}, file)
        file.write("\n")


if __name__ == "__main__":
    main()
