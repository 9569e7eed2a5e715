"""The release of this program: journals name it."""

RELEASE = "0.1.0"
