"""The families of open models whose files are understood, and how a file says which one it is.

Traits and defaults are those of each family's published model code. Totals were compared with the
parameters that this code itself instantiates (see tests/core/data/hf_totals.json).
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile

from core.hf.dense import DENSE, LEGACY
from core.hf.family import Family
from core.hf.keys import Keys, refusal, shown
from core.hf.routed import HYBRID, ROUTED

_TEXT_KEYS = ("text_config", "llm_config", "language_config")
_TASK_ENDINGS = ("Classification", "QuestionAnswering", "MaskedLM", "RewardModel")
_ENDINGS = ("forcausallm", "forconditionalgeneration", "lmheadmodel", "model")
_MAX_ARCHITECTURES = 8
_ALIKE = 4

FAMILIES: dict[str, Family] = {**DENSE, **LEGACY, **ROUTED, **HYBRID}
"""Every understood family by its model_type."""

ALIASES: dict[str, str] = {
    "qwen2_vl": "qwen2",
    "qwen2_vl_text": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_5_vl_text": "qwen2",
    "qwen3_vl_text": "qwen3",
    "qwen3_vl_moe_text": "qwen3_moe",
    "glm4v_text": "glm4",
    "glm4v_moe_text": "glm4_moe",
    "RefinedWebModel": "falcon",
}
"""model_type of text models that are a known family under another name."""

WRAPPERS: dict[str, str] = {
    "gemma3": "gemma3_text",
    "paligemma": "gemma",
    "mistral3": "mistral",
    "llava": "llama",
    "llava_next": "llama",
    "llava_next_video": "llama",
    "llava_onevision": "qwen2",
    "vipllava": "llama",
    "qwen2_vl": "qwen2",
    "qwen2_5_vl": "qwen2",
    "qwen2_audio": "qwen2",
    "qwen3_vl": "qwen3",
    "qwen3_vl_moe": "qwen3_moe",
    "qwen3_5": "qwen3_5_text",
    "qwen3_5_moe": "qwen3_5_moe_text",
    "llama4": "llama4_text",
    "idefics2": "mistral",
    "idefics3": "llama",
    "smolvlm": "llama",
    "aya_vision": "cohere2",
    "cohere2_vision": "cohere2",
    "internvl": "qwen2",
    "internvl_chat": "qwen2",
    "glm4v": "glm4",
    "glm4v_moe": "glm4_moe",
    "kimi_vl": "deepseek_v3",
    "kimi_k25": "deepseek_v3",
    "voxtral": "llama",
}
"""model_type of models with a text model inside, and the family where that part names none."""


def open_text_model(config: Mapping[str, object]) -> tuple[Keys, Keys, Family]:
    """The file's own keys, those of the text model in it (the same, where it is one), its family.

    Raises `ValueError` naming model_type, architectures or text_config where the family is not
    known or the file contradicts itself.
    """
    outer = Keys(config, "published", {})
    outer.only("is_encoder_decoder", False, "It has a second cache, of the encoder's output.")
    outer_type = outer.text("model_type")
    for key in _TEXT_KEYS:
        inner = config.get(key)
        if inner is None:
            continue
        if not isinstance(inner, Mapping):
            raise refusal(key, inner, "an object that describes the text model")
        if outer_type is not None and outer_type not in WRAPPERS:
            raise _unknown_type("model_type", outer_type, f"a model with a {key} inside")
        keys, family = _text_model(inner, f"{key}.", WRAPPERS.get(outer_type or ""))
        return outer, keys, family
    if outer_type in WRAPPERS and outer_type not in ALIASES:
        raise ValueError(
            f"text_config is missing: model_type {outer_type} has its text model inside it. "
            "Add it as it was published with the model."
        )
    keys, family = _text_model(config, "", None)
    keys.used = {**outer.used, **keys.used}
    return keys, keys, family


def _text_model(
    config: Mapping[str, object], prefix: str, usual: str | None
) -> tuple[Keys, Family]:
    asked = Keys(config, "published", {}, prefix)
    named = asked.text("model_type")
    architecture = _architecture(config, prefix)
    model_type = named or usual or architecture
    if model_type is None:
        raise ValueError(
            f"{prefix}model_type is missing, and {prefix}architectures names no known model: the "
            'layers cannot be known without it. Add it, for example "model_type": "llama".'
        )
    family = FAMILIES.get(ALIASES.get(model_type, model_type))
    if family is None:
        raise _unknown_type(f"{prefix}model_type", model_type, "an architecture")
    if architecture is not None and FAMILIES[architecture] is not family:
        raise ValueError(
            f"{prefix}model_type is {shown(model_type)}, but {prefix}architectures names "
            f"{shown(architecture)}: they build different layers. Keep the one that is right."
        )
    defaults = {**family.nested, **family.omitted} if prefix else family.omitted
    keys = Keys(config, model_type, defaults, prefix)
    keys.used.update(asked.used)
    if named is None:
        because = "architectures names it" if usual is None else "as the model around it has it"
        if usual is None:
            keys.find("architectures")
        keys.assumed.append(
            f"{prefix}model_type is not in the file; taken as {model_type}: {because}."
        )
    return keys, family


def _architecture(config: Mapping[str, object], prefix: str) -> str | None:
    """The family that architectures names, if it is a known one."""
    listed = config.get("architectures")
    if listed is None:
        return None
    if not isinstance(listed, list | tuple) or not all(isinstance(item, str) for item in listed):
        raise refusal(f"{prefix}architectures", listed, "a list of class names")
    for item in listed[:_MAX_ARCHITECTURES]:
        if item.endswith(_TASK_ENDINGS):
            raise refusal(
                f"{prefix}architectures",
                item,
                "a model that generates text",
                "Use the config.json of the language model it was made from.",
            )
        plain = item.lower()
        for ending in _ENDINGS:
            plain = plain.removesuffix(ending)
        for model_type in FAMILIES:
            if _bare(model_type) == _bare(plain):
                return model_type
    return None


def _bare(name: str) -> str:
    return name.lower().replace("_", "").replace("text", "")


def _unknown_type(key: str, value: str, what: str) -> ValueError:
    known = sorted({*FAMILIES, *ALIASES, *WRAPPERS})
    alike = {name: _shared_start(name, value) for name in known}
    close = max(alike, key=alike.__getitem__)
    nearest = f" (the nearest is {close})" if alike[close] >= _ALIKE else ""
    return ValueError(
        f"{key} is {shown(value)}, {what} that is not known here, and its layers would be a guess. "
        f"Use the config.json of one of the {len(known)} known types, such as llama, qwen3, "
        f"deepseek_v3 or gemma3{nearest}."
    )


def _shared_start(one: str, other: str) -> int:
    pairs = zip(one, other, strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
