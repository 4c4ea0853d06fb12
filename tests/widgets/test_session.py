"""One reader's session: messages in, state out; a refusal changes nothing."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from bokeh.document import Document

from core.models import MODELS
from widgets.page import section_classes
from widgets.section import UNEXPECTED, csv_text
from widgets.session import Session

LLAMA = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "num_hidden_layers": 32,
    "vocab_size": 128256,
    "tie_word_embeddings": False,
}


@pytest.fixture
def session() -> Session:
    return Session(section_classes(), "", "light")


def drop(session: Session, text: str, name: str = "config.json") -> None:
    session.receive({"config": {"name": name, "text": text}})


def state(session: Session) -> tuple[Any, ...]:
    return (
        session.model.scenario,
        dict(session.model.choices),
        session.query(),
        {slug: model.inputs() for slug, model in session.models.items()},
    )


def test_the_scenario_reaches_every_section(session: Session) -> None:
    session.receive({"set": {"model": "70B", "devices": 4}})
    for model in session.models.values():
        assert model.scenario.model.name == "70B"
        assert model.scenario.devices == 4
    assert session.query() == "model=70B&devices=4"


def test_a_section_may_set_the_scenario(session: Session) -> None:
    session.bring("memory").receive({"set": {"cache": "fp8"}})
    assert session.model.scenario.cache_byte == 1.0
    assert session.bar.state["values"]["cache"]["value"] == "fp8"


def test_a_config_becomes_the_model_of_the_page(session: Session) -> None:
    drop(session, json.dumps(LLAMA))
    assert session.model.scenario.model.parameters == 8_030_261_248
    found = session.bar.state["found"]
    facts = dict(map(tuple, found["facts"]))
    assert facts["parameters"] == "8,030,261,248"
    assert facts["cache per token (slope)"] == "131,072 B = 128 KiB"
    assert facts["fixed part per sequence"] == "0 B = 0 B"
    assert ["hidden_size", "4096"] in found["used"]
    for model in session.models.values():
        assert model.scenario.model.parameters == 8_030_261_248


def test_a_link_carries_the_dropped_config(session: Session) -> None:
    drop(session, json.dumps(LLAMA))
    again = Session(section_classes(), session.query(), "light")
    assert again.bar.state["notices"] == []
    assert again.model.scenario.model.attention == session.model.scenario.model.attention
    assert again.model.scenario.model.parameters == 8_030_261_248


def test_a_link_keeps_the_name_of_the_dropped_file(session: Session) -> None:
    drop(session, json.dumps(LLAMA), "meta-llama--Meta-Llama-3-8B.json")
    again = Session(section_classes(), session.query(), "light")
    assert again.model.scenario.model.name == "meta-llama--Meta-Llama-3-8B"
    assert again.query() == session.query()


def test_a_link_leaves_out_what_a_long_config_does_not_need(session: Session) -> None:
    labels = {str(i): f"label {i * 7919 % 10007}" for i in range(3_000)}
    drop(session, json.dumps({**LLAMA, "id2label": labels}), "labelled.json")
    assert session.bar.state["notices"] == []
    assert len(session.query()) <= 4_000
    again = Session(section_classes(), session.query(), "light")
    assert again.bar.state["notices"] == []
    assert again.model.scenario == session.model.scenario


def test_a_config_too_long_for_a_link_is_named_and_left_out(session: Session) -> None:
    spared = [f"model.layers.{i}.{i * 7919**3 % 10**9 + 7:x}" for i in range(3_000)]
    quantised = {"quant_method": "fp8", "weight_block_size": None, "ignore": spared}
    drop(session, json.dumps({**LLAMA, "quantization_config": quantised}), "mine.json")
    assert session.model.scenario.model.name == "mine"
    assert "mine is too long for an address" in session.bar.state["notices"][-1]
    assert "config" not in session.query()


def test_two_byte_order_marks_change_nothing(session: Session) -> None:
    before = state(session)
    drop(session, "\ufeff\ufeff" + json.dumps(LLAMA))
    assert "is not JSON" in session.bar.state["notices"][0]
    assert state(session) == before


def test_a_quantised_config_counts_its_own_bytes(session: Session) -> None:
    session.receive({"set": {"model": "gpt-oss-120b"}})
    assert session.model.scenario.weights_byte == 65_248_815_744
    assert "published quantised" in session.bar.state["notices"][0]
    session.receive({"set": {"model": "8B"}})
    assert session.model.choices["weights"] == "bf16"


def bad(**changes: Any) -> str:
    return json.dumps({**LLAMA, **changes})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "empty"),
        ("not json", "JSON"),
        ("[1, 2]", "object"),
        ('"text"', "object"),
        ("[" * 100_000, "nest"),
        (bad(hidden_size=-4096), "hidden_size"),
        (bad(hidden_size="4096"), "hidden_size"),
        (bad(hidden_size=[4096]), "hidden_size"),
        (bad(num_hidden_layers=10**9), "num_hidden_layers"),
        (bad(num_attention_heads=0), "num_attention_heads"),
        (bad(num_key_value_heads=7), "num_key_value_heads"),
        (bad(model_type="perceiver"), "perceiver"),
        (bad().replace("4096", "NaN", 1), "finite"),
        (json.dumps({"model_type": "llama"}), "is missing"),
        (json.dumps({k: v for k, v in LLAMA.items() if k != "vocab_size"}), "vocab_size"),
        (bad(filler="x" * 2_000_000), "at most 1,000,000"),
    ],
)
def test_a_bad_config_is_refused_by_name_and_changes_nothing(
    session: Session, text: str, said: str
) -> None:
    session.receive({"set": {"model": "14B"}})
    before = state(session)
    drop(session, text, "mine.json")
    notice = session.bar.state["notices"][0]
    assert notice.startswith("mine.json was not taken: ")
    assert said in notice
    assert "Traceback" not in notice
    assert state(session) == before


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"set": {"devices": 0}}, "Devices must be"),
        ({"set": {"devices": 2.5}}, "Devices must be"),
        ({"set": {"devices": "many"}}, "Devices must be"),
        ({"set": {"devices": 10**7}}, "1,024"),
        ({"set": {"overhead": -1}}, "Overhead"),
        ({"set": {"overhead": float("nan")}}, "Overhead"),
        ({"set": {"compute": 0}}, "Efficiency of compute"),
        (
            {"set": {"peak": "fast"}},
            "Peak, TFLOP/s must be a number from 0.01 to 1,000,000, got fast",
        ),
        ({"set": {"rate": 0}}, "Bandwidth"),
        ({"set": {"memory": -80}}, "Memory"),
        ({"set": {"model": "9B"}}, "model must be one of"),
        ({"set": {"model": ["8B"]}}, "model must be one of"),
        ({"set": {"device": "<script>"}}, "device must be one of"),
        ({"set": {"nonsense": 1}}, "no choice called nonsense"),
        ({"set": {}}, "must name"),
        ({"set": 5}, "must name"),
        ({"theme": "blue"}, "theme must be one of"),
    ],
)
def test_a_bad_choice_is_named_and_changes_nothing(
    session: Session, message: dict[str, Any], said: str
) -> None:
    before = state(session)
    session.receive(message)
    assert said in session.bar.state["notices"][0]
    assert state(session) == before


@pytest.mark.parametrize("message", [None, 5, "x", {}, {"a": 1}, {"set": {}, "theme": "dark"}])
def test_a_message_of_no_known_form_is_ignored(session: Session, message: Any) -> None:
    before = state(session)
    session.receive(message)
    for slug in session.models:
        session.bring(slug).receive(message)
    assert state(session) == before


def test_a_fault_of_ours_is_said_plainly_and_logged(
    session: Session, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(session.model, "apply", lambda _: 1 / 0)
    with caplog.at_level(logging.ERROR):
        session.receive({"set": {"devices": 2}})
    assert session.bar.state["notices"] == [UNEXPECTED]
    assert "ZeroDivisionError" in caplog.text


def test_a_custom_device_takes_its_three_numbers(session: Session) -> None:
    session.receive({"set": {"device": "custom", "peak": 100, "rate": 1, "memory": 48}})
    assert session.model.scenario.ridge_flop_per_byte == 100
    assert session.model.scenario.memory_byte == 48e9


def test_reset_takes_everything_back_to_the_defaults(session: Session) -> None:
    session.receive({"set": {"model": "70B", "devices": 4}})
    session.bring("prefill-decode").receive({"set": {"batch": 7}})
    session.receive({"query": ""})
    assert session.query() == ""
    assert session.model.scenario.model == MODELS["8B"]


def test_going_back_takes_over_the_address(session: Session) -> None:
    session.receive({"query": "?batch=5&model=14B&context=oops"})
    assert session.bring("prefill-decode").model.batch == 5
    assert session.model.scenario.model.name == "14B"
    assert "context=oops" in session.bar.state["notices"][0]


def test_a_section_is_made_when_the_reader_comes_near(session: Session) -> None:
    assert session.views == {}
    assert all(model.result is None for model in session.models.values())
    session.receive({"near": "memory"})
    session.receive({"near": "memory"})
    session.receive({"near": "no such section"})
    assert list(session.views) == ["memory"]
    assert len(session.boxes["memory"]) == 1
    assert session.models["memory"].result.summary
    assert session.models["prefill-decode"].result is None


def test_a_section_that_comes_late_has_the_state_of_the_link_and_the_scenario() -> None:
    late = Session(section_classes(), "tokens=16384&model=14B", "dark")
    late.receive({"set": {"devices": 2}})
    view = late.bring("memory")
    assert view.model.tokens == 16384
    assert view.model.scenario.devices == 2
    assert view.theme == "dark"


def test_the_theme_reaches_every_chart(session: Session) -> None:
    view = session.bring("prefill-decode")
    view.build()
    axis = view.chart("roofline").figure.xaxis[0]
    light = axis.axis_label_text_color
    session.receive({"theme": "dark"})
    assert axis.axis_label_text_color != light


def test_arithmetic_travels_only_while_it_is_open(session: Session) -> None:
    view = session.bring("prefill-decode")
    assert view.card.state["result"]["arithmetic"] == {}
    view.receive({"open": ["step", "nonsense", 5]})
    assert list(view.card.state["result"]["arithmetic"]) == ["step"]


def test_a_prediction_keeps_its_answer_to_itself_until_asked(session: Session) -> None:
    view = session.bring("prefill-decode")
    assert "answer" not in view.card.spec["prediction"]
    said: list[dict[str, Any]] = []
    view.card.tell = said.append
    view.receive({"answer": "156"})
    assert said == [{"verdict": said[0]["verdict"]}]
    assert said[0]["verdict"].startswith("You said 156; the answer is never.")


def test_csv_keeps_every_digit_and_quotes_texts() -> None:
    text = csv_text({"part": ["a", 'say "hi"'], "byte": [16e9, 0.1 + 0.2]})
    assert text == 'part,byte\r\n"a",16000000000\r\n"say ""hi""",0.30000000000000004\r\n'


def test_every_published_config_can_be_dropped(session: Session) -> None:
    folder = Path(__file__).parents[1] / "core" / "data" / "configs"
    files = sorted(folder.glob("*.json"))
    assert len(files) >= 10
    for path in files:
        drop(session, path.read_text(encoding="utf-8"), path.name)
        assert not any("not taken" in text for text in session.bar.state["notices"]), path.name
        assert session.bar.state["found"]["facts"]


def test_every_chart_passes_bokehs_own_checks(
    session: Session, caplog: pytest.LogCaptureFixture
) -> None:
    """The server leaves them out, for speed: a glyph that names a column nobody made, say."""
    document = Document()
    for slug, box in session.boxes.items():
        session.bring(slug)
        document.add_root(box.get_root(document))
    with caplog.at_level(logging.WARNING, "bokeh"):
        document.validate()
    assert caplog.messages == []
    chart = session.views["memory"].chart("memory-bar")
    chart.figure.renderers[0].glyph.top = "nobody"
    with caplog.at_level(logging.WARNING, "bokeh"):
        document.validate()
    assert "nobody" in caplog.text
