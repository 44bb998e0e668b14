"""Which models are captured, and right: a table by hand, and the tests and page made from it."""
