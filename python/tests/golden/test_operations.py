"""Operations between the modules: recorded, compared, checked, of exported graphs."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")
from torch import nn  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import mluop_omp.torch as mt  # noqa: E402
from mluop_omp import CheckFailure, Run, check, compare_runs, record, recording, replay  # noqa: E402


class Attention(nn.Module):
    def __init__(self, defect):
        super().__init__()
        self.qkv, self.defect = nn.Linear(8, 24), defect

    def forward(self, x):
        q, k, v = self.qkv(x).chunk(3, -1)
        return F.scaled_dot_product_attention(q, k, v) * (1.01 if self.defect == "scale" else 1)


class Head(nn.Module):
    def __init__(self, defect):
        super().__init__()
        self.reg, self.score, self.defect = nn.Linear(8, 4), nn.Linear(8, 1), defect

    def forward(self, x):
        boxes = self.decode(self.reg(x[0]).float())
        scores = self.score(x[0]).float().sigmoid()[:, 0].contiguous()
        kept = mt.nms(boxes, scores, 0.05)
        counts = torch.zeros(4)
        counts.index_put_((kept % 2,), torch.ones(len(kept)), accumulate=True)
        return boxes[kept], counts

    def decode(self, deltas):
        deltas = deltas * 1.01 if self.defect == "decode" else deltas * 1
        centers, sizes = deltas[:, :2] * 4, deltas[:, 2:].exp() * 0.2
        return torch.cat([centers - sizes, centers + sizes], 1)


class Detector(nn.Module):
    def __init__(self, defect=""):
        super().__init__()
        self.attention, self.head = Attention(defect), Head(defect)

    def forward(self, x):
        return self.head(self.attention(x))


class Uses(nn.Module):
    """Computes a function of its input."""

    def __init__(self, function, *layers):
        super().__init__()
        self.function, self.layers = function, nn.ModuleList(layers)

    def forward(self, x):
        return self.function(x, *self.layers)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def detector(defect=""):
    torch.manual_seed(0)
    return Detector(defect).eval()


def image():
    torch.manual_seed(1)
    return torch.randn(1, 32, 8)


def run_of(function, name="run.npz", x=None, **options):
    x = torch.arange(6.0).view(2, 3) if x is None else x
    model = function if isinstance(function, nn.Module) else Uses(function)
    with torch.no_grad():
        record(model, x, name, operations=True, **options)
    return Run(name)


def names(run):
    return [call.module for call in run.calls]


def scaled(function, args, kwargs):
    return function(*args, **kwargs) * 1.01


def keeps_all(function, args, kwargs):
    return function(*args[:2], 1.0)


def does_not_accumulate(function, args, kwargs):
    return function(*args[:3], False)


class Device(TorchDispatchMode):
    """Computes on the CPU, one operation wrongly."""

    def __init__(self, operation="", defect=None):
        super().__init__()
        self.operation, self.defect = operation, defect

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        if function.name() == self.operation:
            return self.defect(function, args, kwargs or {})
        return function(*args, **(kwargs or {}))


DEFECTS = {
    "aten::bmm": (scaled, "attention::scaled_dot_product_attention", "F.scaled_dot_product"),
    "aten::exp": (scaled, "head::exp (torch.Tensor.exp)", "sizes = "),
    "mluop_omp::nms": (keeps_all, "head::nms (mluop_omp.nms)", "mt.nms("),
    "aten::index_put_": (does_not_accumulate, "head::index_put_ (torch.Tensor", "index_put_("),
}


def line_of(text):
    lines = Path(__file__).read_text().splitlines()
    return next(number for number, each in enumerate(lines, 1) if text in each)


@pytest.mark.parametrize("operation", DEFECTS)
def test_the_first_operation_that_differs_is_named_with_its_line(operation):
    defect, label, text = DEFECTS[operation]
    with Device(operation, defect):
        found = run_of(detector(), "found.npz", image())
    result = compare_runs(found, run_of(detector(), x=image()))
    assert result.first is not None and result.first.label.startswith(label)
    assert f", at test_operations.py:{line_of(text)} in " in result.first.label
    assert f"\nfirst difference: {result.first.label}\n  inputs agree: " in str(result)


@pytest.mark.parametrize(
    ("defect", "argument"),
    [
        ("scale", "attention::mul (torch.Tensor.mul), at test_operations.py"),
        ("decode", "head::mul (torch.Tensor.mul), at test_operations.py"),
    ],
)
def test_an_argument_that_differs_is_named(defect, argument):
    """No operation is at fault: the code of a module passes on another number."""
    found, expected = run_of(detector(defect), "found.npz", image()), run_of(detector(), x=image())
    result = compare_runs(found, expected)
    assert f"input 1 of {argument}" in str(result)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
def test_runs_of_right_devices_are_equal(dtype, threads):
    """With autocast to bfloat16, too, both runs have the same operations."""
    runs, before = [], torch.get_num_threads()
    for name, count in (("a.npz", threads), ("b.npz", before)):
        torch.set_num_threads(count)
        with torch.autocast("cpu", dtype, enabled=dtype is not None):
            runs.append(run_of(detector(), name, image()))
    torch.set_num_threads(before)
    assert names(runs[0]) == names(runs[1])
    assert compare_runs(*runs)
    assert not any(call.not_recorded for call in runs[0].calls)


def test_views_are_left_out_and_copies_are_not():
    def function(x):
        y = x.t()[1:]
        return x.view(3, 2).unsqueeze(0), y.contiguous(), y.to(torch.float64).clone()

    run = run_of(function)
    assert names(run) == ["::contiguous", "::to", "::clone", ""]
    # Views count, so that operations of a device that copies have the same numbers.
    assert names(run_of(lambda x: (x.reshape(3, 2), x.t().reshape(6)))) == ["::reshape", ""]
    assert run_of(lambda x: (x.reshape(3, 2), x.t().reshape(6))).calls[0].number == 1


@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_what_an_operation_writes_is_its_output(mode):
    def function(x):
        y = x * 1
        y.add_(1)
        y[0, 1:] = 7
        y[y > 7] = 0
        torch.mul(y, 2, out=torch.empty(2, 3))
        F.relu(y, True)
        return torch.empty(2, 3).copy_(y)

    with mode():
        record(Uses(function), torch.arange(6.0).view(2, 3), "run.npz", operations=True)
    run = Run("run.npz")
    expected = ("mul", "add_", "__setitem__", "gt", "__setitem__", "mul", "relu", "copy_")
    assert names(run)[:-1] == [f"::{name}" for name in expected]
    values = [run.array(call.outputs[""].tensor).tolist() for call in run.calls]
    assert values[1:3] == [[[1, 2, 3], [4, 5, 6]], [[1, 7, 7], [4, 5, 6]]]
    assert values[5] == [[2, 14, 14], [8, 10, 12]]
    inputs = [run.array(call.inputs["0"].tensor).tolist() for call in run.calls[1:3]]
    assert inputs == [[[0, 1, 2], [3, 4, 5]], [[1, 2, 3], [4, 5, 6]]]
    # Values of torch.empty are not recorded: two runs are equal.
    assert "0" not in run.calls[7].inputs and "out" not in run.calls[5].inputs


def test_inputs_that_an_operation_changes_besides_its_output():
    @torch.library.custom_op("mluop_omp_test::counted", mutates_args=["count"])
    def counted(x: torch.Tensor, count: torch.Tensor) -> torch.Tensor:
        count.add_(1)
        return x * 2

    run = run_of(lambda x: counted(x, torch.zeros(2)))
    call = next(call for call in run.calls if call.kind.startswith("mluop_omp_test."))
    assert set(call.outputs) == {""} and set(call.written) == {"1"}
    values = call.inputs["1"], call.written["1"]
    assert [run.array(each.tensor).tolist() for each in values] == [[0, 0], [1, 1]]


def test_kernels_outside_of_pytorch_change_what_the_next_operation_reads():
    def function(x):
        y = torch.zeros(3)
        y.numpy()[:] = 5  # as a kernel of an extension
        return y + 1

    run = run_of(function)
    (call,) = (call for call in run.calls if call.module == "::add")
    assert run.array(call.inputs["0"].tensor).tolist() == [5, 5, 5]


def test_operations_are_renamed_with_their_modules():
    found = run_of(Uses(lambda x, layer: layer(x).clone(), Uses(torch.exp)), "found.npz")
    expected = run_of(nn.Sequential(Uses(torch.exp)))
    result = compare_runs(found, expected, names={r"layers\.0": "0"})
    # The result of clone is compared as the input of a module.
    assert result and result.compared == 3


def test_attention_of_pytorch_is_seen_operation_by_operation():
    attention = nn.MultiheadAttention(8, 2).eval()
    run = run_of(Uses(lambda x, layer: layer(x, x, x)[0], attention), x=torch.randn(4, 1, 8))
    assert {"layers.0::linear", "layers.0::softmax", "layers.0::bmm"} < set(names(run))


def test_exceptions_and_nested_modes():
    def function(x, layer):
        with pytest.raises(ValueError, match="mine"), torch.device("cpu"):
            layer(x + 1)
        with pytest.raises(RuntimeError):
            x.view(7)
        with recording(layer, "inner.npz", operations=True):
            torch.exp(x)
        return torch.arange(3) * 2

    def fails(x):
        torch.sin(x)
        raise ValueError("mine")

    run = run_of(Uses(function, Uses(fails)))
    assert [each.rpartition("::")[2] for each in names(run)] == [
        *("add", "sin", "exp", "arange", "mul", "")
    ]
    assert names(Run("inner.npz")) == ["::exp"]


def test_threads_and_checkpoints():
    model = Uses(lambda x, layer: (layer(x) * 3).sum(), nn.Sequential(nn.Tanh()))
    with recording(model, "run.npz", operations=True, gradients=True):
        thread = threading.Thread(target=lambda: model(torch.ones(2)))
        thread.start()
        thread.join()
        x = torch.ones(2, requires_grad=True)
        torch.utils.checkpoint.checkpoint(model, x * 2, use_reentrant=False).backward()
    run = Run("run.npz")
    of_call = ["layers.0.0::tanh", "layers.0.0", "layers.0", "::mul", "::sum", ""]
    assert names(run) == [*of_call, "::ones", "::mul", *of_call]
    assert any(each.module == "::mul" and each.of == "output" for each in run.gradients)
    assert torch.overrides._get_current_function_mode_stack() == []


def test_operations_of_selected_modules():
    run = run_of(detector(), x=image(), modules="head.*")
    assert all(each.startswith("head") for each in names(run))
    with Run("run.npz") as before:
        assert replay(detector(), run_of(detector(), "whole.npz", image())) and before.calls


def test_transformed_operations_are_left_out():
    assert names(run_of(lambda x: torch.func.vmap(torch.exp)(x) + 1)) == ["::add", ""]


def test_rows_of_sparse_tensors_have_no_order():
    sites = torch.tensor([[0, 0, 0, 0], [0, 0, 1, 1], [0, 2, 3, 1]])
    features = torch.randn(3, 4)
    layer = mt.SubMConv3d(4, 5, 3)
    model = Uses(lambda x, layer: layer(x).features.exp() * 2, layer)
    runs = []
    for name, order in (("a.npz", [0, 1, 2]), ("b.npz", [2, 0, 1])):
        x = mt.SparseTensor(features[order], sites[order].int(), [4, 4, 4], 1)
        runs.append(run_of(model, name, x))
    assert "::exp" in names(runs[0])
    result = compare_runs(*runs)
    assert not [each for each in result.differences if each.call.module == "::exp"]


# Operators of this library are not repeated by it.
@pytest.mark.parametrize("operation", [each for each in DEFECTS if each.startswith("aten")])
def test_a_wrong_operation_fails_the_check(operation):
    defect, label, text = DEFECTS[operation]
    model, x = detector(), image()
    with Device(operation, defect), torch.no_grad(), check(model, operations=True) as report:
        model(x)
    assert not report and report.own_calls == 1
    (failure,) = report.failures
    module, _, kind = label.partition("::")
    assert failure.module.startswith(module) and kind.partition(" ")[0] in failure.operator
    assert failure.caller.startswith(f"test_operations.py:{line_of(text)} in ")
    assert str(report).startswith(
        f"differ: 1 of {len(report.calls)} calls, first {failure.operator}"
    )
    summary = json.loads(json.dumps(report.to_dict()))
    verdicts = [call["verdict"] for call in summary["calls"]]
    assert not summary["agrees"] and verdicts.count("differs") == 1


def many(x):
    """Operations whose results rounding, ties or chance decide, and exact ones."""
    half, ties = x.to(torch.bfloat16), (x * 2).round()
    F.dropout(x, 0.5, True), torch.rand(3), torch.empty(5).normal_(), torch.randperm(4)
    ties.topk(3), ties.sort(0), ties.argsort(1), ties.argmax(), ties.max(1), ties.median(1)
    x > 0.1, half < 0.3, x // 0.1, (x / 0.1).floor(), half.exp().log(), x.mean(), half.sum()
    y = x.clone()
    y[y > 0.5] = 0.1
    y.index_put_((torch.tensor([0, 0]),), x[:2])
    y[:, 1] += 1
    torch.add(x, 1, out=torch.empty_like(x))
    F.layer_norm(half, (8,)), F.gelu(half), F.softmax(half * 100, -1), torch.linalg.norm(x)
    x.nonzero(), x.unique(), torch.cat([x, y]), torch.stack([x, y]).var(0), x.cumsum(0)
    F.interpolate(x[None, None], scale_factor=1.7, mode="bilinear"), torch.einsum("ij,kj", x, y)
    torch.where(x > 0, x, 0.0), x.expm1() - 1, torch.zeros(3) / 0, x.to("cpu", torch.float16) * 1e5
    F.cross_entropy(x, torch.arange(len(x)) % 8), F.conv1d(x[None], torch.randn(3, len(x), 3))
    (x - x.mean(0)).mean(0), F.normalize(half), torch.arange(0, 1, 0.1), torch.linspace(0, 1, 7)
    return torch.tensor([1.5, 2]), x.bernoulli(0.5), F.embedding(torch.tensor([1, 2]), x)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", [None, torch.bfloat16])
@pytest.mark.parametrize("mode", [torch.no_grad, torch.inference_mode, torch.enable_grad])
def test_right_operations_pass_the_check(dtype, threads, mode):
    torch.manual_seed(2)
    attention = Uses(lambda x, layer: layer(x, x, x), nn.MultiheadAttention(8, 2))
    # PyTorch's LSTM fails under autocast to bfloat16 on processors without AVX-512.
    recurrent = nn.LSTM(8, 4) if dtype is None else nn.GRU(8, 4)
    others = recurrent, nn.Conv1d(32, 3, 3), detector()
    before, x, state = torch.get_num_threads(), torch.randn(32, 8), torch.get_rng_state()

    def run():
        torch.set_rng_state(state)
        Uses(many)(x)
        for each in (attention, *others):
            each(x[None])
        return torch.get_rng_state()

    torch.set_num_threads(threads)
    with mode(), torch.autocast("cpu", dtype, enabled=dtype is not None):
        with check(operations=True) as report:
            after = run()
        assert torch.equal(run(), after)
    torch.set_num_threads(before)
    assert report and len(report.calls) > 80, str(report)
    assert "random, not compared: 6 of torch.nn.functional.dropout, " in str(report)
    assert str(report).startswith(f"equal: {len(report.calls)} calls")


def wrong_choice(function, args, kwargs):
    values, indices = function(*args, **kwargs)
    return values, indices.flip(-1)


def short_factors(function, args, kwargs):
    args = [each.bfloat16().float() if each.is_floating_point() else each for each in args]
    return function(*args, **kwargs)


@pytest.mark.parametrize(
    ("operation", "defect", "function", "text"),
    [
        ("aten::topk", wrong_choice, lambda x: x.topk(3), "output 1: differ"),
        ("aten::mm", short_factors, lambda x: x @ x.t(), "half, bfloat16 or TF32"),
        (
            "aten::add_.Tensor",
            lambda f, a, k: f(*a).mul_(1.01),
            lambda x: (x * 1).add_(1),
            "output: differ",
        ),
        ("aten::gt.Scalar", lambda *_: torch.ones(32, 8) > 0, lambda x: x > 0.1, "output: differ"),
        ("aten::exp", scaled, lambda x: x.bfloat16().exp(), "output: differ"),
        ("aten::cat", lambda f, a, k: f(a[0][:1]), lambda x: torch.cat([x, x]), "has shape"),
    ],
)
def test_defects_of_a_device(operation, defect, function, text):
    torch.manual_seed(3)
    x = torch.randn(32, 8)
    large = (lambda f, a, k: f(*a, **k) * 1.03) if operation == "aten::exp" else defect
    with Device(operation, large), check(operations=True) as report:
        Uses(function)(x)
    assert len(report.failures) == 1 and text in str(report), str(report)


def test_a_device_may_choose_among_equal_values():
    for x, is_right in ((torch.zeros(4, 8), True), (torch.arange(32.0).view(4, 8), False)):
        with Device("aten::topk", wrong_choice), check(operations=True) as report:
            x.topk(3)
        assert bool(report) is is_right


def test_a_check_of_selected_operations_in_threads():
    model = Uses(lambda x: x.exp().sum() + x.sin().sum())
    with check(model, operations=True, operators="e*", calls=1) as report:
        for _ in range(2):
            thread = threading.Thread(target=model, args=(torch.ones(3),))
            thread.start()
            thread.join()
    assert [call.operator for call in report.calls] == ["torch.Tensor.exp"]
    with (
        Device("aten::exp", scaled),
        pytest.raises(CheckFailure, match="torch.Tensor.exp"),
        check(operations=True, raise_on_failure=True),
    ):
        torch.ones(3).exp()
    with check(operations=True) as report:
        torch.rand(3)
    assert not report and "nothing was checked" in str(report)
    assert torch.overrides._get_current_function_mode_stack() == []


def test_operations_that_the_cpu_lacks_are_not_checked():
    @torch.library.custom_op("mluop_omp_test::of_device", mutates_args=[])
    def of_device(x: torch.Tensor) -> torch.Tensor:
        if x.dtype is not torch.float16:
            raise NotImplementedError("no kernel")
        return x.clone()

    with check(operations=True) as report:
        of_device(torch.ones(3).half())
    assert not report and "NotImplementedError: no kernel" in str(report)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8)
        self.act, self.shared = nn.ReLU(inplace=True), nn.Conv2d(8, 8, 1)

    def forward(self, x):
        x = self.act(self.norm(self.conv(x)))
        return self.shared(self.shared(x))


class Exported(nn.Module):
    def __init__(self):
        super().__init__()
        self.block, self.last = Block(), nn.Sequential(nn.Dropout(), nn.Conv2d(8, 4, 1))

    def forward(self, x, *, shift):
        return {"y": self.last(self.block(x).exp() + shift)}


def exported(strict=False):
    torch.manual_seed(4)
    model, inputs = Exported().eval(), {"x": torch.randn(1, 3, 8, 8), "shift": torch.ones(1)}
    program = torch.export.export(model, (), inputs, strict=strict)
    return model, inputs, program.module()


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("operations", [False, True])
def test_an_exported_graph_has_the_calls_of_the_model(strict, operations):
    model, inputs, graph = exported(strict)
    with torch.no_grad():
        outputs = record(graph, inputs, "graph.npz", operations=operations)
        expected = record(model, inputs, "model.npz", operations=operations)
        after = graph(**inputs)
    assert torch.equal(outputs["y"], expected["y"]) and torch.equal(after["y"], expected["y"])
    assert "forward" not in vars(graph)
    runs = Run("graph.npz"), Run("model.npz")
    calls = [[(call.module, call.number) for call in run.calls] for run in runs]
    # Operations that Python code calls have other names, such as exp and exp.default.
    if operations:
        assert ("block.conv::conv2d", 0) in calls[0] and ("::exp", 0) in calls[0]
    else:
        assert calls[0] == calls[1]
        kinds = [{call.module: call.kind for call in run.calls} for run in runs]
        assert all(kinds[0][name] == kinds[1][name] for name in kinds[1] if name)
    result = compare_runs(*runs)
    assert not result.differences and result.compared > 8


def test_a_wrong_node_of_an_exported_graph_is_named():
    model, inputs, graph = exported()
    with torch.no_grad():
        record(model, inputs, "model.npz")
        for node in graph.graph.nodes:
            if node.name == "conv2d_2":  # the second call of block.shared
                node.args = (node.args[0], node.args[1])
        graph.recompile()
        record(graph, inputs, "graph.npz", operations=True)
    result = compare_runs("graph.npz", "model.npz")
    assert result.first is not None and result.first.label == "block.shared (Conv2d), call 1"
    with Run("graph.npz") as run:
        lines = {call.module: call.line for call in run.calls}
        assert lines["::exp"] == f"test_operations.py:{line_of('self.block(x).exp()')} in forward"
        assert lines["block.conv::conv2d"].endswith(" in forward")
    record(graph, inputs, "part.npz", modules="block.*")
    assert set(names(Run("part.npz"))) == {
        *("block", "block.conv", "block.norm", "block.act", "block.shared")
    }


def test_a_compiled_model_is_recorded_eagerly():
    model = nn.Sequential(nn.Linear(3, 2), nn.ReLU())
    model.compile(backend="eager")
    with pytest.raises(ValueError, match="set_stance"):
        record(model, torch.ones(2, 3), "run.npz")
    with torch.compiler.set_stance("force_eager"):
        record(model, torch.ones(2, 3), "run.npz", operations=True)
    assert names(Run("run.npz")) == ["0::linear", "0", "1::relu", "1", ""]
