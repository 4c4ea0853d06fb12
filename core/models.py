"""Model presets: a dense textbook family from 1B to 405B, and published models by name."""

from __future__ import annotations

from core.model_spec import AttentionGroup, ModelSpec


def _textbook(
    billions: int, layers: int, heads: int, head_dim: int, kv_heads: int = 8
) -> ModelSpec:
    """A dense model with a round parameter count, all of it read in every step."""
    return ModelSpec(
        name=f"{billions}B",
        parameters=billions * 10**9,
        attention=(AttentionGroup.grouped(layers, heads, kv_heads, head_dim),),
        source="textbook: a round count over the shape of a published model of that size",
    )


TEXTBOOK: dict[str, ModelSpec] = {
    model.name: model
    for model in (
        _textbook(1, 16, 32, 64),
        _textbook(3, 28, 24, 128),
        _textbook(8, 32, 32, 128),
        _textbook(14, 40, 40, 128),
        _textbook(32, 64, 64, 128),
        _textbook(70, 80, 64, 128),
        _textbook(123, 88, 96, 128),
        _textbook(405, 126, 128, 128),
    )
}
"""The model-size slider, in order of size; grouped-query attention with 8 heads throughout."""

MODELS: dict[str, ModelSpec] = dict(TEXTBOOK)
"""All presets by name."""
