"""Inspect tasks with scripted models: scores of `sentinel eval`, resumed logs, and their replays."""

import functools
import importlib.metadata
import json
import math
import os
import subprocess
import sys

import pytest

from sentinel_env import TextEnv, load_policy, read_replay
from sentinel_env.completions import EpisodeNames, Turn, evaluation_mean, play_completions, read_rows

if not os.environ.get("SENTINEL_PYTHON_ALL"):
    pytest.importorskip("inspect_ai", reason="inspect-ai is not installed: pip install 'sentinel-env[inspect]'")

import inspect_ai  # noqa: E402
from inspect_ai.log import read_eval_log  # noqa: E402
from inspect_ai.model import GenerateConfig, ModelAPI, ModelOutput, ModelUsage, get_model, modelapi  # noqa: E402

from sentinel_env import inspect_to_replay, inspect_tasks  # noqa: E402

RULES = "hardened"
#: Number of completions after which the scripted model fails, once.
FAILURE = {"after": None, "calls": 0}


@functools.cache
def answers(world, policy, tasks, seeds):
    """Returns the completion of a policy for each prompt of its episodes."""
    table, player = {}, load_policy(world, policy)
    for task in tasks:
        for seed in seeds:
            env = TextEnv(world, task, rules=RULES)
            prompt = env.reset(seed)
            while prompt is not None:
                completion = env.example(player)
                assert table.setdefault(prompt, completion) == completion, "one prompt, two answers"
                prompt = env.step(completion).prompt
    return table


class ScriptedAPI(ModelAPI):
    """A model that answers as a scripted policy, from a table of prompts."""

    def __init__(self, model_name, base_url=None, api_key=None, config=GenerateConfig(), **model_args):
        super().__init__(model_name, base_url, api_key, [], config)

    async def generate(self, input, tools, tool_choice, config):
        FAILURE["calls"] += 1
        if FAILURE["after"] is not None and FAILURE["calls"] > FAILURE["after"]:
            raise RuntimeError("the provider is down")
        return output(TABLE[input[-1].content])


TABLE = {}


@modelapi(name="scripted")
def scripted():
    return ScriptedAPI


def output(text):
    """Returns a completion that states its usage, so that no tokenizer is downloaded."""
    found = ModelOutput.from_content("scripted", text)
    found.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return found


def mock(texts):
    """Returns a model that says what a list or a function of messages names."""
    if callable(texts):
        return get_model("mockllm/model", custom_outputs=lambda input, *_: output(texts(input)))
    return get_model("mockllm/model", custom_outputs=[output(text) for text in texts])


def play(task, model, folder, **options):
    """Plays a task without a display and returns its log."""
    (log,) = inspect_ai.eval(task, model=model, log_dir=str(folder), display="none", **options)
    return log


def metrics(log):
    """Returns the mean of each scorer of a log."""
    assert log.status == "success", log.error
    return {score.name: score.metrics["episode_mean"].value for score in log.results.scores}


CASES = [
    ("trust", "bayes", ("task1", "task2", "task3"), range(10_000, 10_004)),
    ("cluster", "planner", ("task1", "task3"), range(10_000, 10_002)),
    ("polyguard", "rules_only", ("DDI-hard", "BANDIT_MINING-easy"), range(10_000, 10_003)),
]


@pytest.mark.parametrize(("world", "policy", "tasks", "seeds"), CASES)
def test_means_are_those_of_the_native_evaluation(world, policy, tasks, seeds, tmp_path):
    """A model that answers as a policy does has the policy's mean, to the last digit, and a replay."""
    TABLE.clear()
    TABLE.update(answers(world, policy, tasks, seeds))
    build = getattr(inspect_tasks, world)
    text = f"{seeds.start}..{seeds.stop}"
    log = play(build(task=",".join(tasks), seeds=text, style="compact"), "scripted/model", tmp_path)
    native = [
        float(score)
        for task in tasks
        for score in load_policy(world, policy).run(seeds, task=task, rules=RULES)["score"]
    ]
    found = metrics(log)
    assert found["episode_score"] == evaluation_mean(native) and found["validity"] == 1.0
    again = read_eval_log(log.location)
    by_id = {sample.id: sample.scores["episode_score"] for sample in again.samples}
    expected = [f"{task}-{seed}" for task in tasks for seed in seeds]
    assert [by_id[key].metadata["score"] for key in expected] == native

    replay = tmp_path / "replay.jsonl"
    assert inspect_to_replay.main([log.location, "--out", str(replay), "--model", "me"]) == 0
    verified = read_replay(replay).verify()
    assert verified["fits"] and verified["score"] == found["episode_score"]
    assert verified["episode_count"] == len(native)


def test_detection_is_that_of_the_evaluation(tmp_path):
    """`sentinel eval --rules hardened --streams independent --seeds 10000..10004 --policies heuristic`."""
    tasks, seeds = ("task3",), range(10_000, 10_004)
    TABLE.clear()
    TABLE.update(answers("trust", "heuristic", tasks, seeds))
    log = play(inspect_tasks.trust(task=3, seeds="10000..10004", style="compact"), "scripted/model", tmp_path)
    counts = []
    for sample in sorted(read_eval_log(log.location).samples, key=lambda s: s.metadata["order"]):
        score = sample.scores["detection"]
        counts.append((score.metadata["caught"], score.metadata["let_in"], score.as_float()))
    for caught, let_in, value in counts:
        assert value == (round(caught / (caught + let_in), 4) if caught + let_in else 1.0)
    assert any(caught for caught, _, _ in counts) and any(let_in for _, let_in, _ in counts)
    assert metrics(log)["detection"] == evaluation_mean(value for _, _, value in counts)


def test_invalid_completion_ends_the_episode_and_is_a_fallback_row(tmp_path):
    first = '{"action_type":"verify","specialist_id":"S1"}'
    task = inspect_tasks.trust(task="task1", seeds=7, style="compact")
    log = play(task, mock([first, "I trust S1."]), tmp_path)
    env = TextEnv("trust", "task1", rules=RULES)
    env.reset(7)
    env.step(first)
    env.step("I trust S1.")
    found = metrics(log)
    assert env.aborted and found["episode_score"] == round(env.score, 4) and found["validity"] == 0.5
    replay = tmp_path / "replay.jsonl"
    assert inspect_to_replay.main([log.location, "--out", str(replay)]) == 0
    rows = read_rows(replay.read_text())
    assert read_replay(replay).verify()["fits"]
    assert [row.get("completion") for row in rows[:3]] == [first, "I trust S1.", None]
    assert "fallback" not in rows[0] and rows[1]["fallback"] is True
    assert all(row["model_source"] == "mockllm/model (fallback)" for row in rows[2:]) and len(rows) > 5
    assert inspect_to_replay.main([log.location, "--out", str(replay)]) == 1, "an existing file is kept"


def test_rejected_completions_are_asked_for_again_and_counted(tmp_path):
    skip = '{"action_type":"skip"}'
    seen = []

    def answer(messages):
        seen.append([message.text for message in messages])
        return "no idea" if len(seen) == 1 else skip

    task = inspect_tasks.trust(task="task1", seeds="7", style="compact", attempts=2, history=-1, system="Be brief.")
    log = play(task, mock(answer), tmp_path)
    steps = len(seen) - 1
    assert metrics(log)["validity"] == round(steps / (steps + 1), 4)
    assert seen[0][0] == seen[1][0] == "Be brief." and len(seen[0]) == 2
    assert "not_json" in seen[1][-1] and seen[1][1:3] == [seen[0][1], "no idea"]
    # The history has the completion that was played, not the rejected one.
    assert seen[2][1:3] == [seen[0][1], skip] and len(seen[3]) == 1 + 2 * 2 + 1
    replay = tmp_path / "replay.jsonl"
    assert inspect_to_replay.main([log.location, "--out", str(replay)]) == 0
    assert json.loads(replay.read_text().splitlines()[0])["rejected"] == ["no idea"]
    assert read_replay(replay).verify()["fits"]


def test_exploits_of_polyguard_are_not_asked_for_again(tmp_path):
    exploit = '{"candidate_id":"cand_01"} {"candidate_id":"cand_02"}'
    task = inspect_tasks.polyguard(task="DDI-easy", seeds=1, style="compact", attempts=5)
    log = play(task, mock(["hm", exploit]), tmp_path)
    (sample,) = read_eval_log(log.location).samples
    assert sample.store[inspect_tasks.TURNS] == [{"completion": exploit, "rejected": ["hm"]}]
    assert metrics(log)["validity"] == 0.0


def test_a_limit_leaves_an_episode_that_earns_nothing_more(tmp_path):
    task = inspect_tasks.trust(task="task1", seeds=7, style="compact")
    skip = '{"action_type":"skip"}'
    log = play(task, mock(lambda _: skip), tmp_path, token_limit=5)
    (sample,) = read_eval_log(log.location).samples
    turns = sample.store[inspect_tasks.TURNS]
    assert sample.limit is not None and 0 < len(turns) < 5
    env = TextEnv("trust", "task1", rules=RULES)
    env.reset(7)
    for turn in turns:
        env.step(turn["completion"])
    env.abort()
    assert metrics(log)["episode_score"] == round(env.score, 4)
    assert inspect_to_replay.main([log.location, "--out", str(tmp_path / "replay.jsonl")]) == 0


def test_decision_loss_is_never_a_silent_zero(tmp_path):
    log = play(inspect_tasks.trust(task="task1", seeds=7), mock(["no"]), tmp_path)
    loss = next(score for score in log.results.scores if score.name == "decision_loss")
    assert loss.scored_samples == 0 and math.isnan(loss.metrics["episode_mean"].value)
    (sample,) = read_eval_log(log.location).samples
    assert "not available" in sample.scores["decision_loss"].explanation
    with pytest.raises(ValueError, match="not a file"):
        inspect_tasks.trust(analyzer="/nowhere/sentinel")


@pytest.mark.skipif(not os.environ.get("SENTINEL_BIN"), reason="SENTINEL_BIN does not name the sentinel command")
def test_decision_loss_is_that_of_the_analysis(tmp_path):
    """The loss comes from the command; the example has invalid completions, whose rows do not count."""
    first = '{"action_type":"verify","specialist_id":"S1"}'
    task = inspect_tasks.trust(task="task1", seeds=7, style="compact", analyzer=os.environ["SENTINEL_BIN"], rollouts=2)
    log = play(task, mock([first, first, "no"]), tmp_path)
    (sample,) = read_eval_log(log.location).samples
    loss = sample.scores["decision_loss"]
    assert loss.metadata["steps"] == 2 and loss.as_float() >= 0
    replay, out = tmp_path / "replay.jsonl", tmp_path / "analysis.jsonl"
    assert inspect_to_replay.main([log.location, "--out", str(replay)]) == 0
    command = [os.environ["SENTINEL_BIN"], "analyze", str(replay), "--out", str(out), "--policy", "bayes"]
    subprocess.run([*command, "--rollouts", "2", "--belief-only"], check=True, capture_output=True)
    steps = json.loads(out.read_text().splitlines()[1])["steps"][:2]
    assert loss.as_float() == round(sum(step["belief"]["loss"] for step in steps) / 2, 4)


def test_a_failed_evaluation_is_resumed(tmp_path):
    tasks, seeds = ("task1",), range(10_000, 10_003)
    TABLE.clear()
    TABLE.update(answers("trust", "bayes", tasks, seeds))
    FAILURE.update(after=30, calls=0)
    try:
        build = inspect_tasks.trust(task="task1", seeds="10000..10003", style="compact")
        first = play(build, "scripted/model", tmp_path, max_samples=1, fail_on_error=True)
        assert first.status == "error"
        assert inspect_to_replay.main([first.location, "--out", str(tmp_path / "no.jsonl")]) == 1
        played = [sample for sample in read_eval_log(first.location).samples if sample.error is None]
        assert 0 < len(played) < 3
        FAILURE.update(after=None, calls=0)
        (second,) = inspect_ai.eval_retry(first, log_dir=str(tmp_path), display="none")
    finally:
        FAILURE.update(after=None)
    native = load_policy("trust", "bayes").run(seeds, task=1, rules=RULES)
    assert metrics(second)["episode_score"] == evaluation_mean(map(float, native["score"]))
    repeated = {sample.id for sample in played}
    calls = sum(int(count) for seed, count in zip(seeds, native["actions"]) if f"task1-{seed}" not in repeated)
    assert FAILURE["calls"] == calls, "finished episodes are not played again"


def test_tasks_are_registered_and_the_log_is_read_by_inspect(tmp_path):
    entries = importlib.metadata.entry_points(group="inspect_ai", name="sentinel_env")
    if not entries and not os.environ.get("SENTINEL_PYTHON_ALL"):
        pytest.skip("sentinel-env is not installed with pip, which registers its tasks")
    assert [entry.value for entry in entries] == ["sentinel_env.inspect_tasks"]
    script = (
        "import inspect_ai\n"
        "from inspect_ai.model import *\n"
        "said = ModelOutput.from_content('m', 'no')\n"
        "said.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)\n"
        "model = get_model('mockllm/model', custom_outputs=lambda *_: said)\n"
        "for name in ('trust', 'cluster', 'polyguard'):\n"
        "    arguments = dict(task='DDI-easy' if name == 'polyguard' else 1, seeds='3..5')\n"
        f"    options = dict(task_args=arguments, model=model, log_dir={str(tmp_path)!r}, display='none')\n"
        "    (log,) = inspect_ai.eval('sentinel_env/' + name, **options)\n"
        "    print(log.eval.task, log.status, len(log.samples), log.location)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, timeout=600)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    names = ("trust", "cluster", "polyguard")
    assert [line[:3] for line in lines] == [[f"sentinel_env/{name}", "success", "2"] for name in names]
    dump = [sys.executable, "-m", "inspect_ai", "log", "dump", lines[0][3]]
    shown = json.loads(subprocess.run(dump, capture_output=True, text=True, check=True, timeout=600).stdout)
    assert shown["eval"]["task_args"]["seeds"] == "3..5" and shown["samples"][0]["metadata"]["seed"] == 3


@pytest.mark.parametrize(
    ("build", "options", "words"),
    [
        ("trust", {"task": "task9"}, "task9"),
        ("trust", {"task": "task1,task1"}, "twice"),
        ("trust", {"seeds": "9..3"}, "not a range"),
        ("trust", {"seeds": "many"}, "A..B"),
        ("trust", {"attempts": 0}, "at least 1"),
        ("trust", {"history": -2}, "-1 for all"),
        ("trust", {"rules": "soft"}, "reference or hardened"),
        ("cluster", {"style": "long"}, "compact, reference"),
        ("polyguard", {"split": "test"}, "train or holdout"),
    ],
)
def test_bad_options_are_refused(build, options, words):
    with pytest.raises(ValueError, match=words):
        getattr(inspect_tasks, build)(**options)


def test_options_are_read_as_the_command_line_splits_them():
    """`-T task=1,2` arrives as a list, and so does a system message with commas."""
    task = inspect_tasks.trust(task=[1, "task2"], seeds=4, system=["Be brief", " please"])
    assert [sample.id for sample in task.dataset] == ["task1-4", "task2-4"]


@pytest.mark.parametrize(("world", "task"), [("trust", "task3"), ("cluster", "task1"), ("polyguard", "DDI-hard")])
@pytest.mark.parametrize("style", ["compact", "reference", "detailed"])
def test_stand_ins_play_what_the_model_did_not(world, task, style):
    names = EpisodeNames(world, task, 1, "independent", RULES)
    for turns in ([], [Turn("bah")]):
        played = play_completions(names, turns, style=style, reader="strict", model="m")
        assert not played.finished and played.detection is None and played.score < 0.01
        assert played.stand_in_rows >= len(played.rows) - len(turns) > 0
        assert all("invalid" not in row["action"] for row in played.rows[len(turns) :])
        assert read_replay(played.text().encode()).verify()["fits"]
    with pytest.raises(ValueError, match="and is an action"):
        answer = names.text_env(style, "strict").example(load_policy(world, "random"))
        play_completions(names, [Turn("bah", (answer,))], style=style, reader="strict", model="m")
    with pytest.raises(ValueError, match="after the end"):
        play_completions(names, [Turn("bah")] * 500, style=style, reader="strict", model="m")


@pytest.mark.parametrize("text", ["", "\ud800", "a\u2028b\x85c", '{"action_type":"skip","reasoning":"x\u2028y"}'])
def test_any_completion_is_played_and_exported(text, tmp_path):
    log = play(inspect_tasks.trust(task=1, seeds=4, style="compact"), mock(lambda _: text), tmp_path)
    metrics(log)
    replay = tmp_path / "replay.jsonl"
    assert inspect_to_replay.main([log.location, "--out", str(replay)]) == 0
    assert read_replay(replay).verify()["fits"]


def test_the_lines_of_the_documentation_run(root, tmp_path, monkeypatch, capsys):
    """The Python block of docs/how-to/inspect.md, with a mock in place of a provider's model."""
    text = (root / "docs/how-to/inspect.md").read_text(encoding="utf-8")
    (block,) = (part.split("```")[0] for part in text.split("```python\n")[1:])
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("INSPECT_DISPLAY", "none")
    exec(compile(block, "inspect.md", "exec"), {"model": mock(lambda _: '{"action_type":"skip"}')})
    assert "episode_score" in capsys.readouterr().out and read_replay("replay.jsonl").verify()["fits"]


def test_splits_and_defaults_name_the_episodes():
    holdout = inspect_tasks.polyguard(task="DDI-easy", seeds="5..7", split="holdout")
    assert [sample.id for sample in holdout.dataset] == ["DDI-easy-holdout-5", "DDI-easy-holdout-6"]
    by_default = inspect_tasks.trust()
    assert len(by_default.dataset) == 60 and by_default.dataset[0].metadata["rules"] == "hardened"
    assert "Return exactly one JSON object" in by_default.dataset[0].input


def test_files_that_are_no_logs_are_refused(tmp_path, capsys):
    text = tmp_path / "text.eval"
    text.write_text("no log")
    for path in (text, tmp_path / "nowhere.eval"):
        assert inspect_to_replay.main([str(path), "--out", str(tmp_path / "out.jsonl")]) == 1
    assert "not an Inspect log" in capsys.readouterr().err and not (tmp_path / "out.jsonl").exists()
