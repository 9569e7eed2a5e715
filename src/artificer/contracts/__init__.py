"""Pure: what a tool promises. Definitions, schemas, argument types, names, scopes, output."""
