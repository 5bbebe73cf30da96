"""Results and gradients of float32 against float64, which test_transforms.py checks
numerically.
"""

from __future__ import annotations

import cases
import pytest
import torch

import mluop_omp.torch as mt


def doubled(arguments):
    return tuple(
        argument.detach().double().requires_grad_(argument.requires_grad)
        if cases.is_floating(argument)
        else argument
        for argument in arguments
    )


def compare(name, arguments):
    precise = doubled(arguments)
    expected = cases.first(getattr(mt, name)(*precise))
    actual = cases.first(getattr(mt, name)(*arguments))
    torch.testing.assert_close(actual.double(), expected, rtol=1e-5, atol=1e-5)
    weights = torch.randn(expected.shape, generator=cases.generator(), dtype=torch.float64)
    (expected * weights).sum().backward()
    # A gradient that is not contiguous.
    (actual.movedim(0, -1).contiguous() * weights.float().movedim(0, -1)).sum().backward()
    for position in cases.DIFFERENTIABLE[name]:
        torch.testing.assert_close(
            arguments[position].grad.double(), precise[position].grad, rtol=1e-5, atol=1e-5
        )


@pytest.mark.parametrize(
    ("name", "variant"),
    [each for each in cases.VARIANTS if each[0] in cases.DIFFERENTIABLE],
    ids=str,
)
def test_operator(name, variant):
    compare(name, cases.with_gradients(name, **variant))


# Those whose operators take float32 alone.
SINGLE = {
    *("dynamic_scatter", "dynamic_scatter_backward", "knn", "ms_deform_attn"),
    *("moe_dispatch", "moe_dispatch_backward_data", "moe_dispatch_backward_gate"),
    *("mutual_information", "mutual_information_backward"),
}


@pytest.mark.parametrize("name", sorted(cases.DIFFERENTIABLE.keys() - SINGLE))
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_lower_precision(name, dtype):
    """In both modes, and for higher orders, they equal float32 rounded once or twice."""
    arguments, positions = cases.arguments(name), cases.DIFFERENTIABLE[name]
    rounded = {position: arguments[position].to(dtype) for position in positions}
    others = [each.to(dtype) if cases.is_floating(each) else each for each in arguments]

    def results(given):
        def function(*values):
            changed = [
                each.to(given) if hasattr(each, "to") and each.dtype is dtype else each
                for each in others
            ]
            for position, value in zip(positions, values):
                changed[position] = value
            return cases.first(getattr(torch.ops.mluop_omp, name)(*changed))

        values = [each.to(given).requires_grad_() for each in rounded.values()]
        output = function(*values)
        weights = cases.floats(*output.shape).to(dtype).to(given)
        gradients = torch.autograd.grad(output, values, weights)
        again = torch.autograd.grad(function(*values), values, weights, create_graph=True)
        tangents = tuple(each.detach().flip(0) for each in values)
        _, tangent = torch.func.jvp(function, tuple(each.detach() for each in values), tangents)
        return [*gradients, *again, tangent]

    for found, expected in zip(results(dtype), results(torch.float32)):
        assert found.dtype is dtype
        scale = float(expected.abs().max()) or 1
        tolerance = 4 * torch.finfo(dtype).eps
        torch.testing.assert_close(found.float() / scale, expected / scale, rtol=0, atol=tolerance)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_positions_in_large_images_of_lower_precision(dtype):
    """Pixels of 600 columns have no numbers of their own in bfloat16."""
    image, offset = cases.floats(1, 1, 9, 600).to(dtype), torch.full((1, 2, 9, 600), 0.25).to(dtype)
    weight = torch.ones(1, 1, 1, 1, dtype=dtype)

    def gradients(given, create_graph):
        values = [each.to(given).requires_grad_() for each in (image, offset, weight)]
        output = mt.deform_conv2d(*values)
        return torch.autograd.grad(output.sum(), values, create_graph=create_graph)

    for create_graph in (False, True):
        for found, expected in zip(gradients(dtype, create_graph), gradients(torch.float32, False)):
            torch.testing.assert_close(found.float(), expected, rtol=1e-2, atol=1e-2)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_gradients_of_parameters_under_autocast(dtype):
    """Parameters of float32 have gradients of float32, features keep their own type."""
    for name, position, parameter in (("indice_conv", 0, 1), ("deform_conv2d", 0, 2)):
        arguments = list(cases.with_gradients(name))
        arguments[position] = arguments[position].detach().to(dtype).requires_grad_()
        with torch.autocast("cpu", dtype=dtype):
            output = getattr(mt, name)(*arguments)
        assert output.dtype is dtype
        output.float().square().sum().backward()
        assert arguments[position].grad.dtype is dtype
        assert arguments[parameter].grad.dtype is torch.float32


def test_groups_of_points():
    feats, idx = cases.with_gradients("gather_points")
    groups = mt.gather_points(feats, idx.view(2, 3, 3))
    points = mt.gather_points(feats, idx)
    assert torch.equal(groups, points.view(2, 4, 3, 3))
    weights = cases.floats(2, 4, 3, 3)
    expected = torch.autograd.grad(points, feats, weights.view(2, 4, 9))
    assert torch.equal(torch.autograd.grad(groups, feats, weights)[0], expected[0])


@pytest.mark.parametrize("name", ["three_nn", "knn"])
def test_neighbors_that_do_not_exist_have_no_gradient(name):
    unknown, known = (
        torch.zeros(1, 1, 3, requires_grad=True),
        torch.ones(1, 1, 3, requires_grad=True),
    )
    dist2, _ = mt.three_nn(unknown, known) if name == "three_nn" else mt.knn(known, unknown, 3)
    dist2[dist2.isfinite()].sum().backward()
    torch.testing.assert_close(unknown.grad, torch.full((1, 1, 3), -2.0))
    torch.testing.assert_close(known.grad, torch.full((1, 1, 3), 2.0))


@pytest.mark.parametrize("name", cases.WITHOUT_GRADIENT)
def test_operators_without_gradient_say_so(name):
    numbers, *rest = cases.arguments(name)
    output = cases.first(getattr(torch.ops.mluop_omp, name)(numbers.requires_grad_(), *rest))
    with pytest.raises(NotImplementedError, match=f"mluop_omp::{name} has no gradient"):
        output.sum().backward()
