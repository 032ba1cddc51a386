"""Bytes and what they mean: places, tokens, kinds, boundaries."""
