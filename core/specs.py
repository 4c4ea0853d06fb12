"""The public face of models and devices: the records, and the presets by name."""

from core.devices import DEVICES, Arithmetic, DeviceSpec
from core.model_spec import MAX_TOKENS, AttentionGroup, Checkpoint, Experts, ModelSpec
from core.models import MODELS, TEXTBOOK

__all__ = [
    "DEVICES",
    "MAX_TOKENS",
    "MODELS",
    "TEXTBOOK",
    "Arithmetic",
    "AttentionGroup",
    "Checkpoint",
    "DeviceSpec",
    "Experts",
    "ModelSpec",
]
