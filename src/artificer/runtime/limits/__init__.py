"""The budgets and request limits that hold for all runs of a world."""
