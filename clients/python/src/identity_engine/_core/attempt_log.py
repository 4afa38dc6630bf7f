"""The log of attempts: the logger ``identity_engine``, and its level from the environment."""

from __future__ import annotations

import logging
import sys

from identity_engine.errors import ConfigurationError

LOGGER = logging.getLogger("identity_engine")
"""Logs attempts at DEBUG. With a level from the environment, logs failed attempts at WARNING."""

VARIABLE = "IDENTITY_ENGINE_LOG"
"""Environment variable with the level."""

_LEVELS = {"debug": logging.DEBUG, "warn": logging.WARNING}


class _Stderr(logging.Handler):
    """Writes lines to the present ``sys.stderr``, unless the application configured logging."""

    def emit(self, record: logging.LogRecord) -> None:
        if logging.root.handlers:
            return
        try:
            print(self.format(record), file=sys.stderr)
        except Exception:
            self.handleError(record)


_stderr = _Stderr()
_stderr.setFormatter(logging.Formatter("%(name)s: %(message)s"))


def failure_level_of(level: str | None) -> int:
    """Sets up the log, and returns the logging level of a failed attempt.

    ``level`` is the value of ``IDENTITY_ENGINE_LOG``: ``debug`` shows every attempt, ``warn`` only
    failed attempts. Without a value, the application's own logging configuration decides. Raises
    ``ConfigurationError`` for another value.
    """
    if not level:
        return logging.DEBUG
    if level not in _LEVELS:
        raise ConfigurationError(f"{VARIABLE} must be debug or warn, not {level!a}")
    LOGGER.setLevel(_LEVELS[level])
    LOGGER.addHandler(_stderr)
    return logging.WARNING
