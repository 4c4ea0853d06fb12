"""The page's colours: one colour, one meaning, in both themes, chosen once here."""

from __future__ import annotations

from typing import Literal

Theme = Literal["light", "dark"]


def _owners(*colours: str) -> dict[str, str]:
    """owner1, owner2, …: whose block it is; the request's letter is always written beside it."""
    return {f"owner{place}": colour for place, colour in enumerate(colours, 1)}


# decode_pale is decode where text stands on it.
# compute, bandwidth, prefill and decode stay apart under the three colour-vision deficiencies.
COLOURS: dict[Theme, dict[str, str]] = {
    "light": {
        "paper": "#fdfcf9",
        "ink": "#1c1b19",
        "soft": "#625e56",
        "line": "#e4dfd4",
        "card": "#ffffff",
        "wash": "#f6f2ea",
        "compute": "#8C4B1E",
        "bandwidth": "#284B72",
        "prefill": "#E74ED3",
        "decode": "#339E84",
        "decode_pale": "#a3d3c8",
        "idle": "#b8b2a6",
        "focus": "#1a5fb4",
        "alarm": "#a02c1c",
        **_owners("#7b4fa3", "#b8620b", "#1f7a99", "#a8386b", "#62791c", "#3f5fbf"),
    },
    "dark": {
        "paper": "#16171a",
        "ink": "#e9e6df",
        "soft": "#aaa59a",
        "line": "#34353a",
        "card": "#1d1f23",
        "wash": "#222429",
        "compute": "#B07111",
        "bandwidth": "#4C7AD0",
        "prefill": "#D83E6E",
        "decode": "#4CDFD7",
        "decode_pale": "#306c6b",
        "idle": "#5c5d63",
        "focus": "#8ab4f8",
        "alarm": "#ff9a8a",
        **_owners("#b795e0", "#e0a05a", "#6cbfdc", "#e58bb3", "#a9bf62", "#8fa6f0"),
    },
}

# Fonts that are there already, so that none is fetched.
TYPEFACES = {
    "serif": 'Charter, "Bitstream Charter", "Iowan Old Style", Cambria, "DejaVu Serif", serif',
    "sans": 'system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif',
}

THEMES: tuple[Theme, ...] = ("light", "dark")


def colour(role: str, theme: Theme) -> str:
    """The hex colour that a role has in a theme."""
    return COLOURS[theme][role]


def css_variables() -> str:
    """Both themes as CSS custom properties, for the page and everything inside it.

    Paper is light. A chart that was drawn in the dark theme keeps its ground there, `drawn-on`.
    """
    dark = ":root[data-theme=dark]"
    return (
        f"{css_block('light', ':root')}\n@media not print{{{css_block('dark', dark)}}}\n"
        f"@media print{{{dark}{{--drawn-on:{colour('card', 'dark')};}}}}"
    )


def css_block(theme: Theme, selector: str) -> str:
    """One theme, with the typefaces, as CSS custom properties of what `selector` picks."""
    properties = {**TYPEFACES, **COLOURS[theme]}
    lines = "".join(f"--{role}:{value};" for role, value in properties.items())
    return f"{selector}{{color-scheme:{theme};{lines}}}"
