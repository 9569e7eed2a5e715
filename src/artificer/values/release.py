"""The release of this program: journals name it."""

RELEASE = "0.2.0"
