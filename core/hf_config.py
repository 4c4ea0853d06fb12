"""A published config.json turned into a ModelSpec, saying which keys it used and what it assumed.

`python -m core.hf_config FILE` prints the reading as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from core.console import run
from core.hf.checkpoint import read_checkpoint
from core.hf.decoder import Decoder, read_decoder
from core.hf.families import open_text_model
from core.hf.family import Family
from core.hf.keys import Keys, refusal, shown
from core.hf.text import load_object
from core.model_spec import ModelSpec

MAX_PARAMETERS = 10**13
"""Ten times the largest published model: sizes that multiply to more are a mistake."""

_TOWER_KEYS = {
    "vision_config": "vision",
    "vision_tower": "vision",
    "visual": "vision",
    "audio_config": "audio",
    "speech_config": "audio",
}
_NEXT_TOKEN_KEYS = ("num_nextn_predict_layers", "mtp_num_hidden_layers")
_FOREIGN = (
    "kv_lora_rank",
    "q_lora_rank",
    "num_experts",
    "num_local_experts",
    "n_routed_experts",
    "moe_num_experts",
    "linear_num_value_heads",
    "mamba_d_state",
    "ssm_state_size",
    "state_size",
    "attn_layer_period",
    "attn_layer_indices",
    "hybrid_override_pattern",
    "hybrid_layer_pattern",
    "linear_attn_config",
    "block_configs",
    "index_topk",
    "num_kv_shared_layers",
    "cla_share_factor",
    "cross_attention_layers",
    "add_cross_attention",
    "n_head_kv",
    "pruned_heads",
)
"""Keys of parts that change the parameters or the cache; where nothing read them, the file is of
another architecture than it says."""


@dataclass(frozen=True, slots=True)
class HfReading:
    """A model as read from its configuration.

    `used` holds (key, value) pairs, long lists as counts of what they hold; `assumed` a sentence
    for each value that was not in the file; `ignored` what the file has and the model leaves out.
    """

    model: ModelSpec
    used: tuple[tuple[str, object], ...]
    assumed: tuple[str, ...]
    ignored: tuple[str, ...]


def from_hf_config(config: dict[str, object], name: str = "") -> ModelSpec:
    """The model that a config.json, as published with any open model of a known family, describes.

    Raises `ValueError` that names the key, its value and the remedy. Worked value: Llama-3-8B's
    file gives 8,030,261,248 parameters and 131,072 B of bf16 cache a token.
    """
    return read_hf_config(config, name).model


def read_hf_config(config: dict[str, object], name: str = "") -> HfReading:
    """Like `from_hf_config`, with the keys used, what was assumed and what was left out."""
    if not isinstance(config, Mapping):
        raise refusal("The config", config, "an object of keys", "Use a model's config.json.")
    outer, keys, family = open_text_model(config)
    decoder = read_decoder(keys, family, _tied(keys, outer, family))
    _refuse_absurd(keys, decoder)
    holder = keys if keys.config.get("quantization_config") else outer
    checkpoint = read_checkpoint(holder, decoder.weights, decoder.experts)
    _refuse_foreign_parts(keys)
    _note_what_is_left_out(keys, outer)
    experts = decoder.experts
    idle = experts.parameters - experts.active_parameters if experts else 0
    model = ModelSpec(
        name=name or f"{keys.family} model",
        parameters=decoder.parameters,
        attention=decoder.attention,
        lookup_parameters=decoder.lookup_parameters,
        active_parameters=decoder.parameters - idle,
        experts=experts,
        state_byte_per_sequence=decoder.state_byte,
        checkpoint=checkpoint,
        source="its published config.json",
    )
    sources = (keys,) if outer is keys else (outer, keys)
    return HfReading(
        model=model,
        used=tuple(pair for source in sources for pair in source.used.items()),
        assumed=tuple(sentence for source in sources for sentence in source.assumptions()),
        ignored=tuple(sentence for source in sources for sentence in source.ignored),
    )


def parse_config_text(text: str | bytes, name: str = "") -> HfReading:
    """The reading of a file's contents.

    Raises `ValueError` for what `core.hf.text.load_object` and `read_hf_config` refuse.
    """
    return read_hf_config(load_object(text), name)


def _tied(keys: Keys, outer: Keys, family: Family) -> bool:
    """Whether the head shares the embedding's table.

    The text model's own key decides, then the file's, then the family.
    """
    flag = ("tie_word_embeddings", family.tied)
    if outer is keys or not outer.stands(flag[0]):
        return keys.flag(flag)
    if not keys.stands(flag[0]):
        return outer.flag(flag)
    inside, around = keys.flag(flag), outer.flag(flag)
    if inside is not around:
        keys.assumed.append(
            f"{keys.named(flag[0])} is {shown(inside)} and {flag[0]} is {shown(around)}; the text "
            "model's own counts."
        )
    return inside


def _refuse_absurd(keys: Keys, decoder: Decoder) -> None:
    if max(decoder.parameters, decoder.state_byte) <= MAX_PARAMETERS:
        return
    large = [
        f"{key} {shown(value)}"
        for key, value in keys.used.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and value > 1_000
    ]
    raise ValueError(
        f"The sizes multiply to {decoder.parameters:,} parameters and {decoder.state_byte:,} B of "
        f"state a sequence; {MAX_PARAMETERS:,} of either is the most that is taken. Correct the "
        f"one that is wrong: {', '.join(large)}."
    )


def _refuse_foreign_parts(keys: Keys) -> None:
    for key in _FOREIGN:
        value = keys.config.get(key)
        if keys.named(key) in keys.used or value in (None, False, 0, 1, [], {}):
            continue
        raise ValueError(
            f"{keys.named(key)} is {shown(value)}, but a {keys.family} model has no such part: the "
            "file describes another architecture. Correct model_type, or remove the key."
        )


def _note_what_is_left_out(keys: Keys, outer: Keys) -> None:
    for key, tower in _TOWER_KEYS.items():
        if outer.config.get(key):
            outer.ignored.append(
                f"The {tower} tower ({key}) is left out: only the text model decodes."
            )
    for key in _NEXT_TOKEN_KEYS:
        value = keys.config.get(key)
        if value:
            keys.ignored.append(
                f"The next-token prediction layer ({keys.named(key)} {shown(value)}) is left out: "
                "plain decoding does not run it."
            )
    window = keys.config.get("sliding_window")
    if window and keys.named("sliding_window") not in keys.used:
        keys.ignored.append(
            f"{keys.named('sliding_window')} {shown(window)} is left out: a {keys.family} model "
            "has no window."
        )


def as_json(reading: HfReading) -> dict[str, object]:
    """The reading as plain values, with the bf16 cache of one sequence at several lengths."""
    model = reading.model
    lengths = (1, 1024, 4096, 8192, 131072)
    return {
        "name": model.name,
        "parameters": model.parameters,
        "active_parameters": model.active_parameters,
        "lookup_parameters": model.lookup_parameters,
        "attention": [asdict(group) for group in model.attention],
        "experts": asdict(model.experts) if model.experts else None,
        "state_byte_per_sequence": model.state_byte_per_sequence,
        "kv_bytes_per_token_bf16": int(model.kv_bytes_per_token()),
        "kv_bytes_per_token_beyond_windows_bf16": int(model.kv_bytes_per_token_beyond_windows()),
        "kv_bytes_per_sequence_bf16": {
            str(length): int(model.kv_bytes_per_sequence(length)) for length in lengths
        },
        "checkpoint": asdict(model.checkpoint) if model.checkpoint else None,
        "keys_used": dict(reading.used),
        "assumed": list(reading.assumed),
        "left_out": list(reading.ignored),
    }


def main(arguments: Sequence[str]) -> int:
    """Print the reading of a file as JSON; return 1, with one line on stderr, where it cannot."""
    asked = any(word in ("-h", "--help") for word in arguments)
    if asked or len(arguments) != 1:
        print("usage: python -m core.hf_config FILE", file=sys.stdout if asked else sys.stderr)
        return 0 if asked else 2
    path = Path(arguments[0])
    try:
        reading = parse_config_text(path.read_bytes(), path.stem)
    except OSError as error:
        print(f"{path}: {error.strerror}", file=sys.stderr)
        return 1
    except ValueError as error:
        print(error, file=sys.stderr)
        return 1
    print(json.dumps(as_json(reading), indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(run(main))
