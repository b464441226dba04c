"""Observations as images, for wrappers that record videos."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sentinel_env.worlds import World

#: The only mode of the environments besides none.
RENDER_MODE = "rgb_array"

#: Width and height of the square of a feature, in pixels; the gap between sections is half of it.
CELL = 8

#: Colors of the values -1, 0 and 1, and of what is no feature.
LOW, ZERO, HIGH, EMPTY = np.array([(60, 90, 200), (20, 20, 20), (250, 230, 160), (70, 70, 70)], np.float32)


def observation_image(world: World, observation: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
    """Returns an observation as an image, ``[height, width, 3]``.

    Sections are below each other. A section has a row of squares for each of its rows, and a square for each
    feature: dark for 0, bright for 1, blue for -1; values beyond are drawn as these.
    """
    width = CELL * max(len(section.features) for section in world.sections)
    parts = []
    for section in world.sections:
        values = np.clip(section.of(observation), -1.0, 1.0)[..., None]
        colors = np.where(values < 0, ZERO + (ZERO - LOW) * values, ZERO + (HIGH - ZERO) * values)
        squares = colors.repeat(CELL, axis=0).repeat(CELL, axis=1)
        part = np.full((len(squares) + CELL // 2, width, 3), EMPTY)
        part[: len(squares), : squares.shape[1]] = squares
        parts.append(part)
    return np.concatenate(parts).astype(np.uint8)


def check_render_mode(mode: str | None) -> str | None:
    """Returns a mode of rendering.

    Raises:
        ValueError: If there is no such mode.
    """
    if mode not in (None, RENDER_MODE):
        raise ValueError(f"render_mode is {mode!r}: use {RENDER_MODE!r} or None")
    return mode
