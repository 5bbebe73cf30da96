"""Sites of points: floors, and the rows in which sites are found."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from mluop_omp._library import bad_param
from mluop_omp.torch import functional
from mluop_omp.torch._arrays import to_int32

_LIMIT = 2.0**31


def require_rows(name: str, rows: Tensor, columns: int) -> None:
    """Raises MluOpError unless rows is a matrix of this number of columns."""
    if rows.dim() != 2 or rows.shape[1] != columns:
        raise bad_param(
            f"{name} has shape {list(rows.shape)}, expected [N, {columns}]: a batch and "
            f"{columns - 1} coordinates"
        )


def dimension_of(coordinates: Any) -> int:
    """Returns D of coordinates [N, 1 + D]. Raises MluOpError for other shapes."""
    if not isinstance(coordinates, Tensor) or coordinates.dim() != 2 or coordinates.shape[1] < 2:
        is_tensor = isinstance(coordinates, Tensor)
        found = list(coordinates.shape) if is_tensor else type(coordinates).__name__
        raise bad_param(f"coordinates is {found}, expected a tensor [N, 1 + D]")
    return coordinates.shape[1] - 1


def floors(name: str, numbers: Tensor) -> Tensor:
    """Returns numbers as int32, floored.

    Raises MluOpError for a number that is not finite or whose floor exceeds int32.
    """
    if not numbers.is_floating_point():
        return to_int32(name, numbers)
    floored = numbers.floor().double()
    fits = (floored >= -_LIMIT) & (floored < _LIMIT)
    if not fits.all():
        place = (~fits).nonzero()[0].tolist()
        raise bad_param(
            f"{name}{place} is {numbers[tuple(place)].item()}, expected a finite number within "
            "32-bit integers"
        )
    return floored.int()


def sites_of_points(name: str, points: Tensor) -> Tensor:
    """Returns the batches, rounded, and the coordinates, floored: int32 [N, 1 + D]."""
    if points.is_floating_point():
        points = torch.cat((points[:, :1].round(), points[:, 1:]), 1)
    return floors(name, points)


def floored(sites: Tensor, multiples: Sequence[int]) -> Tensor:
    """Rounds the coordinates of sites down to multiples, and to 0 where a multiple is 0."""
    if all(multiple == 1 for multiple in multiples):
        return sites
    coordinates = sites[:, 1:].long()
    divisors = torch.tensor(multiples, dtype=torch.int64)
    floors = coordinates - coordinates.remainder(divisors.clamp(min=1))
    floors = torch.where(divisors == 0, 0, floors)
    return torch.cat((sites[:, :1], to_int32("floors", floors)), 1)


def rows_of(distinct: Tensor, sites: Tensor) -> Tensor:
    """Returns the row of each site in distinct sites, int64, or -1."""
    _, _, rows = functional.union_rows(distinct, sites)
    rows = rows.long()
    return torch.where(rows < len(distinct), rows, -1)


def rows_of_segments(segments: Tensor, count: int) -> list[Tensor]:
    """Returns, for each segment, its rows in ascending order."""
    order = segments.argsort(stable=True)
    return list(order.split(segments.bincount(minlength=count).tolist()))


def rows_of_batches(batches: Tensor, of_rows: Tensor) -> Tensor:
    """Returns the row that has each batch, int64, from the batch of each row.

    Raises MluOpError if there is none.
    """
    ascending, order = of_rows.sort(stable=True)
    place = torch.searchsorted(ascending, batches.contiguous())
    is_found = torch.isin(batches, of_rows)
    if not is_found.all():
        missing = int(batches[~is_found][0])
        raise bad_param(f"input_glob has no row of batch {missing}, which the input has")
    return order[place]
