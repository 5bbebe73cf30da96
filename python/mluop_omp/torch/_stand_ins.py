"""torch.cuda on a CPU: the names that `mluop_omp.no_cuda` replaces, and by what.

`CUDA` has each name of torch.cuda and of its submodules whose original requires a GPU: a stand-in,
or a function that says so. The other names of torch.cuda need no GPU.
"""

from __future__ import annotations

import operator
import os
import platform
import time
from collections import Counter
from types import SimpleNamespace
from typing import Any, Callable

import torch
from torch import Tensor

_NUMBERS = ("BFloat16", "Byte", "Char", "Double", "Float", "Half", "Int", "Long", "Short")
_TYPES = [f"{name}Tensor" for name in (*_NUMBERS, "Bool")]
_TYPES += [f"{name}Storage" for name in (*_NUMBERS, "Bool", "ComplexDouble", "ComplexFloat")]
_TYPES += [f"sparse.{name}Tensor" for name in _NUMBERS]


def _returns(value: Any) -> Any:
    """Returns a function, or a method, that ignores its arguments."""
    return lambda *_, **__: value


class Context:
    """The context of a device or a stream: changes nothing."""

    __init__ = __enter__ = __exit__ = _returns(None)


class Event:
    """The time of its `record`, if timing is enabled: what came before is done by then."""

    query = _returns(True)
    synchronize = wait = _returns(None)

    def __init__(self, enable_timing: bool = False, *_: Any, **__: Any) -> None:
        self._enable_timing = enable_timing
        self._time: float | None = None

    def record(self, stream: Any = None) -> None:
        self._time = time.perf_counter() if self._enable_timing else None

    def elapsed_time(self, end_event: Event) -> float:
        """Returns the milliseconds from this event to end_event."""
        if self._time is None or end_event._time is None:
            raise RuntimeError("elapsed_time requires two recorded events with enable_timing=True")
        return (end_event._time - self._time) * 1e3


class Stream:
    """The order of the program: all streams are equal, and each call is done when it returns."""

    cuda_stream = priority = 0
    device = torch.device("cpu")
    query = _returns(True)
    __init__ = __exit__ = synchronize = wait_event = wait_stream = _returns(None)
    __hash__ = _returns(0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream)

    def __enter__(self) -> Stream:
        return self

    def record_event(self, event: Event | None = None) -> Event:
        event = Event() if event is None else event
        event.record()
        return event


def _lines(path: str) -> dict[str, str]:
    """Returns the lines `name: value` of a file of /proc, of each name the first."""
    with open(path, encoding="utf-8") as file:
        pairs = [line.partition(":")[::2] for line in file]
    return {name.strip(): value.strip() for name, value in reversed(pairs)}


def get_device_name(device: Any = None) -> str:
    return _lines("/proc/cpuinfo").get("model name") or platform.machine()


def mem_get_info(device: Any = None) -> tuple[int, int]:
    """Returns the bytes of memory that are available, and all."""
    memory = _lines("/proc/meminfo")
    available, total = (int(memory[f"Mem{name}"].split()[0]) for name in ("Available", "Total"))
    return available * 1024, total * 1024


def get_device_properties(device: Any = None) -> SimpleNamespace:
    return SimpleNamespace(
        name=get_device_name(),
        major=0,
        minor=0,
        total_memory=mem_get_info()[1],
        multi_processor_count=os.cpu_count(),
        gcnArchName="",
        is_integrated=1,
        is_multi_gpu_board=0,
    )


def set_rng_state(new_state: Tensor, device: Any = None) -> None:
    """Ignores a state of another size, which comes from a GPU, as PyTorch does without one."""
    if new_state.numel() == torch.get_rng_state().numel():
        torch.set_rng_state(new_state)


def set_rng_state_all(new_states: Any) -> None:
    for state in new_states:
        set_rng_state(state)


def _seed() -> None:
    torch.default_generator.seed()


def _manual_seed(seed: int) -> None:
    # torch.manual_seed calls torch.cuda.manual_seed_all.
    torch.default_generator.manual_seed(int(seed))


def _gather(target_device: Any, dim: int, *inputs: Tensor) -> Tensor:
    return torch.cat([each.reshape(1) if each.dim() == 0 else each for each in inputs], dim)


def _parallel_apply(
    modules: Any, inputs: Any, kwargs_tup: Any = None, devices: Any = None
) -> list[Any]:
    named = kwargs_tup or [{}] * len(modules)
    return [
        module(*(own if isinstance(own, (list, tuple)) else (own,)), **keywords)
        for module, own, keywords in zip(modules, inputs, named)
    ]


def _data_parallel(
    module: Any,
    inputs: Any,
    device_ids: Any = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    (output,) = _parallel_apply([module], [inputs], [module_kwargs or {}])
    return output


def _refused(path: str) -> type:
    """Returns what refuses a call of torch.cuda.path, also as a class to test instances of."""

    def refuse(cls: type, *_: Any, **__: Any) -> None:
        raise RuntimeError(f"torch.cuda.{path} requires a GPU, also with mluop_omp.no_cuda()")

    return type(path.rpartition(".")[2], (), {"__new__": refuse})


_NOTHING = """
init ipc_collect reset_accumulated_host_memory_stats reset_accumulated_memory_stats
reset_max_memory_allocated reset_max_memory_cached reset_peak_host_memory_stats
reset_peak_memory_stats set_device set_per_process_memory_fraction set_stream set_sync_debug_mode
synchronize nvtx.mark nvtx.range_end nvtx.range_pop nvtx.range_push nvtx.range_start profiler.start
profiler.stop
"""
_REFUSED = """
CUDAGraph MemPool caching_allocator_alloc caching_allocator_delete change_current_allocator
check_error clock_rate cudart current_blas_handle current_solver_handle device_memory_used graph
graph_pool_handle make_graphed_callables memory_usage power_draw temperature use_mem_pool
utilization nccl.version
"""
NOTHING, REFUSED = _NOTHING.split(), _REFUSED.split()
REFUSED += [f"nccl.{name}" for name in torch.cuda.nccl.__all__]
REFUSED += [f"tunable.{name}" for name in torch.cuda.tunable.__all__]
CUDA: dict[str, Any] = {
    **{path: operator.attrgetter(path)(torch) for path in _TYPES},
    **{name: _returns(None) for name in NOTHING},
    **{name: _refused(name) for name in REFUSED},
    "Event": Event,
    "ExternalStream": Stream,
    "Stream": Stream,
    "StreamContext": Context,
    "caching_allocator_disabled": Context,
    "can_device_access_peer": _returns(False),
    "current_device": _returns(0),
    "current_stream": Stream,
    "default_generators": (torch.default_generator,),
    "default_stream": Stream,
    "device": Context,
    "device_of": Context,
    "get_allocator_backend": _returns("native"),
    "get_device_capability": _returns((0, 0)),
    "get_device_name": get_device_name,
    "get_device_properties": get_device_properties,
    "get_per_process_memory_fraction": _returns(1.0),
    "get_rng_state": lambda device=None: torch.get_rng_state(),
    "get_stream_from_external": Stream,
    "get_sync_debug_mode": _returns(0),
    "host_memory_stats": lambda: Counter(),
    "initial_seed": torch.initial_seed,
    "is_current_stream_capturing": _returns(False),
    "list_gpu_processes": _returns("no processes are running"),
    "manual_seed": _manual_seed,
    "manual_seed_all": _manual_seed,
    "mem_get_info": mem_get_info,
    "memory_snapshot": lambda *_, **__: [],
    # 0 for each of its keys.
    "memory_stats": lambda device=None: Counter(),
    "memory_summary": _returns("no memory of a GPU is allocated"),
    "seed": _seed,
    "seed_all": _seed,
    "set_rng_state": set_rng_state,
    "set_rng_state_all": set_rng_state_all,
    "stream": Context,
}
# For torch.nn.parallel.
PARALLEL: dict[str, Callable[..., Any]] = {
    "scatter_gather.Gather.apply": _gather,
    "scatter_gather.Scatter.apply": lambda gpus, sizes, dim, input: input.chunk(len(gpus), dim),
    "data_parallel": _data_parallel,
    "parallel_apply": _parallel_apply,
    "replicate": lambda network, devices, detach=False: [network] * len(devices),
}
