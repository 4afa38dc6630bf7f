"""The version of this package, which is that of the service it was released with."""

__version__ = "1.1.0"
