"""Writes the file of a run. docs/record.md describes the format."""

from __future__ import annotations

import hashlib
import json
import re
import zipfile
from typing import IO, Any, BinaryIO, NamedTuple, cast

import numpy as np

from mluop_omp.golden.comparison import SparseSites
from mluop_omp.golden.runs import _sampling
from mluop_omp.golden.runs._run import DESCRIPTION, FORMAT, VERSION
from mluop_omp.golden.runs._sources import Source

# Bytes that a tensor takes besides its elements: zip and .npy headers, its line in run.json.
_OVERHEAD = 640
_MAX_LABEL = 80


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
        self, stream: BinaryIO, model: str, seed: int, max_bytes: int, tensors: int
    ) -> None:
        """tensors: the expected number of tensors, which determines their shares of max_bytes."""
        self._seed, self._max_bytes = seed, max_bytes
        self._head = {"format": FORMAT, "version": VERSION, "model": model, "seed": str(seed)}
        self._expected, self._count, self._described = tensors, 0, 512 + len(json.dumps(model))
        self._lines: dict[str, list[str]] = {"tensors": [], "calls": [], "gradients": []}
        self._names: dict[tuple, str] = {}
        # Sizes of samples by kind: equal tensors must get equal samples.
        self._samples: dict[tuple, int] = {}
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

    def add(
        self, label: str, leaf: Any, sites: Sites | None = None
    ) -> tuple[dict[str, Any], Sites | None]:
        """Records a tensor, or a sample, and returns its entry in run.json and its sites.

        sites: for a gradient of features, the recorded sites of these features.
        """
        extents: dict[str, Any] = {}
        if not isinstance(leaf, SparseSites):
            source = Source(leaf)
        else:
            source, indices = Source(leaf.features), Source(leaf.indices)
            if source.has_values and indices.has_values:
                sites = self._sites(f"{label}.indices", indices, source)
                extents = {"spatial_shape": leaf.spatial_shape, "batch_size": leaf.batch_size}
                label = f"{label}.features"
        if sites is None:
            return {"tensor": self._dense(label, source)}, None
        tensor = self._add(label, source, source.read(sites.rows), sites.sample)
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

    def _dense(self, label: str, source: Source) -> str:
        if not source.has_values:
            return self._add(label, source, None, {"values": False})
        count = self._share() // source.itemsize
        if source.size <= count:
            return self._add(label, source, source.read())
        kind = (source.dtype, source.shape)
        known = self._samples.get(kind)
        if known is not None and known != count:
            values = source.elements(_sampling.elements(self._seed, known, source.size))
            name = self._names.get(_key(source, values, {"count": known}))
            if name is not None:
                return name
        count = max(count, 1)
        self._samples[kind] = count
        values = source.elements(_sampling.elements(self._seed, count, source.size))
        return self._add(label, source, values, {"count": count})

    def _sites(self, label: str, indices: Source, features: Source) -> Sites:
        """Records the sites of a sparse tensor, or a sample of them."""
        array = indices.read()
        size = indices.size * indices.itemsize + features.size * features.itemsize
        # The rows that fit in the share.
        count = max(self._share() * len(array) // max(size, 1), 1)
        if len(array) <= count:
            return Sites(self._add(label, indices, array), None, None)
        hashes = _sampling.site_hashes(self._seed, array)
        kind = (features.dtype, features.shape, indices.shape)
        known = self._samples.get(kind)
        # Reuses the sample size of features of this shape unless it has become too large.
        count = known if known is not None and known <= 2 * count else count
        self._samples[kind] = count
        limit = _sampling.site_limit(hashes, count)
        rows = np.flatnonzero(hashes < np.uint64(limit))
        sample = {"limit": f"{limit:016x}", "checksum": f"{_sampling.checksum(hashes):016x}"}
        return Sites(self._add(label, indices, array[rows], sample), rows, sample)

    def _share(self) -> int:
        """Returns the number of bytes that the next tensor may take."""
        self._count += 1
        free = self._max_bytes - self._used()
        remaining = max(self._expected - self._count, self._expected // 4, 4)
        return max(free // remaining - _OVERHEAD, 0)

    def _used(self) -> int:
        return self._stream.tell() + self._described

    def _add(
        self,
        label: str,
        source: Source,
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
        self.line("tensors", description if sample is None else {**description, "sample": sample})
        if key is not None and values is not None:
            self._names[key] = name
            with self._member(f"{name}.npy", values.nbytes) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
            # The directory of the zip file.
            self._described += 74 + len(name)
        return name

    def _member(self, name: str, size: int) -> IO[bytes]:
        info = zipfile.ZipInfo(name)  # dated 1980: equal runs give equal files
        info.external_attr = 0o644 << 16
        return cast(IO[bytes], self._zip.open(info, "w", force_zip64=size >= 2**31 - 2**16))


def _key(source: Source, values: np.ndarray, sample: dict[str, Any] | None) -> tuple:
    digest = hashlib.blake2b(values.reshape(-1).view(np.uint8), digest_size=16)
    return source.dtype, source.shape, digest.digest(), json.dumps(sample)
