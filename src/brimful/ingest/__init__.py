"""Folders, files and texts into a store: the one way in."""
