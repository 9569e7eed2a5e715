"""An example of a package that adds one thing of each kind to Artificer."""
