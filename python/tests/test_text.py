"""Text environments: the trainer's prompts and parser, rewards of invalid completions, transcripts."""

import json

import pytest

import sentinel_env
from sentinel_env import EpisodeEnded, TextEnv, load_policy, read_replay

CASES = [("trust", 3, "bayes"), ("cluster", 1, "planner"), ("polyguard", "DDI-hard", "rules_only")]


@pytest.mark.parametrize("style", ["compact", "reference", "detailed"])
@pytest.mark.parametrize(("world", "task", "name"), CASES)
def test_examples_play_the_policy_s_episode(world, task, name, style):
    """A model that answers as a policy does gets the policy's score, and its transcript fits."""
    policy = load_policy(world, name)
    env = TextEnv(world, task, style=style)
    for seed in (3, 4):
        prompt = env.reset(seed)
        done = False
        while not done:
            assert prompt == env.prompt()
            step = env.step(env.example(policy))
            assert step.valid and step.reason is None and step.action
            prompt, done = step.prompt, step.done
        assert prompt is None and env.example(policy) is None and not env.aborted
        if world != "polyguard" or style != "reference":
            # The reference's line of PolyGuard has no confidence, which the reward reads.
            assert step.score == env.score == policy.run(seed, task=task)["score"][0]
        found = read_replay(env.transcript("someone").encode()).verify()
        assert found["fits"] and found["episodes"][0]["seed"] == seed
        with pytest.raises(EpisodeEnded):
            env.step("{}")


def test_invalid_completion_ends_the_episode_and_earns_less():
    env = TextEnv("trust", 1, invalid_reward=-0.5)
    env.reset(1)
    env.step('{"action_type": "verify", "specialist_id": "S1"}')
    before = env.score
    step = env.step("I trust S1.")
    assert not step.valid and step.aborted and step.done and step.prompt is None
    assert (step.reward, step.reason, step.action) == (-0.5, "not_json", None)
    assert step.score == env.score < 0 < before
    with pytest.raises(EpisodeEnded):
        env.step("{}")
    assert env.reset(1) == env.prompt()


def test_stopping_early_never_pays():
    env = TextEnv("trust", 1)
    env.reset(1)
    env.step('{"action_type": "verify", "specialist_id": "S1"}')
    running = env.score
    env.abort()
    assert env.done and env.aborted and 0 < env.score < running / 5


def test_invalid_completion_is_a_step_of_polyguard():
    env = TextEnv("polyguard", "DDI-hard")
    env.reset(1)
    step = env.step("I would rather not")
    assert not step.valid and not step.done and step.reason and env.step_count == 1


def test_fallback_lets_the_episode_go_on():
    env = TextEnv("trust", 1, on_invalid="fallback")
    env.reset(1)
    done = False
    while not done:
        step = env.step("no idea")
        assert not step.valid and not step.aborted and step.action
        done = step.done
    rows = [json.loads(line) for line in env.transcript("lost").splitlines()]
    assert all(row["fallback"] and row["completion"] == "no idea" for row in rows)
    found = read_replay(env.transcript("lost").encode()).verify()
    assert found["fits"] and found["episodes"][0]["score"] == round(env.score, 4)


def test_repair_reads_the_object_in_a_fence():
    text = 'Sure:\n```json\n{"action_type": "skip"}\n```'
    for reader, valid in (("strict", False), ("repair", True)):
        env = TextEnv("trust", 1, reader=reader)
        env.reset(0)
        step = env.step(text)
        assert (step.valid, step.repaired) == (valid, valid)


def test_parse_takes_no_step():
    env = TextEnv("cluster", 1)
    env.reset(0)
    assert env.parse('{"action_type": "tick"}') == "tick"
    with pytest.raises(ValueError, match="unknown_action"):
        env.parse('{"action_type": "dance"}')
    assert env.step_count == 0


def test_seeds_are_drawn_from_the_range():
    env = TextEnv("trust", seeds=(5, 8))
    env.reset(1)
    drawn = []
    for _ in range(20):
        env.reset()
        drawn.append(env.seed)
    assert set(drawn) == {5, 6, 7}
    env.reset(1)
    again = []
    for _ in range(20):
        env.reset()
        again.append(env.seed)
    assert again == drawn


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"style": "long"}, "compact, reference"),
        ({"reader": "lenient"}, "strict, repair"),
        ({"invalid_reward": 0.5}, "-1 to 0"),
        ({"invalid_reward": float("nan")}, "-1 to 0"),
        ({"on_invalid": "ignore"}, "end or fallback"),
    ],
)
def test_unknown_options_are_refused(options, words):
    with pytest.raises(ValueError, match=words):
        TextEnv("trust", **options)


def test_any_text_is_an_answer():
    for world in sentinel_env.WORLDS:
        for text in ("", " ", "\0", "{" * 5000, "NaN", '{"action_type": 1e999}', "é" * 3000, "[]", '{"a":1}{"b":2}'):
            env = TextEnv(world)
            env.reset(0)
            assert not env.step(text).valid
    env = TextEnv("trust")
    with pytest.raises(ValueError, match="reset"):
        env.step("{}")
    with pytest.raises(ValueError):
        env.reset(-1)
