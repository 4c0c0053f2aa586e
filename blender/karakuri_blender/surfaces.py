"""Materials: one entry of the scene file for each set of numbers that is in use."""
from __future__ import annotations

from . import frames

FIELDS = ("friction", "kinetic_friction", "restitution", "rolling_friction", "torsional_friction")
DEFAULT = {"static_friction": 0.5, "kinetic_friction": 0.5, "restitution": 0.0, "rolling_friction": 0.0,
           "torsional_friction": 0.0}


def mark(k) -> list:
    """Of the properties of an object: the name and the numbers."""
    return [k.material] + frames.numbers(getattr(k, field) for field in FIELDS)


def keys_of(numbers) -> dict:
    mu, sliding, bounce, rolling, torsional = numbers
    given = {"static_friction": mu, "kinetic_friction": min(mu, sliding), "restitution": bounce,
             "rolling_friction": rolling, "torsional_friction": torsional}
    return {key: value for key, value in given.items() if value != DEFAULT[key]}


def fill(k, entry: dict) -> None:
    """Into the properties of an object, from an entry of a scene file."""
    mu = entry.get("static_friction", entry.get("friction", 0.5))
    k.material = entry.get("name", "")
    k.friction = mu
    k.kinetic_friction = entry.get("kinetic_friction", entry.get("friction", mu))
    for field in FIELDS[2:]:
        setattr(k, field, entry.get(field, 0.0))


class Materials:
    """Names for numbers. Those of an imported file keep their names and their further numbers."""

    def __init__(self, known: list) -> None:
        self.entries = {entry["name"]: entry for entry in known}
        self.made = {}

    def name_for(self, k_mark: list) -> str:
        """Of the material with these numbers; empty where they are the engine's own."""
        wanted, numbers = k_mark[0], k_mark[1:]
        keys = keys_of(numbers)
        if not keys and not wanted:
            return ""
        identity = (wanted, *numbers)
        if identity in self.made:
            return self.made[identity]
        base = wanted or "surface"
        name, i = base, 2
        while name in self.entries and not self._is(name, keys):
            name, i = f"{base}_{i}", i + 1
        self.entries.setdefault(name, {"name": name, **keys})
        self.made[identity] = name
        return name

    def _is(self, name: str, keys: dict) -> bool:
        given = self.entries[name]
        return {k: v for k, v in given.items() if k != "name" and v != DEFAULT.get(k)} == keys

    def section(self) -> list:
        return list(self.entries.values())
