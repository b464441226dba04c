"""Reinforcement-learning environments for agent oversight.

Worlds ``trust``, ``cluster`` and ``polyguard``, compiled from Rust: Gymnasium environments, text
environments for language models, scripted and trained policies, and replays.

>>> import gymnasium as gym
>>> env = gym.make("sentinel_env:Sentinel/Trust-v0", task=3)
>>> observation, info = env.reset(seed=42)
>>> observation.shape, int(info["action_mask"].sum())
((156,), 12)
"""

from sentinel_env._native import EpisodeEnded, __version__
from sentinel_env.envs import SentinelEnv, SentinelVectorEnv, register
from sentinel_env.episodes import Episode, Player, Policy, load_policy
from sentinel_env.replays import Replay, read_replay, write_replay
from sentinel_env.text import TextEnv, TextStep
from sentinel_env.worlds import WORLDS, Section, World, world

__all__ = [
    "WORLDS",
    "Episode",
    "EpisodeEnded",
    "Player",
    "Policy",
    "Replay",
    "Section",
    "SentinelEnv",
    "SentinelVectorEnv",
    "TextEnv",
    "TextStep",
    "World",
    "__version__",
    "load_policy",
    "read_replay",
    "register",
    "world",
    "write_replay",
]

register()
