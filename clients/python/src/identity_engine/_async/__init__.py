"""The asynchronous client, written by hand; ``_sync`` is made of it."""
