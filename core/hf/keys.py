"""Checked reading of one published configuration: what was read, what had to be assumed.

Every refusal names the key, the value it found and the remedy.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

from core.hf.names import ALIASES, LIMITS, OTHER_LIMITS

Flag: TypeAlias = bool | tuple[str, bool]
"""Fixed by the family, or (key, the family's default for files that leave it out)."""

REMEDY = "Write it as it was published with the model."

_LISTED_ITEMS = 8


def refusal(key: str, value: object, wanted: str, remedy: str = REMEDY) -> ValueError:
    """The error for a key whose value cannot be used."""
    return ValueError(f"{key} is {shown(value)}, but must be {wanted}. {remedy}")


def shown(value: object) -> str:
    """A value as it can be printed in one short line, however large or deep it is."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        # Python refuses to print integers of more than 4,300 digits.
        digits = value.bit_length() * 0.30103
        return f"{value:,}" if digits < 30 else f"a whole number of about {digits:,.0f} digits"
    if isinstance(value, float):
        return f"{value:,.10g}"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return f"a list of {len(value)}"
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"


class Keys:
    """One configuration object (the file itself, or the text model's part of it).

    `defaults` stand in for keys that the family's published files leave out. `used` maps each key
    that was read to its value, `assumed` holds a sentence for each value that was not in the file.
    """

    def __init__(
        self,
        config: Mapping[str, object],
        family: str,
        defaults: Mapping[str, int],
        prefix: str = "",
    ) -> None:
        self.config = config
        self.family = family
        self.used: dict[str, object] = {}
        self.assumed: list[str] = []
        self.ignored: list[str] = []
        self._defaults = defaults
        self._prefix = prefix
        self._flags: dict[str, bool] = {}

    def named(self, key: str) -> str:
        """The key with the path that leads to it in the file."""
        return f"{self._prefix}{key}"

    def find(self, name: str) -> tuple[str, object] | None:
        """The key under which `name` stands in the file, with its value; None if it is not there.

        A key that holds null counts as there. Raises `ValueError` where two names of one quantity
        disagree.
        """
        found: tuple[str, object] | None = None
        for alias in ALIASES.get(name, (name,)):
            present, value = self._at(alias)
            if not present:
                continue
            self.used[self.named(alias)] = _summary(value)
            if found is None or found[1] is None:
                found = (alias, value)
            elif value is not None and _scalar(value) != _scalar(found[1]):
                raise ValueError(
                    f"{self.named(found[0])} is {shown(found[1])} and {self.named(alias)} is "
                    f"{shown(value)}: both name one quantity. Keep the one that is right."
                )
        return found

    def _at(self, path: str) -> tuple[bool, object]:
        node: object = self.config
        for step in path.split("."):
            if not isinstance(node, Mapping):
                raise refusal(self.named(path.partition(".")[0]), node, "an object")
            if step not in node:
                return False, None
            node = node[step]
        return True, node

    def integer(self, name: str, low: int | None = None) -> int:
        """A whole number that must be there, unless this family is known to leave it out."""
        found = self.find(name)
        if found is not None and found[1] is not None:
            return self._whole(name, found[0], found[1], low)
        if found is None and name in self._defaults:
            value = self._defaults[name]
            self.assume_default(name, value)
            return value
        aliases = ALIASES.get(name, (name,))
        also = f" (or {', '.join(aliases[1:])})" if len(aliases) > 1 else ""
        state = "is missing" if found is None else "is null"
        raise ValueError(
            f"{self.named(name)} {state}: a {self.family} config needs it{also}. "
            "Add it as it was published with the model."
        )

    def integer_or(self, name: str, fallback: int, because: str, low: int | None = None) -> int:
        """A whole number, or `fallback` where the file leaves it out or says null."""
        found = self.find(name)
        if found is not None and found[1] is not None:
            return self._whole(name, found[0], found[1], low)
        if found is None and name in self._defaults:
            fallback, because = self._defaults[name], f"the default of {self.family}"
        state = "not in the file" if found is None else "null"
        self.assumed.append(f"{self.named(name)} is {state}; taken as {fallback:,}, {because}.")
        return fallback

    def optional(self, name: str, low: int | None = None) -> int | None:
        """A whole number, or None where the file leaves it out or says null."""
        found = self.find(name)
        if found is None or found[1] is None:
            return None
        return self._whole(name, found[0], found[1], low)

    def stands(self, name: str) -> bool:
        """Whether `name` has a value: not null, and in the file or among the family's defaults."""
        found = self.find(name)
        return name in self._defaults if found is None else found[1] is not None

    def _whole(self, name: str, key: str, value: object, low: int | None) -> int:
        least, most = LIMITS.get(name, OTHER_LIMITS)
        least = least if low is None else low
        wanted = f"a whole number from {least:,} to {most:,}"
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise refusal(self.named(key), value, wanted)
        # Comparing first keeps NaN, infinity and integers too large for a float out of int().
        if not least <= value <= most or value != int(value):
            raise refusal(self.named(key), value, wanted)
        return int(value)

    def flag(self, flag: Flag) -> bool:
        """True or false: the family's own, or the key's value, or the family's default for it."""
        if isinstance(flag, bool):
            return flag
        name, default = flag
        found = self.find(name)
        if found is None or found[1] is None:
            self._flags[name] = default
            return default
        if not isinstance(found[1], bool):
            raise refusal(self.named(found[0]), found[1], "true or false")
        return found[1]

    def only(self, name: str, value: object, meaning: str) -> None:
        """Refuse the file where `name` says anything but `value`, the only known variant."""
        found = self.find(name)
        if found is not None and found[1] is not None and _scalar(found[1]) != value:
            raise refusal(
                self.named(found[0]),
                found[1],
                f"{shown(value)}, the only {self.family} variant known here",
                f"{meaning} Use the config.json of a known variant.",
            )

    def words(self, name: str, allowed: Collection[str], count: int) -> tuple[str, ...] | None:
        """A list of `count` words, one for each layer; None where the file leaves it out."""
        found = self.find(name)
        if found is None or found[1] is None:
            return None
        key, value = self.named(found[0]), found[1]
        if not isinstance(value, list | tuple):
            raise refusal(key, value, f"a list of {count} words, one for each layer")
        for index, item in enumerate(value):
            if not isinstance(item, str) or item not in allowed:
                raise refusal(
                    f"{key}[{index}]",
                    item,
                    f"one of {', '.join(allowed)}",
                    f"A {self.family} model has no other kind of layer; use the file as published.",
                )
        if len(value) != count:
            raise ValueError(
                f"{key} has {len(value):,} entries, but num_hidden_layers is {count:,}: there must "
                "be one for each layer. Correct the one that is wrong."
            )
        return tuple(value)

    def indices(self, name: str, layers: int) -> frozenset[int] | None:
        """A list of layer numbers, counted from 0; None where the file leaves it out."""
        found = self.find(name)
        if found is None or found[1] is None:
            return None
        key, value = self.named(found[0]), found[1]
        if not isinstance(value, list | tuple):
            raise refusal(key, value, "a list of layer numbers")
        for item in value:
            if isinstance(item, bool) or not isinstance(item, int) or not 0 <= item < layers:
                raise refusal(key, item, f"a list of layer numbers from 0 to {layers - 1}")
        return frozenset(value)

    def switches(self, name: str, layers: int) -> tuple[int, ...] | None:
        """A list of 0 or 1, one for each layer; None where the file leaves it out or empty."""
        found = self.find(name)
        if found is None or not found[1]:
            return None
        value = found[1]
        if (
            not isinstance(value, list | tuple)
            or len(value) != layers
            or any(not isinstance(item, int) or item not in (0, 1) for item in value)
        ):
            wanted = f"a list of {layers} numbers (num_hidden_layers), each 0 or 1"
            raise refusal(self.named(found[0]), value, wanted)
        return tuple(value)

    def text(self, name: str) -> str | None:
        """A word, or None where the file leaves it out or says null."""
        found = self.find(name)
        if found is None or found[1] is None:
            return None
        if not isinstance(found[1], str):
            raise refusal(self.named(found[0]), found[1], "a word in quotes")
        return found[1]

    def assume_default(self, name: str, value: object) -> None:
        """Note that a key is not in the file and its family's default was taken."""
        self.assumed.append(
            f"{self.named(name)} is not in the file; "
            f"taken as {shown(value)}, the default of {self.family}."
        )

    def assumptions(self) -> tuple[str, ...]:
        """All assumptions, those about switches gathered into one sentence."""
        if not self._flags:
            return tuple(self.assumed)
        listed = ", ".join(f"{self.named(key)} {shown(on)}" for key, on in self._flags.items())
        sentence = f"Not in the file and taken as {self.family} has them: {listed}."
        return (*self.assumed, sentence)


def _scalar(value: object) -> object:
    """The value if it can be compared safely; containers compare by identity."""
    return value if isinstance(value, bool | int | float | str) else id(value)


def _summary(value: object) -> object:
    """A value as it is shown among the keys used: long lists as counts of what they hold."""
    if isinstance(value, str | Mapping):
        return value if isinstance(value, str) and len(value) <= 60 else shown(value)
    if not isinstance(value, list | tuple):
        return value
    words = [item if isinstance(item, str) else shown(item) for item in value]
    if len(words) <= _LISTED_ITEMS:
        return ", ".join(words)
    kinds = dict.fromkeys(words)
    if len(kinds) > _LISTED_ITEMS:
        return f"a list of {len(words)}"
    return ", ".join(f"{words.count(kind)} × {kind}" for kind in kinds)
