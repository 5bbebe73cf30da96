"""torch.vmap, torch.func and forward mode, for each operator: the right value, or an error."""

from __future__ import annotations

import cases
import pytest
import torch
from torch.autograd import forward_ad
from torch.utils._pytree import tree_leaves, tree_map

import mluop_omp.torch as mt
from mluop_omp._operators import operators
from mluop_omp._operators._derivative import cast

NMS = {
    *("nms", "nms3d", "nms3d_normal", "nms_match", "nms_quadri", "nms_rotated", "poly_nms"),
    "soft_nms",
}
ANY_SHAPE = {"dynamic_scatter", "generate_proposals_v2", "indice_pairs", "voxelization", *NMS}
FIXED_SHAPE = sorted(set(cases.NAMES) - ANY_SHAPE)


def operator(name):
    return getattr(torch.ops.mluop_omp, name)


def first(output):
    return output[0] if isinstance(output, tuple) else output


def function_of_floats(name, arguments):
    """Returns the output with a derivative, or several of them in one tensor, as a function of the
    differentiable arguments, and these.
    """
    positions, count = cases.DIFFERENTIABLE[name], getattr(operators, name).derivative.outputs

    def function(*values):
        changed = list(arguments)
        for position, value in zip(positions, values):
            changed[position] = value
        output = operator(name)(*changed)
        return first(output) if count == 1 else torch.cat([o.flatten() for o in output[:count]])

    return function, tuple(arguments[position] for position in positions)


SMALL = {"N": 5, "L": 4, "num_out": 3, "M": 4, "V": 3, "C": 2, "B": 2, "Ci": 2, "Co": 3, "K": 1}
SMALL |= {"images": 1, "H": 2, "W": 2, "outputs": 1, "kh": 1}
SMALL |= {"R": 2, "T": 3, "G": 1}
SMALL_ATTENTION = {"B": 1, "M": 1, "D": 2, "L": 2, "Q": 2, "P": 2}
IMAGES = ("carafe", "correlation", "tin_shift")  # N is their number


def variants(name, **sizes):
    """Yields the arguments of the operator, for each of its reductions."""
    if not name.startswith("dynamic_scatter"):
        yield cases.arguments(name, **sizes)
        return
    for reduce in ("max", "sum", "mean"):
        yield cases.arguments(name, **sizes, reduce=reduce)


@pytest.mark.parametrize("name", sorted(cases.DIFFERENTIABLE))
def test_derivatives_are_those_of_finite_differences(name, table):
    """Reverse and forward mode, batched; of second order along random directions."""
    small = SMALL_ATTENTION if name == "ms_deform_attn" else SMALL
    if name.startswith(IMAGES):
        small = SMALL | {"N": 1}
    sizes = {extent: small[extent] for extent in cases.extents(name) if extent in small}
    for arguments in variants(name, **sizes):
        function, inputs = function_of_floats(name, cast(arguments, torch.float64))
        inputs = tuple(each.clone().requires_grad_() for each in inputs)
        modes = {"check_forward_ad": True, "check_batched_forward_grad": True}
        assert torch.autograd.gradcheck(function, inputs, **modes, check_batched_grad=True)
        assert torch.autograd.gradgradcheck(
            function, inputs, check_fwd_over_rev=True, fast_mode=True
        )
        table.add("finite differences", "PyTorch", True)


@pytest.mark.parametrize("name", sorted(cases.DIFFERENTIABLE))
def test_the_transformations_agree(name, table):
    """grad, vjp, jacrev, jvp, jacfwd, linearize and dual tensors against autograd."""
    sizes = {"N": 12, "C": 2} if name.startswith("dynamic_scatter") else {}
    for arguments in variants(name, **sizes):
        check_transformations(*function_of_floats(name, arguments))
        table.add("transformations", "PyTorch", True)


def check_transformations(function, inputs):
    """Against autograd."""
    output = function(*inputs)
    cotangent = cases.floats(*output.shape)
    tangents = tuple(cases.floats(*each.shape).flip(0) for each in inputs)
    variables = tuple(each.clone().requires_grad_() for each in inputs)
    grads = torch.autograd.grad(function(*variables), variables, cotangent)

    value, pull = torch.func.vjp(function, *inputs)
    assert torch.equal(value, output)
    torch.testing.assert_close(pull(cotangent), grads)
    everything = tuple(range(len(inputs)))
    loss = torch.func.grad(lambda *i: (function(*i) * cotangent).sum(), argnums=everything)
    torch.testing.assert_close(loss(*inputs), grads)

    value, tangent = torch.func.jvp(function, inputs, tangents)
    assert torch.equal(value, output)
    products = sum((g * t).sum() for g, t in zip(grads, tangents))
    torch.testing.assert_close((tangent * cotangent).sum(), products, rtol=1e-4, atol=1e-4)
    with forward_ad.dual_level():
        duals = map(forward_ad.make_dual, inputs, tangents)
        torch.testing.assert_close(forward_ad.unpack_dual(function(*duals)).tangent, tangent)
    value, push = torch.func.linearize(function, *inputs)
    torch.testing.assert_close(push(*tangents), tangent)

    if output.numel() * sum(each.numel() for each in inputs) < 20000:
        reverse = torch.func.jacrev(function)(*inputs)
        torch.testing.assert_close(torch.func.jacfwd(function)(*inputs), reverse)
        check_second_derivatives(function, inputs)


def check_second_derivatives(function, inputs):
    """Every nesting of reverse and forward mode gives the same Hessian."""

    def loss(*values):
        return function(*values).square().sum()

    everything = tuple(range(len(inputs)))
    modes = (torch.func.jacrev, torch.func.jacfwd)
    expected = torch.autograd.functional.hessian(loss, inputs)
    for outer in modes:
        for inner in modes:
            found = outer(inner(loss, argnums=everything), argnums=everything)(*inputs)
            torch.testing.assert_close(found, expected, rtol=1e-4, atol=1e-4)


def batches_of(name, arguments, positions, dim):
    """Returns arguments with a batch of two along a dimension of the tensors at the positions.

    Elements are equal if the shapes of the outputs depend on their values.
    """

    def second(tensor):
        if name not in FIXED_SHAPE or not tensor.is_floating_point():
            return tensor
        # The columns of boxes have their places.
        return tensor.flip(0 if len(tensor) > 1 else -1)

    return tuple(
        torch.stack((a, second(a)), dim) if p in positions else a for p, a in enumerate(arguments)
    )


@pytest.mark.parametrize("name", cases.NAMES)
def test_vmap_is_the_operator_of_each_element(name, table):
    arguments = cases.arguments(name)
    tensors = [p for p, a in enumerate(arguments) if isinstance(a, torch.Tensor)]
    for positions in [*([p] for p in tensors), tensors]:
        for dim in (0, 1):
            batched = batches_of(name, arguments, positions, dim)
            in_dims = tuple(dim if p in positions else None for p in range(len(arguments)))
            actual = torch.vmap(operator(name), in_dims)(*batched)
            calls = [
                operator(name)(
                    *(a.select(dim, i) if p in positions else a for p, a in enumerate(batched))
                )
                for i in range(2)
            ]
            expected = tree_map(lambda *each: torch.stack(each), *calls)
            assert all(tree_leaves(tree_map(torch.equal, actual, expected)))
            table.add("vmap", "PyTorch", True)


@pytest.mark.parametrize("name", sorted(set(cases.DIFFERENTIABLE) & set(FIXED_SHAPE)))
def test_vmap_and_derivatives_compose(name, table):
    function, inputs = function_of_floats(name, cases.arguments(name))
    batch = tuple(torch.stack((each, each.flip(0), 2 * each)) for each in inputs)

    def loss(*values):
        return function(*values).square().sum()

    everything = tuple(range(len(inputs)))
    grad = torch.func.grad(loss, argnums=everything)
    expected = [torch.stack(each) for each in zip(*(grad(*each) for each in zip(*batch)))]
    torch.testing.assert_close(list(torch.vmap(grad)(*batch)), expected)
    # Autograd through vmap.
    variables = tuple(each.clone().requires_grad_() for each in batch)
    torch.vmap(loss)(*variables).sum().backward()
    torch.testing.assert_close([each.grad for each in variables], expected)
    # vmap of vmap.
    nested = tuple(torch.stack((each, each)) for each in batch)
    values = torch.vmap(torch.vmap(function))(*nested)
    assert torch.equal(values[1], torch.vmap(function)(*batch))
    table.add("vmap and derivatives", "PyTorch", True)


def test_outputs_of_different_shapes_cannot_be_stacked():
    feats = cases.floats(2, 10, 3)
    coors = torch.zeros(2, 10, 3, dtype=torch.int32)
    coors[1, 5:] = 1
    with pytest.raises(ValueError, match="dynamic_scatter.*shapes of an output differ"):
        torch.vmap(mt.dynamic_scatter)(feats, coors)


def test_an_empty_batch():
    dist2, idx = torch.vmap(mt.three_nn)(torch.zeros(0, 1, 4, 3), torch.zeros(0, 1, 5, 3))
    assert dist2.shape == idx.shape == (0, 1, 4, 3) and idx.dtype is torch.int32
    with pytest.raises(RuntimeError, match="dynamic_scatter.*data-dependent shape"):
        torch.vmap(mt.dynamic_scatter)(torch.zeros(0, 9, 4), torch.zeros(0, 9, 3).int())


@pytest.mark.parametrize("name", cases.WITHOUT_GRADIENT)
def test_an_operator_without_derivative_refuses_forward_mode(name):
    numbers, *rest = cases.arguments(name)
    with pytest.raises(NotImplementedError, match=f"mluop_omp::{name} has no gradient"):
        torch.func.jvp(lambda n: first(operator(name)(n, *rest)), (numbers,), (numbers,))


def test_integers_have_no_tangents():
    new_xyz, *rest = cases.arguments("ball_query")
    expected = mt.ball_query(new_xyz, *rest)
    with forward_ad.dual_level():
        idx = mt.ball_query(forward_ad.make_dual(new_xyz, new_xyz), *rest)
    assert torch.equal(idx, expected)


def test_the_hessian_of_a_module():
    torch.manual_seed(0)
    module = mt.SubMConv3d(2, 2, (1, 1, 3), bias=False)
    sites = cases.sites(6)

    def loss(features):
        output = module(mt.SparseTensor(features, sites, cases.SPACE, 2))
        return output.features.square().sum()

    features = cases.floats(6, 2)
    expected = torch.autograd.functional.hessian(loss, features)
    torch.testing.assert_close(torch.func.hessian(loss)(features), expected)


def test_the_weights_of_interpolation_are_constants_in_both_modes():
    known, features = cases.floats(1, 6, 3), cases.floats(1, 2, 6)
    unknown = cases.floats(1, 4, 3) / 2
    module = mt.ThreeInterpolate()
    _, tangent = torch.func.jvp(lambda u: module(u, known, features), (unknown,), (unknown,))
    assert not tangent.any()


@pytest.mark.parametrize("name", ["chamfer_distance", "indice_conv", "voxel_pooling"])
def test_compiled_transformations(name):
    function, inputs = function_of_floats(name, cases.arguments(name))
    batch = tuple(torch.stack((each, each.flip(0))) for each in inputs)
    transformations = {
        "grad": lambda *i: torch.func.grad(lambda *v: function(*v).square().sum())(*i),
        "jvp": lambda *i: torch.func.jvp(function, i, i)[1],
        "vmap": lambda *b: torch.vmap(function)(*b),
    }
    for kind, transformation in transformations.items():
        torch._dynamo.reset()
        arguments = batch if kind == "vmap" else inputs
        compiled = torch.compile(transformation, backend="aot_eager")
        torch.testing.assert_close(compiled(*arguments), transformation(*arguments))
