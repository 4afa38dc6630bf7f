"""Package version, equal to the service's version."""

__version__ = "1.1.0"
