"""Values for any sizes, element types and memory formats, and under transformations."""

from __future__ import annotations

import cases
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from interfaces import INTERFACES
from test_table import BY_ADDRESS, KINDS, is_right

import mluop_omp
from mluop_omp._self_test import variants

FORMATS = ["contiguous", "transposed", "channels last", "strided", "expanded", "offset"]
TYPES = ["contiguous", "float64", "float16", "bfloat16"]


def drawn_sizes(data, name, limit):
    return {extent: data.draw(st.integers(0, limit), extent) for extent in cases.extents(name)}


def many_examples(count=12):
    def decorate(function):
        decorator = settings(
            max_examples=count,
            deadline=None,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        return decorator(given(st.data())(function))

    return decorate


@pytest.mark.parametrize(
    ("interface", "name"), [(i, name) for i, names in INTERFACES.items() for name in names]
)
def test_values(interface, name, table):
    @many_examples()
    def run(data):
        variant = data.draw(st.sampled_from(variants(name)))
        arguments = cases.arguments(name, **drawn_sizes(data, name, 7), **variant)
        for kind in (data.draw(st.sampled_from(TYPES)), data.draw(st.sampled_from(FORMATS))):
            arguments = KINDS[kind](arguments)
        operator = getattr(torch.ops.mluop_omp, name)
        if (interface, name) in BY_ADDRESS and accepted(operator, *arguments) is None:
            return
        table.add("drawn arguments", interface, is_right(interface, name, arguments))

    run()


def accepted(function, *arguments):
    """Returns the result, or None for arguments that the operator refuses."""
    try:
        return function(*arguments)
    except mluop_omp.MluOpError:
        return None


@pytest.mark.parametrize("name", sorted(cases.DIFFERENTIABLE))
def test_forward_mode_is_the_transpose_of_reverse_mode(name, table):
    """For each element of a batch, under vmap, with any sizes and memory formats."""
    positions = cases.DIFFERENTIABLE[name]
    operator = getattr(torch.ops.mluop_omp, name)

    @many_examples()
    def run(data):
        # PyTorch does not take expanded tensors with a batch of tangents.
        kind = KINDS[data.draw(st.sampled_from(sorted(set(FORMATS) - {"expanded"})))]
        variant = data.draw(st.sampled_from(variants(name)))
        arguments = kind(cases.arguments(name, **drawn_sizes(data, name, 4), **variant))

        def function(*values):
            changed = list(arguments)
            for position, value in zip(positions, values):
                changed[position] = value
            return cases.first(operator(*changed))

        inputs = tuple(arguments[position] for position in positions)
        output = accepted(function, *inputs)
        if output is None:
            return
        batch = data.draw(st.integers(1, 3))
        tangents = tuple(cases.floats(batch, *each.shape) for each in inputs)
        cotangents = cases.floats(batch, *output.shape)
        if name == "three_nn":  # Infinite distances have no derivative.
            cotangents = torch.where(output.isfinite(), cotangents, 0)

        def push(*tangent):
            return torch.func.jvp(function, inputs, tangent)[1]

        def pull(cotangent):
            return torch.func.vjp(function, *inputs)[1](cotangent)

        pushed, pulled = torch.vmap(push)(*tangents), torch.vmap(pull)(cotangents)
        torch.testing.assert_close(
            (pushed * cotangents).flatten(1).sum(1),
            sum((g * t).flatten(1).sum(1) for g, t in zip(pulled, tangents)),
            rtol=1e-3,
            atol=1e-3,
        )
        table.add("drawn transformations", "PyTorch", True)

    run()
