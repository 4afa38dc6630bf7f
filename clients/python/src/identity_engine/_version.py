"""Version of this package, equal to the version of its service."""

__version__ = "1.1.0"
