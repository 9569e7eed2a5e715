"""Pure: the table of run kinds. Prompts are files; wiring reads them."""
