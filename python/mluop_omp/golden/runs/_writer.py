"""Writes the file of a run. docs/record.md describes the format."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from typing import IO, TYPE_CHECKING, Any, BinaryIO, NamedTuple, Union, cast

import numpy as np

from mluop_omp.golden.comparison import SparseSites
from mluop_omp.golden.runs import _sampling
from mluop_omp.golden.runs._budget import Budget
from mluop_omp.golden.runs._elements import ArraySource
from mluop_omp.golden.runs._run import DESCRIPTION, FORMAT, VERSION

if TYPE_CHECKING:
    from mluop_omp.golden.runs._sources import Source

    AnySource = Union[Source, ArraySource]

_MAX_LABEL = 80
_MAX_REASON = 1000
_MAX_HASHES = 8


class Sites(NamedTuple):
    """Recorded sites: the tensor of indices, and the rows that are recorded, None for all."""

    tensor: str
    rows: np.ndarray | None
    sample: dict[str, str] | None


class RunWriter:
    """Writes tensors to a stream as they come, each distinct one once.

    At the end of a `with` block without an exception, the file is complete.
    """

    def __init__(
        self, stream: BinaryIO, model: str, seed: int, max_bytes: int, budget: Budget
    ) -> None:
        self._seed, self._max_bytes, self._budget = seed, max_bytes, budget
        self._head = {"format": FORMAT, "version": VERSION, "model": model, "seed": str(seed)}
        self._described = 1024 + len(json.dumps(model))
        parts = ("tensors", "calls", "gradients", "changed")
        self._lines: dict[str, list[str]] = {part: [] for part in parts}
        self._names: dict[tuple, str] = {}
        # Counts of samples by kind: equal tensors must get equal samples.
        self._samples: dict[tuple, int] = {}
        # Hashes of the latest sites by their digest.
        self._hashes: dict[bytes, np.ndarray] = {}
        self._stream, self._zip = stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED)

    def __enter__(self) -> RunWriter:
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        with self._zip:
            if kind is not None:
                return
            head = json.dumps(self._head)[:-1]
            parts = (f'"{name}": [\n' + ",\n".join(v) + "\n]" for name, v in self._lines.items())
            text = ", ".join([head, *parts]) + "}\n"
            with self._member(DESCRIPTION, len(text)) as member:
                member.write(text.encode())

    def end(self, reason: str) -> None:
        """States what ended the run."""
        self._head["ended"] = reason[:_MAX_REASON]

    def add(
        self, label: str, leaf: Any, sites: Sites | None = None, *, is_state: bool = False
    ) -> tuple[dict[str, Any], Sites | None]:
        """Records a tensor, or a sample, and returns its entry in run.json and its sites.

        sites: for a gradient of features, the recorded sites of these features.
        is_state: the tensor is one of the parameters and buffers that the budget knows.
        """
        extents: dict[str, Any] = {}
        if not isinstance(leaf, SparseSites):
            source = _source(leaf)
        else:
            source, indices = _source(leaf.features), _source(leaf.batch_first())
            if source.has_values and indices.has_values:
                sites = self._sites(f"{label}.indices", indices, source)
                extents = {"spatial_shape": leaf.spatial_shape, "batch_size": leaf.batch_size}
                label = f"{label}.features"
        if sites is None:
            return {"tensor": self._dense(label, source, is_state)}, None
        before = self._used()
        tensor = self._add(label, source, source.read(sites.rows), sites.sample)
        self._budget.use(self._used() - before)
        known = {name: extent for name, extent in extents.items() if extent is not None}
        return {"tensor": tensor, "indices": sites.tensor, **known}, sites

    def line(self, part: str, description: dict[str, Any]) -> None:
        """Adds a call or a gradient to run.json."""
        self._lines[part].append(json.dumps(description))
        self._described += len(self._lines[part][-1]) + 2
        if self._used() > self._max_bytes:
            raise ValueError(
                f"max_bytes is {self._max_bytes}, too few for the descriptions of "
                f"{len(self._lines['calls'])} calls: raise it or record fewer modules"
            )

    def _dense(self, label: str, source: AnySource, is_state: bool) -> str:
        if not source.has_values:
            return self._add(label, source, None, {"values": False})
        size, before = source.size * source.itemsize, self._used()
        fitting = self._share(size, is_state=is_state) // source.itemsize
        # 0 is all of the tensor.
        count = 0 if source.size <= max(fitting, 1) else _sampling.fitting(fitting, source.shape)
        kind = (source.dtype, source.shape)
        known = self._samples.get(kind)
        if known is not None and known != count:
            sizes = [_sampling.size(k, source.shape) if k else source.size for k in (known, count)]
            if sizes[0] <= 2 * fitting and sizes[1] <= 2 * sizes[0]:
                count = known
            else:
                values, sample = self._read(source, known)
                name = self._names.get(_key(source, values, sample))
                if name is not None:
                    return name
        self._samples[kind] = count
        name = self._add(label, source, *self._read(source, count))
        if not is_state:
            self._budget.use(self._used() - before)
        return name

    def _read(self, source: AnySource, count: int) -> tuple[np.ndarray, dict[str, Any] | None]:
        """Returns the elements of a sample and its description. count: 0 for all elements."""
        if count == 0:
            return source.read(), None
        parts = _sampling.parts(self._seed, count, source.shape)
        return source.sample(parts), {"count": count}

    def _sites(self, label: str, indices: AnySource, features: AnySource) -> Sites:
        """Records the sites of a sparse tensor, or a sample of them."""
        array = indices.read()
        size = indices.size * indices.itemsize + features.size * features.itemsize
        # The rows that fit in the share.
        count = max(self._share(size) * len(array) // max(size, 1), 1)
        if len(array) <= count:
            return Sites(self._add(label, indices, array), None, None)
        hashes = self._site_hashes(array)
        kind = (features.dtype, features.shape, indices.shape)
        known = self._samples.get(kind)
        # Reuses the sample size of features of this shape unless it has become too large.
        count = known if known is not None and known <= 2 * count else count
        self._samples[kind] = count
        limit = _sampling.site_limit(hashes, count)
        rows = np.flatnonzero(hashes < np.uint64(limit))
        sample = {"limit": f"{limit:016x}", "checksum": f"{_sampling.checksum(hashes):016x}"}
        return Sites(self._add(label, indices, array[rows], sample), rows, sample)

    def _site_hashes(self, sites: np.ndarray) -> np.ndarray:
        """Computes the hashes of sites once: many layers have the same ones."""
        digest = _digest(sites)
        if digest not in self._hashes:
            if len(self._hashes) == _MAX_HASHES:
                self._hashes.pop(next(iter(self._hashes)))
            self._hashes[digest] = _sampling.site_hashes(self._seed, sites)
        return self._hashes[digest]

    def _share(self, size: int, *, is_state: bool = False) -> int:
        return self._budget.share(self._max_bytes - self._used(), size, is_state=is_state)

    def _used(self) -> int:
        return self._stream.tell() + self._described

    def _add(
        self,
        label: str,
        source: AnySource,
        values: np.ndarray | None,
        sample: dict[str, Any] | None = None,
    ) -> str:
        """Returns the name of the recorded values; writes them unless equal ones are written."""
        key = None if values is None else _key(source, values, sample)
        if key in self._names:
            return self._names[key]
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", label)[-_MAX_LABEL:]
        name = f"{len(self._lines['tensors']):05d}.{plain}"
        description = {"name": name, "dtype": source.dtype, "shape": source.shape}
        # An interrupt may leave a part of the elements, to which no line refers then.
        if key is not None and values is not None:
            with self._member(f"{name}.npy", values.nbytes) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
            # The directory of the zip file.
            self._described += 74 + len(name)
        self.line("tensors", description if sample is None else {**description, "sample": sample})
        if key is not None:
            self._names[key] = name
        return name

    def _member(self, name: str, size: int) -> IO[bytes]:
        info = zipfile.ZipInfo(name)  # dated 1980: equal runs give equal files
        info.external_attr = 0o644 << 16
        return cast(IO[bytes], self._zip.open(info, "w", force_zip64=size >= 2**31 - 2**16))


def _source(leaf: Any) -> AnySource:
    """Returns a tensor to record; arrays need no PyTorch."""
    if isinstance(leaf, np.ndarray):
        return ArraySource(np.asarray(leaf))
    from mluop_omp.golden.runs._sources import Source

    return Source(leaf)


def _key(source: AnySource, values: np.ndarray, sample: dict[str, Any] | None) -> tuple:
    return source.dtype, source.shape, _digest(values), json.dumps(sample)


def _digest(values: np.ndarray) -> bytes:
    array = np.ascontiguousarray(values).reshape(-1).view(np.uint8)
    return hashlib.blake2b(array, digest_size=16).digest()
