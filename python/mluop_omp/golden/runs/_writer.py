"""Writes the file of a run. docs/record.md describes the format."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
import zipfile
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

import numpy as np

from mluop_omp.golden._output import OutputFile
from mluop_omp.golden.runs import _sampling

if TYPE_CHECKING:
    from mluop_omp.golden.runs._sources import Source

FORMAT, VERSION = "mluop_omp run", 1
DESCRIPTION = "run.json"
_NO_VALUES = {"sample": {"values": False}}
# Bytes that a tensor takes besides its elements: zip and .npy headers, its line in run.json.
_OVERHEAD = 640
_MAX_LABEL = 80


@dataclasses.dataclass(frozen=True)
class Sites:
    """Recorded sites: the tensor of indices, and the rows that are recorded, None for all."""

    tensor: str
    rows: np.ndarray | None
    sample: dict[str, str] | None


class RunWriter:
    """Writes tensors to a file as they come, each distinct one once.

    The file gets its name at `close()`. Methods return the entry of a tensor in run.json.
    """

    def __init__(self, path: Path, model: str, seed: int, max_bytes: int, tensors: int) -> None:
        """tensors: the expected number of tensors, which determines their shares of max_bytes."""
        self._seed, self._max_bytes = seed, max_bytes
        self._head = {"format": FORMAT, "version": VERSION, "model": model, "seed": str(seed)}
        self._expected, self._count, self._described = tensors, 0, 512 + len(json.dumps(model))
        self._lines: dict[str, list[str]] = {"tensors": [], "calls": [], "gradients": []}
        self._names: dict[tuple, str] = {}
        # Sizes of samples by kind: equal tensors must get equal samples.
        self._samples: dict[tuple, int] = {}
        if path.is_dir():
            raise IsADirectoryError(f"{path} is a folder, expected the name of a file")
        if path.exists() and not path.is_file():
            raise OSError(f"{path} is not a regular file")
        self._file = OutputFile(path)
        self._zip = zipfile.ZipFile(self._file.stream, "w", zipfile.ZIP_STORED)

    def dense(self, label: str, source: Source) -> dict[str, Any]:
        """Records a tensor, or a sample of its elements."""
        if not source.has_values:
            return {"tensor": self._describe(label, source, None, _NO_VALUES)}
        count = self._share() // source.itemsize
        if source.size <= count:
            return {"tensor": self._add(label, source, source.read())}
        kind = (source.dtype, source.shape)
        known = self._samples.get(kind)
        if known is not None and known != count:
            values = source.elements(_sampling.elements(self._seed, known, source.size))
            name = self._names.get(_key(source, values, {"count": known}))
            if name is not None:
                return {"tensor": name}
        count = max(count, 1)
        self._samples[kind] = count
        values = source.elements(_sampling.elements(self._seed, count, source.size))
        return {"tensor": self._add(label, source, values, {"count": count})}

    def sites(self, label: str, indices: Source, features: Source) -> Sites:
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
        chosen = np.flatnonzero(hashes < np.uint64(limit))
        sample = {"limit": f"{limit:016x}", "checksum": f"{_sampling.checksum(hashes):016x}"}
        return Sites(self._add(label, indices, array[chosen], sample), chosen, sample)

    def features(self, label: str, source: Source, sites: Sites) -> dict[str, Any]:
        """Records the features, or their gradient, of recorded sites."""
        values = source.read() if sites.rows is None else source.rows(sites.rows)
        return {"tensor": self._add(label, source, values, sites.sample), "indices": sites.tensor}

    def call(self, description: dict[str, Any]) -> None:
        self._line("calls", json.dumps(description))

    def gradient(self, description: dict[str, Any]) -> None:
        self._line("gradients", json.dumps(description))

    def close(self) -> None:
        head = json.dumps(self._head)[:-1]
        parts = ["{}[\n{}\n]".format(f'"{k}": ', ",\n".join(v)) for k, v in self._lines.items()]
        text = ", ".join([head, *parts]) + "}\n"
        with self._zip, self._member(DESCRIPTION, len(text)) as member:
            member.write(text.encode())
        self._file.commit()

    def discard(self) -> None:
        """Removes what has been written."""
        with contextlib.suppress(Exception):
            self._zip.close()
        self._file.discard()

    def _share(self) -> int:
        """Returns the number of bytes that the next tensor may take."""
        self._count += 1
        free = self._max_bytes - self._used()
        remaining = max(self._expected - self._count, self._expected // 4, 4)
        return max(free // remaining - _OVERHEAD, 0)

    def _used(self) -> int:
        return self._file.stream.tell() + self._described

    def _add(
        self, label: str, source: Source, values: np.ndarray, sample: dict[str, Any] | None = None
    ) -> str:
        key = _key(source, values, sample)
        name = self._names.get(key)
        if name is None:
            extra = {} if sample is None else {"sample": sample}
            name = self._names[key] = self._describe(label, source, values, extra)
        return name

    def _describe(
        self, label: str, source: Source, values: np.ndarray | None, extra: dict[str, Any]
    ) -> str:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", label)[-_MAX_LABEL:]
        name = f"{len(self._lines['tensors']):05d}.{plain}"
        description = {"name": name, "dtype": source.dtype, "shape": source.shape, **extra}
        self._line("tensors", json.dumps(description))
        if values is not None:
            with self._member(f"{name}.npy", values.nbytes) as member:
                np.lib.format.write_array(member, values, allow_pickle=False)
            # The directory of the zip file.
            self._described += 74 + len(name)
            self._check()
        return name

    def _member(self, name: str, size: int) -> IO[bytes]:
        info = zipfile.ZipInfo(name)  # dated 1980: equal runs give equal files
        info.external_attr = 0o644 << 16
        return cast(IO[bytes], self._zip.open(info, "w", force_zip64=size >= 2**31 - 2**16))

    def _line(self, part: str, line: str) -> None:
        self._lines[part].append(line)
        self._described += len(line) + 2
        self._check()

    def _check(self) -> None:
        if self._used() > self._max_bytes:
            raise ValueError(
                f"max_bytes is {self._max_bytes}, too few for the descriptions of "
                f"{len(self._lines['calls'])} calls: raise it or record fewer modules"
            )


def _key(source: Source, values: np.ndarray, sample: dict[str, Any] | None) -> tuple:
    digest = hashlib.blake2b(values.reshape(-1).view(np.uint8), digest_size=16)
    return source.dtype, source.shape, digest.digest(), json.dumps(sample)
