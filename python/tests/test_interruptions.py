"""What interrupts a call affects no other: an exception before any bytecode of the package, as of
Ctrl-C or a time-out, or a call there, as in a signal handler or a finalizer.
"""

from __future__ import annotations

import sys
import threading
from pathlib import Path
from typing import Any, Callable

import cases
import numpy as np
import pytest
import torch
from torch.utils._pytree import tree_leaves, tree_map

import mluop_omp
import mluop_omp.torch  # registers the operators
from mluop_omp import _library

PACKAGE = str(Path(mluop_omp.__file__).parent)
OPERATORS = {
    "NumPy": (lambda name: getattr(mluop_omp, name), cases.of_numpy),
    "PyTorch": (lambda name: getattr(torch.ops.mluop_omp, name), lambda _, arguments: arguments),
}


class Interrupt(BaseException):
    """As KeyboardInterrupt, which a debugger or pytest would take for the user's."""


def interrupt():
    raise Interrupt


def at_bytecode(number: int, action: Callable[[], None], call: Callable[[], Any]) -> int:
    """Calls `action` before a bytecode of the package in a call. Returns the bytecodes passed."""
    passed = 0

    def trace(frame, event, _):
        nonlocal passed
        if not frame.f_code.co_filename.startswith(PACKAGE):
            return None
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        if event == "opcode":
            passed += 1
            if passed == number:
                action()
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return passed


def equal(found: Any, expected: Any) -> bool:
    return all(tree_leaves(tree_map(np.array_equal, found, expected)))


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
@pytest.mark.parametrize("name", cases.NAMES)
@pytest.mark.parametrize("interface", OPERATORS)
def test_calls(interface, name, table):
    get, convert = OPERATORS[interface]
    operator = get(name)
    arguments = convert(name, cases.arguments(name))
    # A call that uses the same memory, and more of it.
    other = cases.of_numpy("dynamic_scatter", cases.arguments("dynamic_scatter", N=300))
    expected, expected_other = operator(*arguments), mluop_omp.dynamic_scatter(*other)
    results = []

    def reenter():
        results.append(equal(mluop_omp.dynamic_scatter(*other), expected_other))
        results.append(equal(operator(*arguments), expected))
        mluop_omp.release_memory()

    def call():
        results.append(equal(operator(*arguments), expected))

    bytecodes = at_bytecode(0, interrupt, call)
    # Operators share most of the bytecodes: one of 24.
    for number in range(1 + cases.NAMES.index(name) % 24, bytecodes + 1, 24):
        mluop_omp.release_memory()
        with pytest.raises(Interrupt):
            at_bytecode(number, interrupt, call)
        call()
        table.add("interrupted", interface, True)
        at_bytecode(number, reenter, call)
        table.add("re-entered", interface, True)
    assert all(results)
    assert len(_library.idle["native"]) <= 3


def test_interrupted_settings():
    for number in range(1, at_bytecode(0, pytest.fail, mluop_omp.release_memory) + 1):
        with pytest.raises(Interrupt):
            at_bytecode(number, interrupt, mluop_omp.release_memory)
        for name in reversed(_library.ALGORITHMS):
            mluop_omp.algorithm(name)
    assert mluop_omp.algorithm() == "native"


def test_a_call_runs_with_the_algorithm_that_it_began_with():
    """Another thread sets the algorithm before each bytecode: the call is never refused."""
    name = "masked_im2col"
    arguments = cases.of_numpy(name, cases.arguments(name))
    expected = mluop_omp.masked_im2col(*arguments)
    results = []

    def call():
        results.append(equal(mluop_omp.masked_im2col(*arguments), expected))

    def change():
        other = {"native": "device", "device": "native"}[mluop_omp.algorithm()]
        thread = threading.Thread(target=mluop_omp.algorithm, args=(other,))
        thread.start()
        thread.join()

    before = mluop_omp.algorithm()
    try:
        for number in range(1, at_bytecode(0, change, call) + 1):
            at_bytecode(number, change, call)
    finally:
        mluop_omp.algorithm(before)
    assert all(results)


def test_an_invalid_algorithm_of_the_environment_is_named(monkeypatch):
    monkeypatch.setattr(_library, "algorithm", "fast")
    monkeypatch.setenv("MLUOP_OMP_ALGORITHM", "fast")
    with pytest.raises(mluop_omp.MluOpError, match='MLUOP_OMP_ALGORITHM is "fast"'):
        mluop_omp.three_nn(np.zeros((1, 1, 3), "f"), np.zeros((1, 1, 3), "f"))
