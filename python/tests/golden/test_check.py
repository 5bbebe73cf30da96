"""mluop_omp.check: devices are functions of mmcv and spconv that are wrong on purpose."""

from __future__ import annotations

import dataclasses
import importlib
import itertools
import re
import subprocess
import threading

import cases
import interfaces
import pytest
import torch
from torch import nn

import mluop_omp

pytest.importorskip("mmcv", reason="requires mmcv-lite")
importlib.import_module("mluop_omp.mmcv.auto")
ops = importlib.import_module("mmcv.ops")
ext = importlib.import_module("mmcv._ext")
rules = importlib.import_module("mluop_omp.golden.checking._rules")
differences = importlib.import_module("mluop_omp.golden.checking._differences")
reports = importlib.import_module("mluop_omp.golden.checking._report")


# The device in place of a function of this library: the same, but not known as the package's own;
# with its result, or its arguments if it has none, spoiled; another function.


def same(right):
    return lambda *arguments, **named: right(*arguments, **named)


def spoiled(spoil):
    def make(right):
        def device(*arguments, **named):
            result = right(*arguments, **named)
            spoil(result if result is not None else arguments)
            return result

        return device

    return make


def other(function):
    return lambda right: lambda *arguments, **named: function(right, *arguments, **named)


def writes(index, values):
    """A device that writes values to an argument."""

    def write(right, *arguments, **named):
        arguments[index].copy_(torch.tensor(values))

    return other(write)


def installed(monkeypatch, module, library_rules):
    """Returns a function that makes a device of a module, with the functions given by name."""

    def install(**wrong):
        for rule in library_rules:
            monkeypatch.setattr(module, rule.name, wrong.get(rule.name, same)(rule.ours))

    install()
    return install


@pytest.fixture
def device(monkeypatch):
    return installed(monkeypatch, ext, rules.mmcv_rules())


@pytest.fixture
def spconv():
    module = pytest.importorskip("spconv.pytorch", reason="requires spconv")
    importlib.import_module("mluop_omp.spconv").install()
    return module


@pytest.fixture
def spconv_device(monkeypatch, spconv):
    return installed(monkeypatch, spconv.ops, rules.spconv_rules())


class Net(nn.Module):
    """Layers of mmcv.ops or spconv.pytorch."""

    def __init__(self, channels=(16, 32), library=ops):
        super().__init__()
        torch.manual_seed(0)
        (first, second), bias = channels, library is not ops
        self.conv1 = library.SubMConv3d(first, second, 3, bias=bias, indice_key="subm")
        self.down = library.SparseConv3d(second, second, 3, 2, 1, bias=False, indice_key="down")
        self.up = library.SparseInverseConv3d(second, first, 3, bias=False, indice_key="down")

    def forward(self, input):
        return self.up(self.down(self.conv1(input)))


def sparse_input(channels=16, dtype=torch.float32, library=ops):
    features = cases.floats(200, channels).to(dtype).requires_grad_()
    return library.SparseConvTensor(features, cases.sites(200, 2, (8, 9, 10)), [8, 9, 10], 2)


def run(net=None, input=None):
    return (net or Net())(input or sparse_input())


def train(net, input=None):
    run(net, input).features.square().sum().backward()


def checked(call, *arguments, **options):
    """Returns the report of a call in a block."""
    with mluop_omp.check(**options) as report:
        call(*arguments)
    return report


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_what_is_right_is_equal(device, dtype):
    net = Net().to(dtype)
    report = checked(train, net, sparse_input(dtype=dtype), model=net)
    assert report and not report.failures
    names = [call.operator for call in report.calls]
    assert names.count("indice_conv_forward") == names.count("indice_conv_backward") == 3
    assert names.count("get_indice_pairs_3d_forward") == 2
    assert {call.verdict for call in report.calls} == {"equal"}
    modules = [call.module for call in report.calls if "conv" in call.operator]
    forward = ["conv1 (SubMConv3d)", "down (SparseConv3d)", "up (SparseInverseConv3d)"]
    assert modules == forward + forward[::-1]
    assert all("test_check.py:" in call.caller for call in report.calls)
    assert "200x16, 3x3x3x16x32, 27x2x200, 27" in str(report)
    assert str(report).startswith("equal: 8 calls\ncopied to the CPU: ")
    assert report.copied_bytes > 200 * 16 * 4


def half_sums(right, features, filters, pairs, num, rows, inverse, subm):
    """The products of each offset are added to half."""
    pairs = pairs.flip(1) if inverse else pairs
    flat = filters.reshape(-1, *filters.shape[-2:])
    output = torch.zeros(rows, filters.shape[-1], dtype=torch.half)
    for k, count in enumerate(num.tolist()):
        inputs, outputs = pairs[k, :, :count].long()
        for c in range(features.shape[1]):
            products = features[inputs, c : c + 1].float() * flat[k, c].float()
            output[outputs] = (output[outputs].float() + products).half()
    return output


def flipped(right, features, filters, *others):
    return right(features, filters.flip(0, 1, 2), *others)


def read_as_torch(right, features, filters, *others):
    shape = (*filters.shape[-1:], *filters.shape[-2:-1], *filters.shape[:3])
    return right(features, filters.reshape(shape).permute(2, 3, 4, 1, 0), *others)


def scaled_channel(output):
    output[:, 5] *= 1.25


def one_site(output):
    output[7] += 1


def one_tile(output):
    output[32:64, 8:16] = 0


@pytest.mark.parametrize(
    ("wrong", "texts"),
    [
        (spoiled(scaled_channel), ["one channel: 5", "1.25 times"]),
        (spoiled(one_site), ["one row: 7", "row 7 is the site ("]),
        (spoiled(one_tile), ["a tile: [32:64, 8:16]"]),
        (other(flipped), ["reproduced by filters with the offsets reversed"]),
        (other(read_as_torch), ["reproduced by filters that are read as torch"]),
    ],
    ids=["channel", "site", "tile", "reversed", "layout"],
)
def test_a_wrong_convolution_is_named(device, wrong, texts):
    device(indice_conv_forward=wrong)
    net = Net()
    report = checked(run, net, model=net)
    first = report.failures[0]
    assert first.module == "conv1 (SubMConv3d)" and first.operator == "indice_conv_forward"
    for text in texts:
        assert text in str(first), str(first)
    assert "differ: 3 of 5 calls, first indice_conv_forward in conv1 (SubMConv3d)" in str(report)


def test_sums_in_half_are_named(device):
    net, input = Net((64, 32)).half(), sparse_input(64, torch.half)
    with torch.no_grad():
        assert checked(run, net, input)  # Sums in float32, rounded to half.
        device(indice_conv_forward=other(half_sums))
        report = checked(run, net, input)
    assert "errors of this size result from sums in half" in str(report.failures[0]), report


def test_gradients_are_checked(device, tmp_path, mluop_case):
    def wrong_gradient(result):
        result[1][0, 0, 0, 3] = 0

    device(indice_conv_backward=spoiled(wrong_gradient))
    net = Net()
    report = checked(train, net, model=net, cases=tmp_path)
    assert [call.module.partition(" ")[0] for call in report.failures] == ["up", "down", "conv1"]
    assert list(report.failures[0].differences) == ["grad_filters"]
    assert_case_fails(mluop_case, report)
    report = mluop_omp.check(net, raise_on_failure=True)
    with pytest.raises(mluop_omp.CheckFailure, match="grad_filters"), report:
        train(net)
    assert [call.operator for call in report.calls].count("indice_conv_backward") == 1


def in_another_order(right, *arguments):
    """Output sites and pairs in another order, as a hash table returns them."""
    sites, pairs, num = right(*arguments)
    order = torch.randperm(len(sites), generator=torch.Generator().manual_seed(2))
    if not arguments[-2]:  # Submanifold layers keep the sites of their input.
        pairs[:, 1] = torch.where(pairs[:, 1] < 0, -1, order.argsort()[pairs[:, 1].long()].int())
        sites = sites[order]
    for k, count in enumerate(num.tolist()):
        pairs[k, :, :count] = pairs[k, :, :count].flip(1)
    return [sites, pairs, num]


def test_the_order_of_pairs_and_sites_is_open(device):
    device(get_indice_pairs_3d_forward=other(in_another_order))
    report = checked(run)
    assert report, report


def reversed_pairs(result):
    for each in result[1:]:
        each.copy_(each.flip(0))


def lost_pair(result):
    result[2][3] -= 1


def moved_site(result):
    result[0][4, 1] += 1


def other_pair(result):
    result[1][0, 1, 0] += 1


def no_last_site(result):
    result[0] = result[0][:-1]
    sites, pairs, num = result
    for of_offset, count in zip(pairs, num):
        kept = of_offset[:, :count][:, of_offset[1, :count] != len(sites)]
        count.fill_(kept.shape[1])
        of_offset[:, :count] = kept


@pytest.mark.parametrize(
    ("spoil", "text"),
    [
        (reversed_pairs, "the pairs are right with the offsets reversed"),
        (lost_pair, "1 of 1"),
        (moved_site, "site only in expected"),
        (other_pair, "are additional; offsets 0"),
        (no_last_site, "site only in expected"),
    ],
)
def test_wrong_pairs_are_named(device, spoil, text, tmp_path, mluop_case):
    device(get_indice_pairs_3d_forward=spoiled(spoil))
    layer = ops.SparseConv3d(16, 4, (3, 3, 3), 2, 1, bias=False)
    report = checked(layer, sparse_input(), operators="get_*", cases=tmp_path)
    assert text in str(report) and not report
    assert_case_fails(mluop_case, report)


def test_ties_of_samples(device):
    square = torch.tensor([[[0.0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]]])
    right = ops.furthest_point_sample(square, 3).tolist()
    assert right == [[0, 3, 2]]
    device(furthest_point_sampling_forward=writes(2, [[0, 3, 1]]))
    report = checked(ops.furthest_point_sample, square, 3)
    assert "wrong tie: samples 2 and 1 are both the furthest" in str(report)
    square[0, 1, 0] = 1e-7  # Rounding decides between 2 and 1.
    report = checked(ops.furthest_point_sample, square, 3)
    assert report and report.calls[0].verdict == "rounding"
    square[0, 1, 0] = 0.1
    report = checked(ops.furthest_point_sample, square, 3)
    assert "sample 2 is at the squared distance" in str(report)


def test_ties_of_neighbors_and_balls(device):
    cloud = torch.tensor([[[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [5, 5, 5]]])
    center = torch.zeros(1, 1, 3)
    right = ops.knn(2, cloud, center).flatten().tolist()
    (third,) = {0, 1, 2} - set(right)

    def other_tie(arguments):
        arguments[2][0, 0, 1] = third

    order = writes(2, [[[1, 0]]])
    device(knn_forward=spoiled(other_tie), ball_query_forward=order)
    with mluop_omp.check() as report:
        ops.knn(2, cloud, center)
        ops.ball_query(0, 2.0, 2, cloud, center)
    assert len(report.failures) == 2
    assert "wrong tie: each wrong neighbor is as near as the right one" in str(report.failures[0])
    assert "wrong order: each ball has the right points" in str(report.failures[1])
    cloud[0, third] *= 1 + 2.0**-22
    report = checked(ops.knn, 2, cloud, center, operators="knn_forward")
    assert report and report.calls[0].verdict == "rounding"
    cloud[0, third, 0] = 0.5
    report = checked(ops.knn, 2, cloud, center, operators="knn_forward")
    assert "wrong tie" not in str(report) and not report


def test_what_rounding_and_order_decide(device):
    """Either result at a bound, a face and a threshold; equal scores in any order."""

    def inside(arguments):
        arguments[2].copy_(1 - arguments[2])

    def other_voxels(arguments):
        count = int(arguments[6])
        for each in arguments[3:6]:
            each[:count] = each[:count].flip(0)
        arguments[3][0, :2] = arguments[3][0, :2].flip(0)

    device(
        ball_query_forward=writes(2, [[[0, 1]]]),
        points_in_boxes_all_forward=spoiled(inside),
        nms=other(lambda *_, **__: torch.tensor([1])),
        hard_voxelize_forward=spoiled(other_voxels),
    )
    corners = torch.tensor([[0.0, 0, 2, 2], [0, 0, 2, 2]])
    box, origin = torch.tensor([[[0.0, 0, 0, 2, 2, 2, 0]]]), torch.zeros(1, 1, 3)
    cloud = torch.tensor([[0.5, 0.5, 0.5], [0.25, 0.5, 0.5], [2.5, 0.5, 0.5], [2.75, 0.5, 0.5]])
    voxelize = ops.Voxelization([1, 1, 1], [0, 0, 0, 4, 4, 4], 2, 9, deterministic=False)

    def call(edge, score, top):
        ops.ball_query(0, 1.0, 2, torch.tensor([[[edge, 0, 0], [0, edge, 0]]]), origin)
        ops.points_in_boxes_all(torch.tensor([[[0, 0, top]]]), box)
        ops.nms(corners, torch.tensor([0.5, score]), 0.3)
        voxelize(cloud)

    report = checked(call, 1.0, 0.5, 2.0)
    verdicts = {call.operator: call.verdict for call in report.calls}
    assert report and list(verdicts.values()) == ["rounding"] * 3 + ["equal"], report
    report = checked(call, 1.1, 0.4, 2.1)
    assert [call.operator for call in report.failures] == list(verdicts)[:3], report


@pytest.mark.parametrize(
    ("found", "verdict"),
    [
        ([0, 1, 2, 4], "equal"),
        ([0, 1, 2, 3], "rounding"),
        ([1, 1, 2, 4], "differs"),  # without the center
        ([5, 1, 2, 4], "differs"),
        ([0, 1, 3, 5], "differs"),
        ([0, 1, 3, 4], "differs"),
    ],
)
def test_a_point_at_a_bound_excuses_no_other(device, found, verdict):
    """Balls have their center, at distance 0, and points at the bound of another rounding."""
    inside = [[0.0, 0, 0], [0.5, 0, 0], [0, 0.5, 0], [1, 0, 0], [0, 0, 0.25], [3, 0, 0]]
    device(ball_query_forward=writes(2, [[found]]), stack_ball_query_forward=writes(4, [found]))
    cloud, center, one = torch.tensor([inside]), torch.zeros(1, 1, 3), torch.tensor([1]).int()
    with mluop_omp.check() as report:
        ops.ball_query(0, 1.0, 4, cloud, center)
        ops.ball_query(0, 1.0, 4, cloud[0], center[0], 6 * one, one)
    assert [call.verdict for call in report.calls] == [verdict] * 2, report


@pytest.mark.parametrize(
    ("found", "verdict"), [(0, "equal"), (1, "rounding"), (2, "differs"), (3, "differs")]
)
def test_nearest_points_in_a_plane(device, found, verdict):
    device(chamfer_distance_forward=spoiled(lambda arguments: arguments[4].fill_(found)))
    points = torch.tensor([[[1.0, 0], [1 + 2**-22, 0], [2, 0]]])
    with mluop_omp.check() as report:
        ops.chamfer_distance(torch.zeros(1, 1, 2), points)
    assert [call.verdict for call in report.calls] == [verdict], report


def call_operators():
    """Calls the operators of mmcv, but for sparse convolutions."""
    for library in ("mmcv", "mmcv groups", "mmcv carafe"):
        for name, function in interfaces.INTERFACES[library].items():
            if "indice_pairs" not in name and "indice_conv" not in name:
                function(*cases.arguments(name))
    cloud, inside = cases.floats(40, 3), torch.zeros(7, 40, dtype=torch.int32)
    ext.points_in_boxes_cpu_forward(cases.floats(7, 7).abs() + 0.1, cloud, inside)
    ops.Voxelization([1, 1, 1], [-4, -4, -4, 4, 4, 4], -1)(cloud)
    layer = ops.DeformConv2dPack(2, 3, 3, padding=1)
    layer(cases.floats(1, 2, 6, 7).requires_grad_()).square().sum().backward()


def call_in_other_modes():
    for name, mode in (
        ("roi_align", {"method": "max"}),
        ("roi_align_backward", {"method": "max"}),
        ("roiaware_pool3d", {"method": "mean"}),
        ("roiaware_pool3d_backward", {"method": "mean"}),
        ("dynamic_scatter", {"reduce": "max"}),
        ("dynamic_scatter_backward", {"reduce": "max"}),
        ("bbox_overlaps", {"M": 9, "aligned": True, "mode": "iof", "offset": 1}),
        ("box_iou_quadri", {"M": 9, "aligned": True, "mode": "iof"}),
        ("box_iou_rotated", {"M": 9, "aligned": True, "mode": "iof"}),
        ("psamask", {"psa_type": "distribute"}),
        ("soft_nms", {"method": "linear"}),
    ):
        interfaces.INTERFACES["mmcv"][name](*cases.arguments(name, **mode))


# The operators that call_operators calls.
NAMES = [
    rule.name
    for rule in rules.mmcv_rules()
    if not re.search("get_indice_pairs|indice_conv", rule.name)
]


def test_every_function_has_a_rule():
    names = importlib.import_module("mluop_omp.mmcv").FUNCTIONS
    assert {rule.name for rule in rules.mmcv_rules()} == set(names)
    names = importlib.import_module("mluop_omp.spconv").functions()
    assert {rule.name for rule in rules.spconv_rules()} == set(names)


def test_operators_of_a_right_device(device):
    report = checked(lambda: (call_operators(), call_in_other_modes()))
    assert report and {call.verdict for call in report.calls} == {"equal"}, report
    assert {call.operator for call in report.calls} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_wrong_element_is_noticed(device, name, tmp_path, mluop_case):
    (rule,) = (rule for rule in rules.mmcv_rules() if rule.name == name)

    def wrong(right, *arguments, **named):
        bound = rule.bind(arguments, named)
        result = rule.call(bound)
        first = next(iter(rule.collect(bound, result).values()))
        if isinstance(first, list):  # Groups of boxes.
            first.reverse()
        else:
            first.flatten()[0].add_(1) if first.is_contiguous() else first.add_(1)
        return result

    device(**{name: other(wrong)})
    report = checked(call_operators, operators=name, cases=tmp_path)
    assert report.failures and {call.verdict for call in report.failures} == {"differs"}, report
    if NAMES.index(name) % 4 == 0:  # Cases of all operators are in test_case.py.
        assert_case_fails(mluop_case, report)


def assert_case_fails(mluop_case, report):
    """The case of the first failure fails against what the device found, not against the oracle."""
    failure = report.failures[0]
    if failure.operator == "dynamic_voxelize_forward":  # PyTorch computes it.
        assert not failure.case
        return
    assert failure.case, failure
    if mluop_case is not None:
        done = subprocess.run([mluop_case, "run", failure.case], capture_output=True, text=True)
        assert done.returncode == 1, done.stderr
        expected = r"^  \w+ against the stored: |  num_act_out is "
        assert re.search(expected, done.stdout, re.MULTILINE), done.stdout
        assert " against the oracle" not in done.stdout


@pytest.fixture
def all_wrong(monkeypatch):
    """Every call is a failure, whatever it found."""
    judged = importlib.import_module("mluop_omp.golden.checking._calls").Findings

    def wrong(rule):
        def judge(call):
            rule.judge(call)
            return judged(dict.fromkeys((*rule.outputs, *rule.results, "sites", "pairs"), "as if"))

        return dataclasses.replace(rule, judge=judge)

    check = importlib.import_module("mluop_omp.golden.checking._check")
    for name in ("mmcv_rules", "spconv_rules"):
        right = getattr(rules, name)
        monkeypatch.setattr(check, name, lambda right=right: list(map(wrong, right())))


def assert_cases_pass(mluop_case, folder):
    if mluop_case is not None:
        done = subprocess.run([mluop_case, "run", folder], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout


def test_cases_of_right_results_pass(device, all_wrong, tmp_path, mluop_case):
    device(get_indice_pairs_3d_forward=other(in_another_order))
    features, grid, ones = sparse_input().features.detach(), [8, 9, 10], [1, 1, 1]
    geometry = (2, grid, grid, [3, 3, 3], ones, ones, ones, [0, 0, 0], 1, 0)
    _, *pairs = ext.get_indice_pairs_3d_forward(sparse_input().indices, *geometry)
    with mluop_omp.check(cases=tmp_path) as report:
        call_operators()
        train(Net())
        weights = cases.floats(3, 3, 3, 16, 8), torch.arange(8.0)
        ext.fused_indice_conv_forward(features, *weights, *pairs, 200, 0, 1)
    cases_of = {call.operator: call.case for call in reversed(report.calls)}
    assert [name for name, case in cases_of.items() if not case] == ["dynamic_voxelize_forward"]
    report = checked(call_in_other_modes, cases=tmp_path / "modes")
    assert all(call.case for call in report.calls)
    assert_cases_pass(mluop_case, tmp_path)


def test_calls_without_a_case(device, tmp_path):
    add_one = spoiled(lambda arguments: arguments[2].add_(1))
    device(gather_points_forward=add_one, gather_points_backward=add_one)
    features, idx = torch.ones(1, 2, 3), torch.zeros(1, 4, dtype=torch.int32)
    with mluop_omp.check(cases=tmp_path) as report:
        ext.gather_points_forward(features.double(), idx, torch.zeros(1, 2, 4).double())
        ext.gather_points_backward(torch.ones(1, 2, 4), idx, features)  # Added to ones.
        ext.gather_points_backward(torch.ones(1, 2, 4), idx, 0 * features)
    reasons = "out_tensor has dtype torch.float64", "alone does not compute grad_points_tensor"
    for call, reason in zip(report.failures, reasons):
        assert "no case is written: " in call.notes[-1] and reason in call.notes[-1]
    assert report.failures[2].case and not any(call.case for call in report.failures[:2])


def test_a_case_has_the_number_of_rows_found(device, tmp_path):
    device(nms=other(lambda right, *arguments, **named: right(*arguments, **named)[:-1]))
    corners, scores = torch.eye(4), torch.rand(4)
    report = checked(lambda: ops.nms(corners, scores, 0.5), cases=tmp_path)
    assert "has shape [3], expected [4]" in str(report)
    assert (tmp_path / "0000-nms.output_size.bin").read_bytes() == bytes((3, 0, 0, 0))


def test_a_recording_has_the_calls_of_its_thread(tmp_path):
    recorded = importlib.import_module("mluop_omp.golden.checking._cases")._recorded
    call = interfaces.INTERFACES["NumPy"]["knn"]
    arguments = cases.of_numpy("knn", cases.arguments("knn"))
    with recorded(str(tmp_path)):
        thread = threading.Thread(target=call, args=arguments)
        thread.start()
        thread.join()
        assert not list(tmp_path.iterdir())
        call(*arguments)
    call(*arguments)
    assert len(list(tmp_path.glob("gen_case/*/*.prototxt"))) == 1


def test_the_default_device_is_not_that_of_the_check(device):
    """As torch.set_default_device("cuda") does; there is no such device here."""
    net, input, cloud = Net(), sparse_input(), cases.floats(1, 20, 3)
    device(indice_conv_forward=spoiled(one_site))
    with mluop_omp.check(net) as report, torch.device("meta"):
        run(net, input)
        ops.furthest_point_sample(cloud, 4)
        ops.ball_query(0, 1.0, 4, cloud, cloud)
    verdicts = [call.verdict for call in report.calls]
    assert verdicts == ["equal", "differs"] * 2 + ["differs", "equal", "equal"], report


def test_the_caller_is_outside_of_the_libraries(device):
    with mluop_omp.check() as report:
        assert str(report).startswith("nothing was checked: no operator was called")
        # A decorator of mmengine calls mmcv's function.
        ops.nms(torch.rand(4, 4), torch.rand(4), iou_threshold=0.5)
    assert "test_check.py:" in report.calls[0].caller


def test_failures_of_a_site_keep_the_tensors_of_one(device, tmp_path):
    device(indice_conv_forward=spoiled(one_site))
    net = Net()
    with mluop_omp.check(net, operators="indice_conv_forward") as report:
        for _ in range(3):
            run(net)
    kept = [call.differences["output"]._operands is not None for call in report.failures]
    assert kept == [True] * 3 + [False] * 6
    assert str(report.failures[0]).splitlines()[1:] == str(report.failures[3]).splitlines()[1:]
    report.failures[0].differences["output"].html(tmp_path / "page.html")
    assert "Elements by distance" in (tmp_path / "page.html").read_text()


@pytest.mark.parametrize(
    ("operators", "calls", "count"),
    [
        ("indice_conv_*", None, 6),
        (["indice_conv_forward", "get_*"], None, 10),
        (None, 1, 5),
        (None, range(2, 4), 2),
        (None, 0, 0),
    ],
)
def test_selection(device, operators, calls, count):
    net = Net()
    with mluop_omp.check(net, operators=operators, calls=calls) as report:
        for _ in range(2):
            run(net)
    assert len(report.calls) == count


def test_failures_are_raised_and_functions_restored(device):
    device(indice_conv_forward=spoiled(one_site))
    before = {rule.name: getattr(ext, rule.name) for rule in rules.mmcv_rules()}
    report = mluop_omp.check(Net(), raise_on_failure=True)
    with pytest.raises(mluop_omp.CheckFailure, match="row 7") as failure, report:
        run()
    assert failure.value.call is report.failures[0]
    with pytest.raises(ZeroDivisionError), mluop_omp.check() as report:
        1 / 0  # noqa: B018
    assert {name: getattr(ext, name) for name in before} == before
    with pytest.raises(RuntimeError, match="serves one block"):
        report.__enter__()  # The second time.


def test_nested_blocks_end_in_any_order(device):
    before = ext.indice_conv_forward
    outer, inner = mluop_omp.check(), mluop_omp.check()
    outer.__enter__()
    inner.__enter__()
    run()
    outer.__exit__(None, None, None)
    run()
    inner.__exit__(None, None, None)
    assert ext.indice_conv_forward is before
    run()
    assert len(outer.calls) == 5 and len(inner.calls) == 10
    assert outer and inner


@pytest.mark.parametrize("wrong", [same, spoiled(one_site)], ids=["right", "wrong"])
def test_threads(device, tmp_path, wrong):
    """Each thread records its cases while others call operators."""
    device(indice_conv_forward=wrong)
    nets = nn.ModuleList([Net() for _ in range(4)])
    with mluop_omp.check(nets, cases=tmp_path) as report:
        threads = [threading.Thread(target=run, args=(net,)) for net in nets]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert bool(report) is (wrong is same) and len(report.calls) == 20
    assert sorted(call.number for call in report.calls) == list(range(20))
    assert len(list(tmp_path.glob("*.prototxt"))) == len(report.failures)
    assert all(call.case for call in report.failures)


def test_own_calls_and_refused_arguments(device, monkeypatch):
    monkeypatch.undo()  # The functions of mluop_omp.mmcv.
    report = checked(run)
    assert not report.calls and report.own_calls == 5 and not report
    assert "computed by mluop_omp itself, not checked: 5 calls" in str(report)
    monkeypatch.setattr(ext, "gather_points_forward", lambda *_, **__: None)
    idx = torch.tensor([[7]], dtype=torch.int32)
    report = checked(ops.gather_points, cases.floats(1, 2, 3), idx)
    assert report.calls[0].verdict == "not checked" and "MluOpError" in str(report)
    assert not report and str(report).startswith("nothing was checked: none of 1 call")
    report.calls.append(dataclasses.replace(report.calls[0], verdict="equal"))
    assert not report and str(report).startswith("not all was checked: 1 of 2 calls agree")


def test_tolerances(device):
    def one_column(arguments):
        arguments[-1][..., 0] = 2

    device(indice_conv_forward=spoiled(one_site), gather_points_forward=spoiled(one_column))
    layer = ops.SubMConv3d(16, 8, 3, bias=False)
    for tolerance, right in ((2, True), (0.5, False)):
        assert bool(checked(layer, sparse_input(), atol=tolerance)) is right
    # The tolerance applies to copies too; none admits a finite number in place of infinity.
    idx = torch.zeros(1, 4, dtype=torch.int32)
    for value, right in ((1.0, True), (float("inf"), False)):
        feats = torch.full((1, 2, 3), value)
        assert bool(checked(ops.gather_points, feats, idx, rtol=1)) is right
        assert not checked(ops.gather_points, feats, idx)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float16, torch.bfloat16])
def test_tolerances_are_relative_to_the_output(scale, dtype):
    """Under fixed tolerances, rounding agrees and a factor of 2 differs."""
    if dtype is torch.float16 and scale > 1:
        return
    near = differences.near(1e-3, 1e-3)
    expected = (scale * cases.floats(100, 30)).to(dtype)
    unit = torch.finfo(dtype)
    rounding = unit.eps * expected.abs().clamp(min=unit.smallest_normal)
    found = (expected + rounding / 2 * torch.sign(cases.floats(100, 30))).to(dtype)
    rule = rules.Rule("x", lambda: None, near)
    for value, is_right in ((found, True), (2 * expected, False), (0 * expected, False)):
        call = rules.Call(rule, {}, {"y": value})
        call.__dict__["expected"] = {"y": expected}
        findings = near(call)
        assert (not findings.differences) is is_right
        if not is_right:
            assert "of the root mean square" in findings.notes[0]


@pytest.mark.parametrize(
    ("name", "index"),
    [("modulated_deform_conv_forward", 6), ("modulated_deform_conv_backward", 8)],
)
def test_small_outputs_that_are_wrong_by_a_factor(device, name, index):
    image, filters = 1e-6 * cases.floats(1, 4, 8, 8), cases.floats(4, 4, 3, 3).requires_grad_()
    offset, mask = cases.floats(1, 18, 8, 8), cases.floats(1, 9, 8, 8)

    def call():
        out = ops.modulated_deform_conv2d(image, offset, mask, filters, None, 1, 1)
        out.backward(1e-6 * torch.ones_like(out))

    assert checked(call, operators=name)
    device(**{name: spoiled(lambda arguments: arguments[index].mul_(2))})
    assert checked(call, operators=name).failures


@pytest.mark.parametrize(
    ("arguments", "error", "text"),
    [
        ({"model": 3}, TypeError, "model is of type int, expected torch.nn.Module"),
        ({"operators": "conv_*"}, ValueError, "operators has 'conv_*', expected some of"),
        ({"operators": 3}, TypeError, "operators is of type int, expected names"),
        ({"calls": -1}, ValueError, "calls is -1, expected an integer from 0"),
        ({"calls": "3"}, ValueError, "calls is '3', expected an integer from 0"),
        ({"calls": 2.5}, ValueError, "calls is 2.5, expected an integer from 0"),
        ({"rtol": -1}, ValueError, "rtol is -1, expected a finite number"),
        ({"cases": "/dev/null/cases"}, OSError, "/dev/null/cases"),
    ],
)
def test_arguments(arguments, error, text):
    with pytest.raises(error, match=re.escape(text)), mluop_omp.check(**arguments):
        pass


@pytest.mark.parametrize(
    ("dtype", "name"),
    [(torch.float32, "FLOAT"), (torch.float16, "HALF"), (torch.bfloat16, "BFLOAT16")],
)
def test_cases(device, tmp_path, dtype, name):
    device(indice_conv_forward=spoiled(one_site))
    net, input = Net().to(dtype), sparse_input(dtype=dtype)
    report = checked(run, net, input, model=net, cases=tmp_path)
    text = tmp_path / "0001-indice_conv_forward.prototxt"
    assert report.failures[0].case == str(text)
    assert 'op_name: "indice_convolution_forward"' in text.read_text()
    assert text.read_text().count(f"dtype: DTYPE_{name}\n") == 3
    elements = (tmp_path / "0001-indice_conv_forward.features_out.bin").read_bytes()
    assert len(elements) == 200 * 32 * dtype.itemsize


def test_spconv(spconv, spconv_device):
    net = Net(library=spconv)
    report = checked(train, net, sparse_input(library=spconv), model=net)
    assert report and {call.verdict for call in report.calls} == {"equal"}, report
    names = [call.operator for call in report.calls]
    assert names.count("indice_conv") == names.count("indice_conv_backward") == 3
    backward = ["up (SparseInverseConv3d)", "down (SparseConv3d)", "conv1 (SubMConv3d)"]
    assert [call.module for call in report.calls[-3:]] == backward


def test_a_wrong_convolution_of_spconv_is_named(spconv, spconv_device, tmp_path):
    def flipped(right, features, filters, *others, **named):
        return right(features, filters.flip(1, 2, 3), *others, **named)

    spconv_device(indice_conv=other(flipped))
    net = Net(library=spconv)
    with torch.no_grad():
        report = checked(net, sparse_input(library=spconv), model=net, cases=tmp_path)
    assert len(report.failures) == 3
    for call in report.failures:
        assert "reproduced by filters with the offsets reversed" in call.notes
    assert len(list(tmp_path.glob("*.prototxt"))) == 3


def test_implicit_gemm(spconv, spconv_device, tmp_path, mluop_case):
    sparse, none = spconv.ops, []
    triple = [3, 3, 3], [2, 2, 2], [1, 1, 1], [1, 1, 1], [0, 0, 0]
    geometry = (sparse_input().indices, 2, [8, 9, 10], None, *triple)

    def convolve():
        pairs = sparse.get_indice_pairs_implicit_gemm(*geometry)
        features, filters = cases.floats(200, 8), cases.floats(6, 3, 3, 3, 8)
        arguments = (features, filters, pairs[2], none, none, len(pairs[0]), none, True, False)
        (output, *_) = sparse.implicit_gemm(*arguments)
        backward = (features, filters, output, pairs[2], None, *4 * [none], None, none, 1, False)
        sparse.implicit_gemm_backward(*backward)

    report = checked(convolve)
    assert report and {call.verdict for call in report.calls} == {"equal"}, report

    def one_filter(grads):
        grads[1][2, 0, 1, 2, 3] += 9

    spconv_device(
        implicit_gemm=spoiled(lambda result: scaled_channel(result[0])),
        implicit_gemm_backward=spoiled(one_filter),
    )
    report = checked(convolve, cases=tmp_path)
    failure, of_gradient = report.failures
    assert "one channel: 5" in str(failure) and "is the site (" in str(failure)
    assert of_gradient.case
    assert_case_fails(mluop_case, report)


def test_cases_of_spconv_pass(spconv, spconv_device, all_wrong, tmp_path, mluop_case):
    sites, ones = sparse_input().indices, [1, 1, 1]
    for implicit, subm, dilation in itertools.product((0, 1), (0, 1), (1, 2)):
        name = "get_indice_pairs" + "_implicit_gemm" * implicit
        stride = [1 if subm or dilation > 1 else 2] * 3
        geometry = (ones, [dilation] * 3, [0, 0, 0])
        folder = tmp_path / f"{implicit}{subm}{dilation}"
        with mluop_omp.check(cases=folder) as report:
            arguments = (sites, 2, [8, 9, 10], spconv.ConvAlgo.Native, [3, 3, 3], stride, *geometry)
            getattr(spconv.ops, name)(*arguments, bool(subm))
        assert bool(report.failures[0].case) != (subm and dilation > 1), report
    net = Net(library=spconv)
    with mluop_omp.check(net, operators="indice_conv*", cases=tmp_path):
        train(net, sparse_input(library=spconv))
    assert len(list(tmp_path.glob("*/*.prototxt"))) == 6
    assert len(list(tmp_path.glob("*.prototxt"))) == 6
    assert_cases_pass(mluop_case, tmp_path)


def test_pools_of_spconv(spconv, spconv_device, tmp_path):
    def from_zero(right, *arguments):
        return right(*arguments).clamp(min=0)

    def more(right, *arguments):
        return right(*arguments) + 1

    pool = spconv.SparseMaxPool3d(3, 2, 1)
    for wrong, right in ((same, True), (other(from_zero), True), (other(more), False)):
        spconv_device(indice_maxpool=wrong)
        with mluop_omp.check(operators="*pool*", cases=tmp_path) as report:
            pool(sparse_input(library=spconv)).features.sum().backward()
        assert bool(report) is right and len(report.calls) == 2, report
    assert report.failures[0].notes[-1].endswith("no operator of the C API computes maxima")


def test_calls_that_are_not_checked_for_one_reason_are_reported_once():
    reason = "TypeError: missing a required argument: 'bias', expected arguments input, bias"
    calls = [reports.CheckedCall(k, "deform", f"layer{k}", "net.py:1") for k in range(20)]
    for call in calls:
        call.notes = [reason] if call.number != 7 else ["MluOpError: too large"]
    text = reports.text_of(calls, 0, 0, ())
    assert text.startswith("nothing was checked: none of 20 calls")
    assert text.count(reason) == 1 and text.count("too large") == 1
    assert "  18 more calls for the same reason, at 19 call sites in all" in text
