"""Tool environments for TRL, without TRL itself: what it discovers, and what the tools do."""

import inspect

import pytest

import sentinel_env
from sentinel_env import EpisodeEnded, load_policy
from sentinel_env.trl import ClusterTools, PolyguardTools, TrustTools, episode_rows

TOOLS = {
    TrustTools: {"delegate", "verify", "solve_independently", "skip"},
    ClusterTools: {"allocate", "preempt", "request_info", "verify", "tick"},
    PolyguardTools: {"choose"},
}


@pytest.mark.parametrize("cls", TOOLS)
def test_tools_are_found_as_trl_finds_them(cls):
    names = {name for name, _ in inspect.getmembers(cls, predicate=inspect.isfunction)}
    assert {"reset", "get_reward"} <= names
    tools = {name for name in names if not name.startswith("_")} - {"reset", "get_reward"}
    assert tools == TOOLS[cls]
    for name in tools:
        method = getattr(cls, name)
        signature = inspect.signature(method)
        documented = inspect.getdoc(method)
        for parameter in list(signature.parameters.values())[1:]:
            assert parameter.annotation is not inspect.Parameter.empty
            assert f"{parameter.name}: " in documented


def test_trust_tools_play_an_episode_to_its_end():
    env = TrustTools(task=1)
    first = env.reset(seed=7, prompt="ignored")
    assert first.strip().startswith("trust task1 step 0")
    calls = 0
    text = first
    while "ended" not in text:
        text = env.verify("S2") if calls % 2 else env.solve_independently()
        calls += 1
    assert 0 < env.get_reward() <= 1 and f"{env.get_reward():.3f}" in text
    with pytest.raises(EpisodeEnded):
        env.skip()
    assert env.reset(seed=7) == first


def test_wrong_argument_is_an_error_and_changes_nothing():
    env = TrustTools()
    env.reset(seed=0)
    with pytest.raises(ValueError, match="S9"):
        env.delegate("S9")
    assert env.delegate("S1").startswith("trust task1 step 1")
    cluster = ClusterTools(task=2)
    cluster.reset(seed=0)
    with pytest.raises(ValueError):
        cluster.allocate("JOB-999", "GPU-00", "S0")
    assert "step 1/" in cluster.tick()


def test_unfinished_episode_earns_less_than_a_finished_one():
    env = TrustTools(task=1)
    env.reset(seed=0)
    env.verify("S0")
    assert env.get_reward() < 0.2 and env.get_reward() == env.get_reward()


def test_other_worlds_answer_tool_calls():
    cluster = ClusterTools(task=1)
    text = cluster.reset(seed=1)
    job, gpu = (next(word for word in text.split() if word.startswith(kind)) for kind in ("JOB-", "GPU-"))
    assert "allocate" in cluster.allocate(job, gpu, "S3")
    assert "step 2/" in cluster.request_info(job)
    assert "step 3/" in cluster.verify(job)
    polyguard = PolyguardTools("DDI-hard")
    text = polyguard.reset(seed=1)
    candidate = next(word for word in text.split() if word.startswith("cand_"))
    assert "step 1/" in polyguard.choose(candidate, "eGFR")


def test_rows_name_the_episode():
    rows = episode_rows("trust", range(100_000, 100_003), task=3)
    assert [row["seed"] for row in rows] == [100_000, 100_001, 100_002]
    env = TrustTools()
    first = env.reset(**rows[1])
    assert "task3" in first and env._env.seed == 100_001
    with pytest.raises(ValueError):
        episode_rows("mars", [1])


def test_skyrl_rewards_sum_to_the_score():
    pytest.importorskip("skyrl_gym")
    from sentinel_env.skyrl import SentinelTextEnv

    env = SentinelTextEnv({"world": "trust", "task": 1}, {"seed": 5, "reward_spec": None})
    conversation, info = env.init([{"role": "system", "content": "Play."}])
    assert info["seed"] == 5 and [m["role"] for m in conversation] == ["system", "user"]
    policy = load_policy("trust", "bayes")
    total, done = 0.0, False
    while not done:
        out = env.step(env._env.example(policy))
        total, done = total + out["reward"], out["done"]
        assert bool(out["observations"]) is not done and out["metadata"]["valid"]
    assert total == policy.run(5, task=1)["score"][0] == env.get_metrics()["score"]
    with pytest.raises(ValueError, match="world"):
        SentinelTextEnv({})


def test_examples_of_the_documentation_run():
    import doctest

    for module in (sentinel_env, sentinel_env.episodes, sentinel_env.text):
        found = doctest.testmod(module)
        assert found.failed == 0 and found.attempted > 0, module
