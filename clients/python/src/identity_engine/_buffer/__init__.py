"""The buffer of observations: one implementation, on an event loop, for both clients."""
