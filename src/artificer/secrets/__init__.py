"""Finding the values of secrets: in the environment, in files, in a vault."""
