"""Public helpers for tests: conformance suites for every port, and servers to test against."""
