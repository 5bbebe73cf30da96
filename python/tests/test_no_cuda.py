"""`mluop_omp.no_cuda()`."""

from __future__ import annotations

import collections
import inspect
import operator
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

torch = pytest.importorskip("torch", reason="requires PyTorch")

import mluop_omp  # noqa: E402
from mluop_omp.torch import _stand_ins  # noqa: E402

if torch.cuda.is_available():
    pytest.skip("requires a machine without a GPU", allow_module_level=True)


def test_devices_mean_the_cpu():
    module = torch.nn.Linear(2, 3)
    with mluop_omp.no_cuda():
        assert module.cuda() is module and module.cuda(0) is module
        assert module.to("cuda") is module and module.to(torch.device("cuda:1")) is module
        tensor = torch.ones(2, requires_grad=True)
        for same in (tensor.cuda(), tensor.cuda(0, non_blocking=True), tensor.cuda(device="cuda")):
            assert same is tensor
        assert tensor.to("cuda") is tensor and tensor.to(0) is tensor
        assert tensor.to(device="cuda:0", dtype=torch.float64).dtype is torch.float64
        assert tensor.to(torch.device("cuda"), torch.float16).dtype is torch.float16
        assert tensor.to(tensor) is tensor and tensor.to(torch.int32).dtype is torch.int32
        created = [
            *(torch.zeros(2, device="cuda"), torch.arange(3, device=torch.device("cuda", 1))),
            *(torch.tensor([1], device=0), torch.randn(2, device="cuda"), tensor.new_zeros(2)),
            *(tensor.new_zeros(2, device="cuda"), torch.zeros_like(tensor, device="cuda")),
            *(torch.as_tensor([1.0], device="cuda"), torch.nn.Linear(1, 1, device="cuda").weight),
        ]
        with torch.device("cuda"):
            created.append(torch.zeros(1))
        assert all(each.is_cpu for each in created)
        tensor.cuda().sum().backward()
        assert tensor.grad.tolist() == [1, 1]


# An expression on torch.cuda for each of its names that requires no GPU: True.
SERVED = """
CudaError.__base__ is RuntimeError
DeferredCudaCallError.__base__ is Exception
Event(enable_timing=True, blocking=True).query() and Event(interprocess=True).wait() is None
ExternalStream(0).query()
Stream(device=0, priority=-1) == current_stream() and {Stream()} == {default_stream()}
StreamContext(None).__enter__() is None
amp.GradScaler().scale(1.0) == 1.0
amp.amp_definitely_not_available()
amp.autocast()._enabled is False
amp.custom_bwd(bool)(SimpleNamespace(_fwd_used_autocast=False, _dtype=None))
amp.custom_fwd(bool)(SimpleNamespace())
caching_allocator_disabled().__enter__() is None
caching_allocator_enable(False) is None
can_device_access_peer(0, 1) is False
cudaStatus.SUCCESS == 0
current_stream(0).wait_stream(Stream()) is None and current_stream().synchronize() is None
default_generators[0] is torch.default_generator
default_stream().wait_event(Event()) is None
device("cuda:0").__enter__() is None
device_of(torch.ones(1)).__enter__() is None
get_allocator_backend() == "native"
get_arch_list() is not None
get_device_capability(0) == (0, 0)
get_device_name() == get_device_properties().name != ""
get_device_properties("cuda").total_memory == mem_get_info()[1]
get_gencode_flags() is not None
get_per_process_memory_fraction() == 1
get_rng_state("cuda").equal(torch.get_rng_state())
get_rng_state_all() == []
get_stream_from_external(0) == Stream()
has_half is True
has_magma in (False, True)
host_memory_stats()["allocated_bytes.current"] == 0
initial_seed() == torch.initial_seed()
list_gpu_processes() == "no processes are running"
manual_seed(3) is None and torch.initial_seed() == 3
manual_seed_all(4) is None and torch.initial_seed() == 4
0 < mem_get_info()[0] <= mem_get_info()[1]
memory_snapshot() == []
memory_stats()["allocated_bytes.all.peak"] == 0
memory_summary() == "no memory of a GPU is allocated"
nvtx.range("a").__enter__() is None
profiler.profile().__enter__() is None
seed() is None and initial_seed() != 4
set_rng_state(get_rng_state()) is None
set_rng_state_all([torch.zeros(16, dtype=torch.uint8)]) is None
stream(Stream()).__enter__() is None
""".strip().splitlines()
# Names of functions by what they return.
VALUES = {
    "== 0": "current_device device_count get_sync_debug_mode max_memory_allocated "
    "max_memory_cached max_memory_reserved memory_allocated memory_cached "
    "memory_reserved",
    "is False": "is_available is_bf16_supported is_current_stream_capturing "
    "is_initialized is_tf32_supported",
    "== {}": "host_memory_stats_as_nested_dict memory_stats_as_nested_dict",
    "is None": " ".join(["empty_cache", "seed_all", *_stand_ins.NOTHING]),
}
SERVED += [f"{name}() {value}" for value, names in VALUES.items() for name in names.split()]
# PyTorch says what they require.
OF_PYTORCH = {"CUDAPluggableAllocator", "GreenContext"}
MODULES = ("amp", "nccl", "nvtx", "profiler", "tunable")  # they have names of their own


def _name(expression):
    return re.match(r"(?:0 < )?([\w.]+?)(?=[^\w.]|\.__)", expression).group(1)


def _public_names():
    names = {f"{each}.{name}" for each in MODULES for name in getattr(torch.cuda, each).__all__}
    names |= {f"sparse.{name}" for name in vars(torch.cuda.sparse) if name.endswith("Tensor")}
    modules = {name for name in torch.cuda.__all__ if inspect.ismodule(getattr(torch.cuda, name))}
    return names | set(torch.cuda.__all__) - modules


def test_each_name_of_torch_cuda_is_decided():
    served = {_name(expression).removesuffix(".SUCCESS") for expression in SERVED}
    types = {name for name in _stand_ins.CUDA if name.endswith(("Tensor", "Storage"))}
    refused = set(_stand_ins.REFUSED)
    assert not served & refused
    decided = served | types | refused | OF_PYTORCH
    assert _public_names() - decided == set()
    # Not in __all__ of its module.
    assert decided - _public_names() == {"nccl.version"}
    assert set(_stand_ins.CUDA) <= decided


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("expression", SERVED, ids=_name)
def test_served(expression):
    with torch.random.fork_rng(), mluop_omp.no_cuda():
        names = {**vars(torch.cuda), "torch": torch, "SimpleNamespace": SimpleNamespace}
        assert eval(expression, names) is True


@pytest.mark.parametrize("name", _stand_ins.REFUSED)
def test_refused(name):
    with mluop_omp.no_cuda():
        function = operator.attrgetter(name)(torch.cuda)
        with pytest.raises(RuntimeError, match=f"torch.cuda.{name} requires a GPU"):
            function(0)
        assert not isinstance(torch.ones(1), function)


@pytest.mark.parametrize("page", ["python.md", "zh/python.md"])
def test_the_page_lists_what_is_refused(page):
    text = (Path(__file__).resolve().parents[2] / "docs" / page).read_text()
    words = set(re.findall(r"\w+", text[text.rindex("\n## ") :]))
    assert {name.partition(".")[0] for name in _stand_ins.REFUSED} | OF_PYTORCH <= words


def test_types_of_torch_cuda():
    with mluop_omp.no_cuda():
        assert torch.cuda.IntTensor(2, 3).zero_().tolist() == [[0] * 3] * 2
        assert torch.cuda.FloatTensor(torch.Size((2,))).fill_(1).tolist() == [1, 1]
        assert torch.cuda.LongTensor([4]).dtype is torch.int64
        assert torch.ones(1).type("torch.cuda.HalfTensor").dtype is torch.float16
        assert torch.ones(1).type(torch.cuda.ByteTensor).type() == "torch.ByteTensor"
        assert torch.ones(1).type(dtype="torch.cuda.IntTensor").dtype is torch.int32
        assert len(torch.cuda.FloatStorage(2)) == 2
        assert torch.cuda.sparse.FloatTensor(2, 2).is_sparse


def test_streams_and_events():
    with mluop_omp.no_cuda():
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with pytest.raises(RuntimeError, match="two recorded events"):
            start.elapsed_time(end)
        with torch.cuda.device(0), torch.cuda.stream(torch.cuda.Stream()) as nothing:
            assert nothing is None
            start.record()
            time.sleep(0.01)
            end.record(torch.cuda.current_stream())
        assert torch.cuda.current_stream().record_event(end) is end
        torch.cuda.synchronize()
        assert 10 <= start.elapsed_time(end) < 60e3
        torch.ones(1).record_stream(torch.cuda.current_stream())


def test_pinned_memory_and_default_devices():
    data = torch.utils.data.TensorDataset(torch.ones(4, 2))
    with mluop_omp.no_cuda():
        tensor = torch.ones(2)
        assert tensor.pin_memory() is tensor and not tensor.is_pinned()
        assert torch.zeros(2, pin_memory=True).is_cpu
        assert len(list(torch.utils.data.DataLoader(data, 2, pin_memory=True))) == 2
        torch.set_default_device("cuda")
        assert torch.get_default_device().type == torch.zeros(1).device.type == "cpu"
        torch.set_default_device(None)


def test_random_numbers():
    with mluop_omp.no_cuda():
        torch.cuda.manual_seed_all(5)
        state = torch.cuda.get_rng_state()
        first = torch.rand(3, device="cuda")
        torch.cuda.set_rng_state(state)
        with torch.random.fork_rng(devices=[0]):
            assert torch.rand(3, device="cuda").equal(first)
        torch.manual_seed(5)
        torch.cuda.set_rng_state(torch.zeros(16, dtype=torch.uint8))  # of a GPU
        assert torch.rand(3).equal(first)


def test_data_parallel():
    parallel, module = torch.nn.parallel, torch.nn.Linear(2, 1)
    Pair = collections.namedtuple("Pair", "first second")
    input = torch.arange(6.0).reshape(3, 2).requires_grad_()
    with mluop_omp.no_cuda():
        parts = parallel.scatter(Pair(input, {"a": [input]}), [0, 1])
        assert [len(part.first) for part in parts] == [2, 1]
        replicas = parallel.replicate(module, [0, 1])
        outputs = parallel.parallel_apply(replicas, [part.first for part in parts])
        assert parallel.gather(outputs, 0).equal(module(input))
        assert parallel.gather([output.sum() for output in outputs], 0).shape == (2,)
        parallel.gather(outputs, 0).sum().backward()
        assert input.grad.equal(module.weight.expand(3, 2))
        assert parallel.data_parallel(module, input, [0, 1]).equal(module(input))
        assert torch.nn.DataParallel(module.cuda(), [0])(input).equal(module(input))
        assert parallel.scatter_gather.scatter_kwargs((input,), {"a": 1}, [0])[1] == ({"a": 1},)


@pytest.mark.parametrize("location", [None, "cuda:1", lambda storage, _: storage.cuda(0)])
def test_files_saved_from_a_gpu(location, tmp_path, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(torch.serialization, "location_tag", lambda storage: "cuda:0")
        torch.save({"weight": torch.ones(2)}, tmp_path / "weights.pt")
    with mluop_omp.no_cuda():
        loaded = torch.load(tmp_path / "weights.pt", map_location=location)
    assert loaded["weight"].tolist() == [1, 1] and loaded["weight"].is_cpu
    with pytest.raises(RuntimeError):
        torch.load(tmp_path / "weights.pt")


def test_threads():
    def use():
        with pytest.raises((AssertionError, RuntimeError)):  # each thread has its devices
            torch.ones(1, device="cuda")
        with mluop_omp.no_cuda():
            entered.set()
            ended.wait()
            found.append(torch.ones(1, device="cuda").is_cpu and torch.cuda.current_device() == 0)

    entered, ended = threading.Event(), threading.Event()
    found, before = [], torch.cuda.synchronize
    thread = threading.Thread(target=use)
    with mluop_omp.no_cuda():
        thread.start()
        assert entered.wait(60)
    ended.set()
    thread.join()
    assert found == [True] and torch.cuda.synchronize is before


@pytest.mark.parametrize("backend", ["eager", "inductor"])
def test_compiled_functions(backend):
    def moves(tensor):
        return torch.relu(tensor.cuda()) + torch.ones(2, device="cuda")

    with mluop_omp.no_cuda():
        compiled = torch.compile(moves, backend=backend, fullgraph=True)
        assert compiled(torch.ones(2)).tolist() == [2, 2]


@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_binary_cross_entropy_of_any_target(reduction):
    loss = torch.nn.functional.binary_cross_entropy
    input = torch.tensor([0.2, 0.9, 0.5, 0.7], requires_grad=True)
    target, weight = torch.tensor([0, 1, -1, 0.5]), torch.tensor([1.0, 2, 3, 4])
    losses = -weight * (target * input.log() + (1 - target) * (1 - input).log())
    expected = {"none": losses, "mean": losses.mean(), "sum": losses.sum()}[reduction]
    with mluop_omp.no_cuda():
        found = loss(input, target, weight, reduction=reduction)
        valid = loss(input, target.abs(), reduction=reduction)
    torch.testing.assert_close(found, expected)
    (grad,) = torch.autograd.grad(found.sum(), input)
    torch.testing.assert_close(grad, torch.autograd.grad(expected.sum(), input)[0])
    assert torch.equal(valid, loss(input, target.abs(), reduction=reduction))


def test_what_it_lasts_for():
    def raises():
        with pytest.raises((AssertionError, RuntimeError)):
            torch.zeros(1, device="cuda")
        with pytest.raises((AssertionError, RuntimeError)):
            torch.zeros(1).cuda()
        with pytest.raises((TypeError, RuntimeError)):
            torch.cuda.FloatTensor(1)

    def state():
        modules = [module for name, module in sys.modules.items() if name.startswith("torch.cuda")]
        modules += [torch, torch.Tensor, torch.nn.parallel, torch.serialization]
        modules += [torch.UntypedStorage, torch.TypedStorage]
        modules += [torch.nn.parallel.scatter_gather.Scatter]
        return [{name: id(value) for name, value in vars(each).items()} for each in modules]

    raises()
    before = state()
    with mluop_omp.no_cuda():
        assert state() != before
    assert state() == before
    with pytest.raises(ZeroDivisionError), mluop_omp.no_cuda(), mluop_omp.no_cuda():
        1 / 0  # noqa: B018
    assert state() == before
    raises()
    # Without a with statement, for the rest of the program.
    code = """
import mluop_omp, torch
mluop_omp.no_cuda()
assert torch.nn.Linear(2, 3).cuda()(torch.cuda.FloatTensor(1, 2)).shape == (1, 3)
torch.optim.Adam(torch.nn.Linear(2, 3).cuda().parameters())
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", code], check=True, timeout=300)
