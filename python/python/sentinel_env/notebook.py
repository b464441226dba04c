"""A moment of an episode in a notebook, drawn by the page."""

from __future__ import annotations

import html
from collections.abc import Iterable

import numpy as np

from sentinel_env.worlds import world as describe

#: Letters of the actions of ``trust`` in an address of the page, by number.
TRUST_ACTS = (*(f"d{slot}" for slot in range(5)), *(f"v{slot}" for slot in range(5)), "s", "k")


class EpisodeView:
    """An episode at one action, as Jupyter shows it.

    The element loads the page in a frame, so `page` must be reachable from the browser that shows the
    notebook, and the notebook must be trusted to run scripts.

    Args:
        world: Name of the world.
        seed: Seed of the episode.
        page: Address of the page, such as that of ``cargo xtask demo`` or of a Space.
        task: Name or number of the task; by default the first one.
        policy: Who plays: a scripted policy, or ``grpo`` for the page's trained one under `rules` (default).
        streams: As for `Episode`.
        rules: As for `Episode`.
        t: Number of actions before the moment; by default the end.
        actions: Own actions instead, for ``trust``: the numbers that its episodes take.
    """

    def __init__(
        self,
        world: str,
        *,
        seed: int,
        page: str = "http://localhost:8080/",
        task: int | str | None = None,
        policy: str | None = None,
        streams: str | None = None,
        rules: str | None = None,
        t: int | None = None,
        actions: Iterable[int] | None = None,
    ) -> None:
        name = describe(world).task_name(task) or describe(world).tasks[0]
        self.page = page if page.endswith("/") else page + "/"
        own = None
        if actions is not None:
            if world != "trust":
                raise ValueError(f"own actions are shown of trust, not of {world}: leave out actions, or name a policy")
            numbers = [int(number) for number in np.asarray(list(actions), np.int64).reshape(-1)]
            if any(not 0 <= number < len(TRUST_ACTS) for number in numbers):
                raise ValueError(f"actions of trust are 0 to {len(TRUST_ACTS) - 1}, not {numbers}")
            own = "".join(TRUST_ACTS[number] for number in numbers)
        self.attributes = {
            "page": self.page,
            "world": world,
            "task": name.removeprefix("task"),
            "seed": str(int(seed)),
            "policy": policy,
            "streams": streams,
            "rules": rules,
            "t": None if t is None else str(int(t)),
            "at": None if own is None else "0",
            "acts": own,
        }

    def _repr_html_(self) -> str:
        given = ((name, value) for name, value in self.attributes.items() if value is not None)
        attributes = " ".join(f'{name}="{html.escape(value)}"' for name, value in given)
        script = html.escape(self.page + "sentinel-episode.js")
        return f'<script async src="{script}"></script>\n<sentinel-episode {attributes}></sentinel-episode>'
