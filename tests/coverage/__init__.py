"""Which models are captured, and right: a table of model types by hand, and the tests and page made from it."""
