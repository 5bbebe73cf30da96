"""RoI align forward (Mask R-CNN), aligned, with as many samples as pixels: the mean or the maximum of each bin."""

from collections.abc import Iterator

import torch
import torch.nn.functional as F

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer

try:
    import torchvision
except (ImportError, RuntimeError):  # its wheel is for another version of PyTorch
    torchvision = None

METHODS = ("max", "mean")  # by the value of pool_method


def in_memory_format(tensor: torch.Tensor, inputs: Inputs) -> torch.Tensor:
    """Returns a tensor [N, C, H, W] in the memory format of the case."""
    return tensor.permute(0, 3, 1, 2) if inputs["channels_last"].item() else tensor


def _pixels(image: torch.Tensor, y: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
    """Returns the samples [R, C, PH gh, PW gw] of RoIs at the rows y [R, PH gh] and the columns x [R, PW gw]."""
    (_, C, H, W), (R, rows), columns = image.shape, y.shape, x.shape[1]
    along_y = (2 * y + 1) / H - 1
    along_x = (2 * x + 1) / W - 1
    grid = torch.stack(torch.broadcast_tensors(along_x.unsqueeze(1), along_y.unsqueeze(2)), 3)
    # Pixels at the border are repeated up to a distance of one pixel; no RoI extends further.
    samples = F.grid_sample(
        image, grid.view(1, R * rows, columns, 2), padding_mode="border", align_corners=False
    )
    return samples.view(C, R, rows, columns).transpose(0, 1)


def _samples(
    low: torch.Tensor, high: torch.Tensor, bins: int, scale: float
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Returns the number of samples of a bin along an axis, the start of the RoI and the size of its bins."""
    start = low * scale - 0.5
    size = (high * scale - 0.5 - start) / bins
    return size.ceil().long(), start, size


def pooled(
    image: torch.Tensor, rois: torch.Tensor, size: list[int], scale: float, method: str, together: bool
) -> Outputs:
    """Pools the RoIs of the only image, one by one or those with equal numbers of samples `together`."""
    (PH, PW), R, C = size, len(rois), image.shape[1]
    count_y, start_y, bin_y = _samples(rois[:, 2], rois[:, 4], PH, scale)
    count_x, start_x, bin_x = _samples(rois[:, 1], rois[:, 3], PW, scale)

    def positions(start: torch.Tensor, extent: torch.Tensor, bins: int, count: int) -> torch.Tensor:
        sample = torch.arange(bins).unsqueeze(1) + (torch.arange(count) + 0.5) / count
        return start.unsqueeze(1) + sample.flatten() * extent.unsqueeze(1)

    def batches() -> Iterator[torch.Tensor]:
        if not together:
            yield from torch.arange(R).split(1)
            return
        counts, group = torch.stack((count_y, count_x), 1).unique(dim=0, return_inverse=True)
        for number in range(len(counts)):
            yield (group == number).nonzero().squeeze(1)

    outputs, order = [], []
    for batch in batches():
        of_y, of_x = count_y[batch[0]].item(), count_x[batch[0]].item()
        y = positions(start_y[batch], bin_y[batch], PH, of_y)
        x = positions(start_x[batch], bin_x[batch], PW, of_x)
        samples = _pixels(image, y, x)
        if method == "mean":
            outputs.append((F.avg_pool2d(samples, (of_y, of_x)),))
        else:
            outputs.append(_maxima(samples, y, x, (of_y, of_x)))
        order.append(batch)
    inverse = torch.cat(order).argsort()
    return tuple(torch.cat(each)[inverse] for each in zip(*outputs))


def _maxima(samples: torch.Tensor, y: torch.Tensor, x: torch.Tensor, of_bin: tuple[int, int]) -> Outputs:
    maxima, index = F.max_pool2d(samples, of_bin, return_indices=True)
    row, column = index // samples.shape[3], index % samples.shape[3]
    argmax = (each.gather(1, at.flatten(1)).view_as(maxima) for each, at in ((y, row), (x, column)))
    return (maxima, *argmax)


def ours(inputs: Inputs) -> Peer:
    image, method = in_memory_format(inputs["input"], inputs), METHODS[inputs["pool_mode"].item()]
    arguments = image, inputs["boxes"], inputs["output_size"].tolist(), inputs["spatial_scale"].item(), 0, method
    count = 3 if method == "max" else 1
    return Peer("ours", lambda: mt.roi_align(*arguments)[:count])


# Among nearly equal samples, the position of the maximum may differ.
def peers(inputs: Inputs) -> list[Peer]:
    image, rois = in_memory_format(inputs["input"], inputs).contiguous(), inputs["boxes"]
    method, size = METHODS[inputs["pool_mode"].item()], inputs["output_size"].tolist()
    scale = inputs["spatial_scale"].item()
    arguments, is_max = (image, rois, size, scale, method), method == "max"

    def of_torchvision() -> Outputs:
        if is_max:
            raise NotImplementedError("it has no maxima")
        return (torchvision.ops.roi_align(image, rois, size, scale, -1, True),)

    runs = {
        "grid_sample of each RoI": lambda: pooled(*arguments, together=False),
        "grid_sample of RoIs with equal numbers of samples": lambda: pooled(*arguments, together=True),
        **({} if torchvision is None else {"torchvision": of_torchvision}),
    }
    return [
        Peer(name, run, idiomatic=number == 0, may_differ=is_max)
        for number, (name, run) in enumerate(runs.items())
    ]
