"""Hits to windows, and windows to clusters."""
