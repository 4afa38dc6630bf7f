"""The synchronous client, made of ``_async`` by tools/generate_sync.py."""
