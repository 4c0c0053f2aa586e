"""What pickles call: functions of compiled modules have no name that a pickle could find."""
from __future__ import annotations

from . import _karakuri


def snapshot(data: bytes) -> _karakuri.Snapshot:
    return _karakuri._snapshot(data)


def world(state: tuple[bytes, list[tuple[str, bytes]], bytes]) -> _karakuri.World:
    return _karakuri._world(state)
