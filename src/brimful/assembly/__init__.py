"""Windows to a context: deduplicate, order, choose, fill, write down, account for."""
