"""The command line: a file per command. Data goes to stdout, everything else to stderr."""
