"""`section()` refuses what a link would put into a notice."""

from __future__ import annotations

import pytest

from widgets.notebook import cell_session


def test_a_cell_takes_the_state_a_link_would_carry() -> None:
    session = cell_session("paging", {"model": "70B", "devices": 8, "lock": ["model", "device"]})
    assert session.layout.mode == "cell"
    assert session.layout.section == "paged-caches"
    assert session.layout.locked == {"model", "device"}
    assert session.model.choices["model"] == "70B"


@pytest.mark.parametrize(
    ("name", "state", "complaint"),
    [
        ("pagign", {}, "No section is called “pagign”; there are prefill-decode"),
        ("memory", {"devices": -3}, "“devices=-3” was left out"),
        ("memory", {"colour": "red"}, "Nothing on this page is called “colour”"),
        ("memory", {"theme": "sepia"}, "“theme” is light or dark"),
    ],
)
def test_a_cell_refuses_in_words(name: str, state: dict[str, object], complaint: str) -> None:
    with pytest.raises(ValueError, match=complaint):
        cell_session(name, dict(state))
