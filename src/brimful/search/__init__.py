"""Questions, and what in the corpus answers them."""
