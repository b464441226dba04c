"""The reference page says what the package has."""

import re

import gymnasium as gym
import numpy as np
import pytest

import sentinel_env
from sentinel_env import Episode, SentinelEnv, SentinelVectorEnv
from sentinel_env.worlds import TRAINING_SEEDS


@pytest.fixture(scope="module")
def page(root):
    """The text of the page."""
    return (root / "docs/reference/python.md").read_text(encoding="utf-8")


def rows_of(page, heading):
    """Returns the cells of the first table whose heading starts so."""
    lines = iter(page.splitlines())
    for line in lines:
        if line.startswith(heading):
            break
    next(lines)
    found = []
    for line in lines:
        if not line.startswith("|"):
            break
        found.append([cell.strip() for cell in line.strip("|").split("|")])
    assert found
    return found


def largest_task(world):
    """Returns the task with the most values of an action, as the table has it."""
    return max(world.tasks, key=lambda task: sum(world.action_sizes(task)))


def test_table_of_shapes_is_that_of_the_code(page):
    rows = rows_of(page, "| world | observation |")
    assert [row[0] for row in rows] == list(sentinel_env.WORLDS)
    for name, size, sections, action, mask in rows:
        world = sentinel_env.world(name)
        assert int(size) == world.observation_size == len(world.feature_names)
        found = [f"`{s.name}` " + (f"{s.rows} × " if s.rows > 1 else "") + str(len(s.features)) for s in world.sections]
        assert sections == ", ".join(found)
        env = SentinelEnv(name, largest_task(world))
        env.reset(seed=0)
        assert int(mask) == len(env.action_masks())
        if isinstance(env.action_space, gym.spaces.Discrete):
            assert action.startswith(f"`Discrete({env.action_space.n})`")
        else:
            assert action == f"`MultiDiscrete`, {len(env.action_space.nvec)} numbers"


def test_sizes_of_cluster_tasks_are_documented(page):
    (jobs, gpus) = re.search(r"task1 has (\d+)\s+jobs and (\d+) GPUs", page).groups()
    sizes = dict(zip(sentinel_env.world("cluster").action_names, sentinel_env.world("cluster").action_sizes(1)))
    assert (int(jobs), int(gpus)) == (sizes["allocate_job"], sizes["allocate_gpu"])
    for name in sizes:
        assert f"`{name}`" in page


def test_table_of_arrays_is_that_of_the_code(page):
    rows = rows_of(page, "| array | shape |")
    assert len(rows) == 4
    for name, sizes in (("trust", 1), ("cluster", 9)):
        env = SentinelVectorEnv(3, name)
        env.reset(seed=0)
        assert env.action_space.shape == ((3,) if sizes == 1 else (3, sizes))
        env.step(env.action_space.sample())
        features = env.world.observation_size
        env.write_observations(np.empty((3, features), np.float32))
        Episode(name, seed=0).observation(out=np.empty(features, np.float32))


def test_seeds_and_names_are_documented(page):
    assert f"`{TRAINING_SEEDS}`".replace(" ", "") in page.replace(" ", "")
    assert "0 to 2**63 - 1" in page and sentinel_env._native.SEED_MAX == 2**63 - 1
    for error in ("EpisodeEnded", "ValueError", "TypeError", "MemoryError", "OSError", "ResetNeeded", "ClosedEnvironmentError"):
        assert f"`{error}`" in page
    for name in sentinel_env.WORLDS:
        assert f"`{name}`" in page
