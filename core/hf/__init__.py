"""How a published config.json is read, step by step; `core.hf_config` is the face of it."""
