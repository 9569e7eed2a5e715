"""An example of a package that adds a backend, a provider and a storage to Artificer."""
