"""Options of version 2.1. Two choose output sites; the others have no effect on a CPU."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from mluop_omp._library import bad_param

_KMAP_MODES = "hashmap_on_the_fly", "hashmap"
_DOWNSAMPLE_MODES = "spconv", "minkowski"


class AttributeDict(dict):  # type: ignore[type-arg]
    """A dictionary whose values are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value

    def __delattr__(self, name: str) -> None:
        del self[name]

    def copy(self) -> AttributeDict:
        return AttributeDict(self)


class Dataflow(enum.Enum):
    """How a GPU computes a convolution; no effect on a CPU."""

    ImplicitGEMM = 0
    GatherScatter = 1
    FetchOnDemand = 2
    CodedCSR = 3


class ConvMode(enum.Enum):
    """How a GPU splits the masks of kernel maps; no effect on a CPU."""

    mode0 = 0
    mode1 = 1
    mode2 = 2


_default_conv_config = AttributeDict(
    dataflow=Dataflow.ImplicitGEMM,
    ifsort=False,
    kmap_mode=_KMAP_MODES[0],
    downsample_mode=_DOWNSAMPLE_MODES[0],
    split_mask_num=1,
    split_mask_num_bwd=3,
    epsilon=0.0,
    mm_thresh=0,
    FOD_fusion=True,
)


class _Settings:
    config: Any = None
    conv_mode = ConvMode.mode0
    kmap_mode, downsample_mode = _KMAP_MODES[0], _DOWNSAMPLE_MODES[0]


def get_default_conv_config(
    conv_mode: ConvMode = ConvMode.mode0, training: bool = False
) -> AttributeDict:
    """Returns the configuration of layers without one, where there is no global one."""
    return _default_conv_config


def get_global_conv_config() -> Any:
    return _Settings.config


def set_global_conv_config(conv_config: Any) -> None:
    """Sets the configuration of layers without one: kmap_mode "hashmap_on_the_fly" or "hashmap",
    downsample_mode "spconv" or "minkowski", and others without an effect. Missing ones are added.
    """
    for name, value in _default_conv_config.items():
        conv_config.setdefault(name, value)
    _Settings.config = conv_config


def clear_global_conv_config() -> None:
    _Settings.config = None


def get_conv_mode() -> ConvMode:
    return _Settings.conv_mode


def set_conv_mode(conv_mode: Any) -> None:
    """Has no effect on results."""
    try:
        _Settings.conv_mode = ConvMode(conv_mode)
    except ValueError:
        raise bad_param(f"conv_mode is {conv_mode!r}, expected 0, 1 or 2") from None


def _require(name: str, value: str, words: tuple[str, ...]) -> str:
    if value not in words:
        raise bad_param(f"{name} is {value!r}, expected {' or '.join(map(repr, words))}")
    return value


def get_kmap_mode() -> str:
    return _Settings.kmap_mode


def set_kmap_mode(kmap_mode: str) -> None:
    """Has no effect, as in torchsparse: layers have a configuration."""
    _Settings.kmap_mode = _require("kmap_mode", kmap_mode, _KMAP_MODES)


def get_downsample_mode() -> str:
    return _Settings.downsample_mode


def set_downsample_mode(downsample_mode: str) -> None:
    """Has no effect, as in torchsparse: layers have a configuration."""
    _Settings.downsample_mode = _require("downsample_mode", downsample_mode, _DOWNSAMPLE_MODES)


def modes(config: Any) -> tuple[bool, bool]:
    """Returns whether a configuration, or the one of layers without it, has kmap_mode "hashmap" and
    downsample_mode "minkowski".
    """
    if config is None:
        config = _default_conv_config if _Settings.config is None else _Settings.config
    values = config if isinstance(config, Mapping) else vars(config)
    kmap_mode = values.get("kmap_mode", _KMAP_MODES[0])
    downsample_mode = values.get("downsample_mode", _DOWNSAMPLE_MODES[0])
    _require("kmap_mode", kmap_mode, _KMAP_MODES)
    _require("downsample_mode", downsample_mode, _DOWNSAMPLE_MODES)
    return kmap_mode == _KMAP_MODES[1], downsample_mode == _DOWNSAMPLE_MODES[1]


def tune(*_: Any, **__: Any) -> None:
    """Has no effect: there is nothing to choose on a CPU."""
