"""RoI align backward: the gradient of the image."""

import torch
from ops.roi_align_forward_v2 import METHODS, in_memory_format, pooled

import mluop_omp.torch  # noqa: F401  registers torch.ops.mluop_omp
from peer import Inputs, Outputs, Peer


def ours(inputs: Inputs) -> Peer:
    method, image_size = METHODS[inputs["pool_mode"].item()], inputs["image_size"].tolist()
    y, x = inputs["argmax_y"], inputs["argmax_x"]
    if method == "max":
        y, x = (in_memory_format(each, inputs) for each in (y, x))
    grad, scale = in_memory_format(inputs["grads"], inputs), inputs["spatial_scale"].item()
    arguments = grad, inputs["boxes"], y, x, image_size, scale, 0, method
    return Peer("ours", lambda: (torch.ops.mluop_omp.roi_align_backward(*arguments),))


# The forward passes of autograd are not timed. Gradients of means do not depend on the image.
def peers(inputs: Inputs) -> list[Peer]:
    grad = in_memory_format(inputs["grads"], inputs).contiguous()
    (_, H, W), C = inputs["image_size"].tolist(), grad.shape[1]
    method = METHODS[inputs["pool_mode"].item()]

    def corners() -> tuple[torch.Tensor, torch.Tensor]:
        """The pixels of maxima, [4, C, R PH PW], and their gradients; all samples are in the image."""
        low, beyond = [], []
        for name, extent in (("argmax_y", H), ("argmax_x", W)):
            position = in_memory_format(inputs[name], inputs).clamp(0, extent - 1)
            low.append(position.floor().clamp(max=max(extent - 2, 0)))
            beyond.append(position - low[-1])
        pixels, grads = [], []
        for row in (0, 1):
            for column in (0, 1):
                of_row = beyond[0] if row else 1 - beyond[0]
                of_column = beyond[1] if column else 1 - beyond[1]
                pixels.append(((low[0] + row) * W + low[1] + column).long())
                grads.append(grad * of_row * of_column)
        return tuple(torch.stack(each).transpose(1, 2).reshape(4, C, -1) for each in (pixels, grads))

    def scatter_add() -> Outputs:
        output = torch.zeros(C, H * W)
        for pixels, grads in zip(*corners()):
            output.scatter_add_(1, pixels, grads)
        return (output.view(1, C, H, W),)

    def index_add() -> Outputs:
        pixels, grads = corners()
        pixels += torch.arange(C).view(C, 1) * (H * W)
        output = torch.zeros(C * H * W).index_add_(0, pixels.flatten(), grads.flatten())
        return (output.view(1, C, H, W),)

    def backward(together: bool) -> Outputs:
        return torch.autograd.grad(outputs[together], image, grad, retain_graph=True)

    if method == "mean":
        image = torch.zeros(1, C, H, W, requires_grad=True)
        size, scale = inputs["output_size"].tolist(), inputs["spatial_scale"].item()
        outputs = [pooled(image, inputs["boxes"], size, scale, method, each)[0] for each in (False, True)]
    return [
        Peer(
            "autograd of grid_sample of each RoI; of maxima scatter_add of each corner",
            scatter_add if method == "max" else lambda: backward(together=False),
            idiomatic=True,
        ),
        Peer(
            "autograd of grid_sample of equal numbers of samples; of maxima index_add",
            index_add if method == "max" else lambda: backward(together=True),
        ),
    ]
