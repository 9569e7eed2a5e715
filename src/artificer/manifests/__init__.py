"""Manifests: reading ``*.clad.toml`` files, whichever backend performs their calls."""
