"""The Sentinel environment: a client for its server."""

from .client import SentinelEnv

__all__ = ["SentinelEnv"]
