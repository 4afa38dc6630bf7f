"""The observation buffer: one implementation, on an event loop, for both clients."""
