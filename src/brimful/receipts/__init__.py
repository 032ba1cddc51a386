"""What went into a context, provable later: written, read back without trust, checked."""
