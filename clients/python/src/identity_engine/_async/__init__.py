"""The asynchronous client, written by hand. ``_sync`` is generated from this package."""
