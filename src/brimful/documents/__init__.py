"""Documents and the places in them that matter."""
