"""The definitions of the operators, in NumPy, of any floating dtype."""
