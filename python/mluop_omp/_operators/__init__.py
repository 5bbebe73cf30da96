"""The operators, each written once for the arrays of any library.

The functions take the Arrays of their arguments first. They convert arguments, allocate outputs
and call the C function, which checks all the rest. `out` are the outputs, for callers that provide
them.
"""
