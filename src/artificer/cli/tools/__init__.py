"""Commands for manifests and policy."""
