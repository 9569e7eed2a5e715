"""The program ``artificer``, and ``python -m artificer``."""

from __future__ import annotations

from typing import NoReturn


def main() -> NoReturn:
    """Run the command line and exit. Ctrl-C ends it without a traceback while it is imported."""
    try:
        from artificer.cli.main import main as run

        run()
    except KeyboardInterrupt:
        raise SystemExit(130) from None


if __name__ == "__main__":
    main()
