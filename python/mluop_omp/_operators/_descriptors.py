"""Descriptors of what an operator computes, such as a convolution."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

from mluop_omp._library import Object, function, require


def descriptors(kind: str, set_name: str, parameters: str) -> Callable[..., Object]:
    """Returns a function of the parameters of a descriptor, which creates it and sets it.

    A tuple of integers is passed as an array of C ints.
    """
    create = function(f"mluOpCreate{kind}Descriptor", "p")
    set_parameters = function(set_name, parameters)

    class Descriptor(Object):
        _destroy = function(f"mluOpDestroy{kind}Descriptor", "p")

    def make(*arguments: Any) -> Object:
        descriptor = Descriptor.create(create)
        passed = (
            (ctypes.c_int * len(each))(*each) if isinstance(each, tuple) else each
            for each in arguments
        )
        require(set_parameters(descriptor, *passed))
        return descriptor

    return make
