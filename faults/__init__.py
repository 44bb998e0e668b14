"""A campaign of faults against Haarbor: hostile calls, damaged stores, kills, full disks, and more.

``make faults`` runs it and prints a table; ``python -m faults KIND --function NAME --seed N`` runs
one case of it again. Every case is a kind of fault, a function and a seed, and its outcome is one
of three: right, refused, or a defect. See docs/faults.md.
"""
