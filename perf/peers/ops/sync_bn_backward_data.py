"""Batch normalization in one process, backward: gradients of weight, bias and input, channels last."""

import torch
from ops.sync_bn_forward_output import EPS, channels_last, rows_of, rows_of_output

import mluop_omp.torch as mt
from peer import Inputs, Peer

FLAGS = [True, True, True]


# norm is the input of both; the forward passes are not timed.
def ours(inputs: Inputs) -> Peer:
    grad, weight, rows = rows_of(inputs["grad_output"]), inputs["weight"], rows_of(inputs["norm"])
    mean = mt.sync_bn_forward_mean(rows)
    var = mt.sync_bn_forward_var(rows, mean)
    norm, std, _ = mt.sync_bn_forward_output(rows, mean, var, weight, None, EPS)

    def run() -> tuple[torch.Tensor, ...]:
        sums = torch.ops.mluop_omp.sync_bn_backward_param(grad, norm)
        return torch.ops.mluop_omp.sync_bn_backward_data(grad, weight, *sums, norm, std), *sums

    return Peer("ours", run)


def peers(inputs: Inputs) -> list[Peer]:
    grad, weight, image = channels_last(inputs["grad_output"]), inputs["weight"], channels_last(inputs["norm"])
    _, mean, invstd = torch.native_batch_norm(image, weight, None, None, None, True, 0.0, EPS)
    arguments = grad, image, weight, None, None, mean, invstd, True, EPS, FLAGS
    return [
        Peer(
            "native_batch_norm_backward",
            lambda: torch.ops.aten.native_batch_norm_backward(*arguments),
            idiomatic=True,
            canonical=lambda outputs: (rows_of_output(outputs[0]), *outputs[1:]),
        )
    ]
