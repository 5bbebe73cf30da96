"""Stack group points forward (PV-RCNN): features of neighborhoods in stacked clouds."""

import torch

import mluop_omp.torch as mt
from peer import Inputs, Outputs, Peer


def global_indices(inputs: Inputs, counts: torch.Tensor) -> torch.Tensor:
    """Converts row numbers in the cloud of each group to row numbers in all clouds, which have `counts` rows."""
    starts = (counts.cumsum(0) - counts).int()
    return inputs["indices"] + starts.repeat_interleave(inputs["indices_batch_cnt"]).unsqueeze(1)


def ours(inputs: Inputs) -> Peer:
    names = "features", "features_batch_cnt", "indices", "indices_batch_cnt"
    arguments = [inputs[name] for name in names]
    return Peer("ours", lambda: (mt.stack_group_points(*arguments),))


def peers(inputs: Inputs) -> list[Peer]:
    features, counts = inputs["features"], inputs["features_batch_cnt"]
    groups, samples = inputs["indices"].shape
    channels = features.shape[1]

    def index() -> Outputs:
        return (features[global_indices(inputs, counts)].transpose(1, 2).contiguous(),)

    def index_select() -> Outputs:
        rows = features.index_select(0, global_indices(inputs, counts).view(-1))
        return (rows.view(groups, samples, channels).transpose(1, 2).contiguous(),)

    def chunks() -> Outputs:
        """The rows of a chunk fit in the caches."""
        output = features.new_empty(groups, channels, samples)
        for index, out in zip(global_indices(inputs, counts).split(64), output.split(64)):
            rows = features.index_select(0, index.view(-1))
            out.copy_(rows.view(-1, samples, channels).transpose(1, 2))
        return (output,)

    return [
        Peer("index, transpose", index, idiomatic=True),
        Peer("index_select, transpose", index_select),
        Peer("index_select, transpose, in chunks", chunks),
    ]
