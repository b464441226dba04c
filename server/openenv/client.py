"""A client of the Sentinel server."""

from openenv.core import GenericEnvClient


class SentinelEnv(GenericEnvClient):
    """A client whose actions and observations are dictionaries.

    `reset` takes `world`, `task`, `rules`, `streams`, `seed`, `prompt` and `reward`. The schemas of a
    world are at `/schema?world=NAME` of the server.
    """
