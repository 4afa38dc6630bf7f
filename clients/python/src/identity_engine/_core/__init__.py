"""What both clients share: rules without input or output."""
