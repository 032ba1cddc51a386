"""Columns of numbers, in memory."""
