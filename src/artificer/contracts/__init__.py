"""Pure: what a tool promises. Definitions, manifests, argument types, argv, output, names."""
