"""Slow transcriptions of the theory, in loops, sharing no code with the package.

Trees are lists of levels from the root down, each a list of folder numbers, one an item.
"""
