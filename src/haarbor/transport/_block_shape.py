"""Shape of the blocks of folder means, shared by the code that plans them and the kernels that fill them."""

__all__ = ["OUTER_PER_BLOCK", "SECTION_GRAIN"]

# Outer folders per block: as many float64 as a vector register holds. It is a constant of the compiled
# loops, which become single instructions; a block with fewer folders is filled up with zeros.
OUTER_PER_BLOCK = 8

# Sections end at multiples of this many columns, so that sums run over whole vector registers.
SECTION_GRAIN = 16
