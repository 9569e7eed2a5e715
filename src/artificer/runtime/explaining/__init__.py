"""The reasons why a run stands where it does, and what to do next."""
