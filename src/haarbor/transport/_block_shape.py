"""Shape of the blocks of folder means, known to those who cut them and those who fill them."""

__all__ = ["OUTER_PER_BLOCK", "SECTION_GRAIN"]

# Outer folders in a block: one vector of float64. A constant of the compiled loops, which become
# single instructions; a block with fewer holds zeros in their place.
OUTER_PER_BLOCK = 8

# Sections end on multiples of this many columns, so that the sums run in whole vectors.
SECTION_GRAIN = 16
