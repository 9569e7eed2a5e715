"""The API of the studio: everything it does, for programs, under ``/api/v1``."""
