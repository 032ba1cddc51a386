"""Records of what went into a context: written, read back without trust, checked."""
