"""Arrays, counts, seeds and messages: what is not exactly as documented is refused in words and changes nothing."""

import json
import pathlib
import subprocess
import sys
import threading

import gymnasium as gym
import numpy as np
import pytest

import sentinel_env
from sentinel_env import Episode, EpisodeEnded, SentinelEnv, SentinelVectorEnv, TextEnv, load_policy

SEED_MAX = 2**63 - 1
NOT_SEEDS = (-1, 2**63, 2**64 - 1, 2**64, 1.5, "seven")
SEED_WORDS = r"is not an integer from 0 to 2\*\*63 - 1"


def native_arrays(count=4, columns=12, features=156):
    """Returns the arrays that `_native.Batch.step` writes, by name."""
    return {
        "rewards": np.zeros(count),
        "terminated": np.zeros(count, bool),
        "truncated": np.zeros(count, bool),
        "observations": np.zeros((count, features), np.float32),
        "masks": np.zeros((count, columns), bool),
        "final_observations": np.zeros((count, features), np.float32),
        "scores": np.zeros(count),
    }


def wrong_layouts(array):
    """Returns arrays of the same type that are not exactly like `array`, with a part of the error."""
    shape = array.shape
    found = [
        (np.zeros((*shape, 1), array.dtype), "shape"),
        (np.zeros(tuple(size + 1 for size in shape), array.dtype), "shape"),
        (np.zeros(tuple(2 * size for size in shape), array.dtype)[tuple(slice(None, None, 2) for _ in shape)], "contiguous"),
    ]
    if len(shape) == 2:
        found += [
            (np.zeros(shape, array.dtype, order="F"), "contiguous"),
            (np.zeros(shape[::-1], array.dtype), "shape"),
            (np.zeros(shape[::-1], array.dtype).T, "contiguous"),
            (np.zeros(array.size, array.dtype), "shape"),
        ]
    if array.itemsize > 1:
        raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
        found.append((raw.view(array.dtype).reshape(shape), "aligned"))
    return found


def test_observations_are_written_into_exact_arrays_only():
    env = SentinelVectorEnv(4, "trust", 3)
    env.reset(seed=0)
    right, *_ = env.step([0, 1, 2, 3])
    out = np.zeros_like(right)
    env.write_observations(out)
    np.testing.assert_array_equal(out, right)
    for wrong, words in wrong_layouts(out):
        with pytest.raises(ValueError, match=words):
            env.write_observations(wrong)
        assert not wrong.any()
    out.flags.writeable = False
    for wrong in (out, np.zeros((4, 156)), None, [0.0]):
        with pytest.raises(TypeError):
            env.write_observations(wrong)


@pytest.mark.parametrize("name", list(native_arrays()))
def test_steps_write_into_exact_arrays_only(name):
    env = SentinelVectorEnv(4, "trust", 3)
    env.reset(seed=0)
    before = np.empty((4, 156), np.float32)
    env.write_observations(before)
    actions = np.zeros(4, np.int64)
    arrays = native_arrays()
    for wrong, words in wrong_layouts(arrays[name]):
        with pytest.raises(ValueError, match=f"{name} .*{words}"):
            env._batch.step(actions, **{**arrays, name: wrong})
    arrays[name].flags.writeable = False
    with pytest.raises(TypeError, match=name):
        env._batch.step(actions, **arrays)
    after = np.empty_like(before)
    env.write_observations(after)
    np.testing.assert_array_equal(before, after)


def test_arrays_that_overlap_are_refused():
    env = SentinelVectorEnv(4, "trust", 3)
    env.reset(seed=0)
    arrays = native_arrays()
    flags, numbers = np.zeros(6, bool), np.zeros(6)
    for shared in (
        {"terminated": flags[:4], "truncated": flags[:4]},
        {"terminated": flags[:4], "truncated": flags[2:]},
        {"rewards": numbers[:4], "scores": numbers[1:5]},
        {"rewards": numbers[:4], "terminated": numbers.view(bool)[:4]},
    ):
        with pytest.raises(TypeError, match="borrowed"):
            env._batch.step(np.zeros(4, np.int64), **{**arrays, **shared})
    actions = np.zeros(4, np.int64)
    with pytest.raises(TypeError, match="borrowed"):
        env._batch.step(actions, **{**arrays, "rewards": actions.view(np.float64)})


def test_masks_and_seeds_are_written_into_exact_arrays_only():
    env = SentinelVectorEnv(4, "cluster", 1)
    env.reset(seed=0)
    masks, seeds = env.action_masks(), np.zeros(4, np.uint64)
    episode = Episode("cluster", 1, seed=0)
    for write, right in (
        (env._batch.write_masks, masks),
        (env._batch.write_seeds, seeds),
        (episode._native.write_mask, masks[0].copy()),
        (episode._native.write_observation, episode.observation()),
        (lambda out: episode.observation(out=out), episode.observation()),
    ):
        write(right)
        for wrong, words in wrong_layouts(right):
            with pytest.raises(ValueError, match=words):
                write(wrong)


ROWS = np.array([[0, 1, 2, 3, 0, 0, 0, 0, 0], [1, 0, 0, 0, 4, 0, 0, 0, 0]])


@pytest.mark.parametrize(
    "wrong", [ROWS.T.copy(), ROWS.T, ROWS.reshape(-1), ROWS.reshape(3, 6), ROWS[:1], ROWS[0], ROWS[None], 0]
)
def test_actions_of_another_shape_are_refused(wrong):
    env = SentinelVectorEnv(2, "cluster", 1)
    before, _ = env.reset(seed=0)
    with pytest.raises(ValueError, match=r"shape .* must have \(2, 9\)"):
        env.step(wrong)
    after = np.empty_like(before)
    env.write_observations(after)
    np.testing.assert_array_equal(before, after)
    with pytest.raises(ValueError, match=r"must have \(2, 9\)"):
        flags = np.zeros(2, bool)
        env._batch.step(np.asarray(wrong, np.int64), np.zeros(2), flags, flags.copy())


def test_actions_of_the_right_shape_are_taken_in_any_layout():
    played = []
    wide = np.zeros((4, 18), np.int64)
    wide[::2, ::2] = ROWS
    for actions in (ROWS, ROWS.tolist(), np.asfortranarray(ROWS), wide[::2, ::2], ROWS.astype(np.uint8), ROWS.T.copy().T):
        env = SentinelVectorEnv(2, "cluster", 1)
        env.reset(seed=0)
        played.append(env.step(actions)[0])
        np.testing.assert_array_equal(played[0], played[-1])


def test_single_actions_have_the_documented_shapes():
    cluster = SentinelEnv("cluster", 1)
    cluster.reset(seed=0)
    digest = cluster.episode.digest
    for wrong in (np.zeros((3, 3), np.int64), np.zeros((9, 1), np.int64), np.zeros((1, 9), np.int64), 0, [], [0] * 10):
        with pytest.raises(ValueError, match=r"must have \(9,\)"):
            cluster.step(wrong)
        with pytest.raises((ValueError, TypeError)):
            cluster.episode._native.step(np.asarray(wrong, np.int64))
    assert cluster.episode.digest == digest
    trust = SentinelEnv("trust", 3)
    trust.reset(seed=0)
    for right in (3, np.int64(3), np.array(3), np.array([3]), [3], np.uint8(3)):
        trust.step(right)
    assert trust.episode._native.action_count == 6
    for wrong in ([[3]], [3, 3], []):
        with pytest.raises((ValueError, TypeError)):
            trust.step(wrong)
    for wrong in (True, 3.0, "3", None, np.array([None])):
        with pytest.raises(TypeError, match="integers"):
            trust.step(wrong)
    assert trust.episode._native.action_count == 6


def test_actions_that_change_during_a_step_do_no_harm():
    """The actions are copied first: a step is taken whole or not at all, whatever another thread writes."""
    count = 2048
    env = SentinelVectorEnv(count, "trust", masks=False)
    env.reset(seed=0)
    actions, stop = np.zeros(count, np.int64), threading.Event()

    def write():
        value = 0
        while not stop.is_set():
            value += 1
            actions.fill((0, 10**6, -1, 0)[value % 4])

    writer = threading.Thread(target=write)
    writer.start()
    try:
        before, after = np.empty((2, count, 156), np.float32)
        for _ in range(60):
            env.write_observations(before)
            try:
                env.step(actions)
            except ValueError:
                env.write_observations(after)
                np.testing.assert_array_equal(before, after)
    finally:
        stop.set()
        writer.join()


#: Makes vector environments under a limit of the address space, and prints the kinds of errors.
HUGE = """
import resource, sentinel_env
resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
for world in sentinel_env.WORLDS:
    for count in (2**63, 2**63 - 1, 2**62, 2**40, 10**9, 10**7, 2**64, 10**30, 0, -1):
        for features in (True, False):
            try:
                sentinel_env.SentinelVectorEnv(count, world, features=features)
            except (ValueError, MemoryError) as error:
                print(world, count, type(error).__name__, error)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of Linux")
def test_counts_that_no_memory_holds_are_an_error():
    done = subprocess.run([sys.executable, "-c", HUGE], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    lines = done.stdout.splitlines()
    for world in sentinel_env.WORLDS:
        for count, words in ((2**40, "GiB"), (10**9, "GiB"), (2**63 - 1, "GiB"), (2**63, "num_envs"), (0, "num_envs")):
            found = [line for line in lines if line.startswith(f"{world} {count} ")]
            assert len(found) == 2 and all(words in line for line in found), lines
        assert any("make fewer" in line for line in lines if line.startswith(f"{world} {10**7} "))


@pytest.mark.parametrize("seed", NOT_SEEDS)
def test_values_that_are_no_seeds_are_refused_everywhere(seed):
    env, text, vector = SentinelEnv("trust"), TextEnv("trust"), SentinelVectorEnv(2, "trust")
    vector.reset(seed=0)
    policy = load_policy("trust", "bayes")
    for call in (
        lambda: Episode("trust", seed=seed),
        lambda: env.reset(seed=seed),
        lambda: text.reset(seed),
        lambda: vector.reset(seed=seed),
        lambda: vector.reset(seed=[0, seed]),
        lambda: vector._batch.reset_at(0, seed),
        lambda: vector._batch.seek(seed),
        lambda: policy.run(seed),
        lambda: policy.run([0, seed]),
        lambda: policy.record(seed),
    ):
        # A text is a list of its letters, which are no seeds either.
        with pytest.raises(ValueError, match=SEED_WORDS):
            call()
    row = json.loads(policy.record(5).splitlines()[0])
    with pytest.raises(ValueError, match="seed"):
        sentinel_env.write_replay(pathlib.Path("unused"), json.dumps({**row, "seed": seed}) + "\n")


def test_the_largest_seed_works_everywhere(tmp_path):
    policy = load_policy("trust", "bayes")
    assert Episode("trust", seed=np.uint64(SEED_MAX)).seed == SEED_MAX
    assert SentinelEnv("trust").reset(seed=SEED_MAX)[1]["seed"] == SEED_MAX
    assert SentinelEnv("trust", seeds=(SEED_MAX, SEED_MAX + 1)).reset()[1]["seed"] == SEED_MAX
    assert SentinelVectorEnv(2, "trust").reset(seed=SEED_MAX - 1)[1]["seed"].tolist() == [SEED_MAX - 1, SEED_MAX]
    env = TextEnv("trust")
    env.reset(SEED_MAX)
    assert env.seed == SEED_MAX
    assert policy.run(SEED_MAX)["seed"].tolist() == [SEED_MAX]
    path = tmp_path / "replay.jsonl"
    sentinel_env.write_replay(path, policy.record(SEED_MAX))
    assert sentinel_env.read_replay(path).verify()["fits"]
    for make in (SentinelEnv, SentinelVectorEnv, TextEnv):
        with pytest.raises(ValueError, match=r"0 to 2\*\*63 - 1"):
            make(world="trust", seeds=(2**63, 2**63 + 5))
    with pytest.raises(ValueError, match=SEED_WORDS):
        sentinel_env._native.Batch("trust", 1, 0, 2**63 + 1)


def test_seeds_of_a_vector_environment_do_not_run_over():
    env = SentinelVectorEnv(3, "trust")
    with pytest.raises(ValueError, match=SEED_WORDS):
        env.reset(seed=SEED_MAX - 1)
    with pytest.raises(gym.error.ResetNeeded):
        env.step([0, 0, 0])


def drawn(env):
    """Returns the seeds of the next episodes that are drawn from the range."""
    return [env.reset()[1]["seed"] for _ in range(3)]


def test_a_refused_reset_of_one_environment_changes_nothing():
    env, other = SentinelEnv("trust"), SentinelEnv("trust")
    for each in (env, other):
        each.reset(seed=3)
        each.step(0)
    for seed in NOT_SEEDS:
        with pytest.raises(ValueError):
            env.reset(seed=seed)
    assert env.np_random_seed == 3 and env.episode.step_count == other.episode.step_count
    assert drawn(env) == drawn(other)
    env, other = TextEnv("trust"), TextEnv("trust")
    for each in (env, other):
        each.reset(3)
        each.step('{"action_type": "skip"}')
    for seed in NOT_SEEDS:
        with pytest.raises(ValueError):
            env.reset(seed)
    assert (env.seed, env.step_count, env.prompt()) == (3, 1, other.prompt())
    assert [env.reset() for _ in range(3)] == [other.reset() for _ in range(3)]


@pytest.mark.parametrize(
    "wrong",
    [
        {"seed": [5, -1]},
        {"seed": [5, None, 6]},
        {"seed": [5, 2**63]},
        {"seed": [5, 1.5]},
        {"seed": [5, "six"]},
        {"seed": 2**63 - 1},
        {"seed": 7, "options": {"reset_mask": np.array([True])}},
        {"seed": 7, "options": {"reset_mask": np.array([1, 0])}},
        {"seed": 7, "options": {"reset_mask": True}},
    ],
)
def test_a_refused_reset_of_a_vector_environment_changes_nothing(wrong):
    env, other = SentinelVectorEnv(2, "trust", 1), SentinelVectorEnv(2, "trust", 1)
    for each in (env, other):
        each.reset(seed=3)
        each.step([0, 1])
    with pytest.raises(ValueError):
        env.reset(**wrong)
    assert env.np_random_seed == 3
    for _ in range(60):
        one, two = env.step([11, 3]), other.step([11, 3])
        np.testing.assert_array_equal(one[0], two[0])
        np.testing.assert_array_equal(one[4]["seed"], two[4]["seed"])


def test_no_reset_mask_is_that_of_all():
    env = SentinelVectorEnv(2, "trust")
    for options in (None, {}, {"reset_mask": None}):
        assert env.reset(seed=5, options=options)[1]["seed"].tolist() == [5, 6]


@pytest.mark.parametrize("copy", [True, False])
@pytest.mark.parametrize("mode", ["next_step", "same_step"])
def test_what_a_caller_does_with_infos_changes_nothing(copy, mode):
    env = SentinelVectorEnv(3, "trust", 1, copy=copy, autoreset_mode=mode)
    other = SentinelVectorEnv(3, "trust", 1, autoreset_mode=mode)

    def spoil(value):
        for part in value.values() if isinstance(value, dict) else value if isinstance(value, tuple) else [value]:
            if isinstance(part, (dict, tuple)):
                spoil(part)
            elif part.flags.writeable:
                part.fill(0)

    env.reset(seed=[4, 5, 6])
    other.reset(seed=[4, 5, 6])
    for _ in range(100):
        one, two = env.step([11, 5, 0]), other.step([11, 5, 0])
        for a, b in zip(one[:4], two[:4]):
            np.testing.assert_array_equal(a, b)
        for key, value in two[4].items():
            if key not in ("final_info",):
                np.testing.assert_array_equal(one[4][key], value)
        spoil(one)
    _, infos = env.reset()
    for key in ("seed", "_seed", "_action_mask"):
        assert infos[key].flags.writeable is copy
    spoil(infos)
    assert env.reset(seed=[7, 8, 9])[1]["seed"].tolist() == [7, 8, 9]


def test_what_a_message_says_besides_its_action_is_in_the_payload():
    episode = Episode("polyguard", "DDI-medium", seed=7)
    episode.step({"candidate_id": "cand_01", "rationale": "egfr", "foo": 1})
    info = episode.payload()["info"]
    assert info["failure_reasons"] and "foo" in info["failure_detail"]


def test_a_message_is_read_as_it_is():
    """Two ids are an attempt to confuse the parser (spec polyguard §9.2), which a dict cannot hold."""
    episode = Episode("polyguard", "DDI-medium", seed=7, rules="hardened")
    reward, terminated, _ = episode.step_json('{"candidate_id": "cand_01", "candidate_id": "cand_02"}')
    assert (reward, terminated) == (0.001, True) and episode.done
    assert "parser_exploit" in json.dumps(episode.payload())
    for text in ('{"candidate_id": "cand_01"}', "broken", '{"session_id": "other"}'):
        with pytest.raises(EpisodeEnded):
            episode.step_json(text)
    for world in ("trust", "cluster"):
        episode = Episode(world, seed=0)
        for text in (
            "",
            "broken",
            "[]",
            '["delegate", "S1", null, null, null, null]',
            '\ufeff{"action_type": "skip"}',
            '{"action_type": "skip", "action_type": "skip"}',
            '{"action_type": "tick", "session_id": "of another"}',
            '{"action_type": "skip"} {}',
            "NaN",
        ):
            with pytest.raises(ValueError):
                episode.step_json(text)
        with pytest.raises(ValueError):
            episode.step({"action_type": "tick", "session_id": "of another"})
        assert episode.step_count == 0 and not episode.done
    assert episode.step_json('{"action_type": "tick", "metadata": {}}') == Episode("cluster", seed=0).step({"action_type": "tick"})


def test_a_closed_vector_environment_is_not_stepped():
    env = SentinelVectorEnv(2, "trust")
    env.reset(seed=0)
    env.close()
    for call in (lambda: env.step([0, 0]), env.reset):
        with pytest.raises(gym.error.ClosedEnvironmentError, match="closed"):
            call()


def test_modes_that_do_not_exist_are_refused_in_words():
    with pytest.raises(ValueError, match="next_step or same_step"):
        SentinelVectorEnv(2, "trust", autoreset_mode=gym.vector.AutoresetMode.DISABLED)
    with pytest.raises(ValueError, match="features=True"):
        SentinelVectorEnv(2, "trust", features=False, render_mode="rgb_array")


@pytest.mark.parametrize("name", ["Trust", "Cluster", "PolyGuard"])
def test_rgb_array_draws_the_observation(name):
    """Stable-Baselines3 and CleanRL make environments with this mode."""
    env = gym.make(f"sentinel_env:Sentinel/{name}-v0", render_mode="rgb_array")
    observation, _ = env.reset(seed=0)
    image = env.render()
    assert image.dtype == np.uint8 and image.ndim == 3 and image.shape[2] == 3 and image.shape[0] % 2 == image.shape[1] % 2 == 0
    assert observation.max() > 0.5
    top = 0
    for section in env.unwrapped.world.sections:
        values = np.clip(section.of(observation), -1, 1)
        red = image[top : top + 8 * section.rows : 8, : 8 * len(section.features) : 8, 0]
        np.testing.assert_allclose(red, np.where(values < 0, 20 - 40 * values, 20 + 230 * values), atol=1)
        top += 8 * section.rows + 4
    assert top == len(image)
    env.step(env.action_space.sample())
    assert not np.array_equal(env.render(), image)
    vector = gym.make_vec(f"sentinel_env:Sentinel/{name}-v0", num_envs=2, render_mode="rgb_array")
    vector.reset(seed=0)
    frames = vector.render()
    assert len(frames) == 2
    np.testing.assert_array_equal(frames[0], image)
    assert SentinelVectorEnv(2).render() is None
