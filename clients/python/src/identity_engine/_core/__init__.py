"""Rules that both clients share, mostly without input or output."""
