"""How deep a JSON text is nested, asked before a parser reads it.

Python's parser calls itself for each level. Where the stack is small, in a browser, it would take
the whole program down before it could say that the text is too deep.
"""

from __future__ import annotations

import re

_STRING = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_BRACKET = re.compile(r"[\[\]{}]")


def nested_beyond(text: str, levels: int) -> bool:
    """Whether more than `levels` brackets are open at some place outside of strings.

    >>> nested_beyond('{"a": [[1], [2]]}', 3), nested_beyond('{"a": [[1], [2]]}', 2)
    (False, True)
    >>> nested_beyond('["[[[["]', 1)
    False
    """
    if text.count("[") + text.count("{") <= levels:
        return False
    depth = 0
    for bracket in _BRACKET.findall(_STRING.sub("", text)):
        depth += 1 if bracket in "[{" else -1
        if depth > levels:
            return True
    return False
