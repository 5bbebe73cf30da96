"""The attributes of nodes: kinds, defaults, and conversion of what a graph holds.

An attribute has a default, or REQUIRED(kind), or OPTIONAL(kind), which is None if it is absent.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np

from mluop_omp._library import bad_param


class Kind(enum.Enum):
    """What an attribute holds, as messages name it."""

    INTEGER = "an integer"
    FLOAT = "a number"
    INTS = "integers"
    FLOATS = "numbers"
    TEXT = "a string"


Integer, Float, Ints, Floats, Text = Kind
# TensorRT's parser selects a plugin by these attributes; its exporters add them to any node.
IGNORED = ("plugin_version", "plugin_namespace")


@dataclass(frozen=True)
class Attribute:
    """An attribute of a node. An absent one takes the default, unless it is required."""

    kind: Kind
    default: Any = None
    is_required: bool = False


def REQUIRED(kind: Kind) -> Attribute:
    return Attribute(kind, is_required=True)


def OPTIONAL(kind: Kind) -> Attribute:
    return Attribute(kind)


def declared(value: Any) -> Attribute:
    """Returns the attribute of a declaration, which has the kind of its default."""
    found = value if isinstance(value, Attribute) else Attribute(_kind(value), value)
    if found.default is None:
        return found
    return replace(found, default=_converted(found.kind, found.default))


def _kind(value: Any) -> Kind:
    if isinstance(value, str):
        return Text
    if isinstance(value, (tuple, list)):
        if not value:
            raise TypeError("the kind of () is unknown: declare Attribute(kind, ())")
        return Ints if all(isinstance(each, Integral) for each in value) else Floats
    return Integer if isinstance(value, Integral) else Float


def _converted(kind: Kind, value: Any) -> Any:
    """Returns a value as int, float, str or a tuple. Raises TypeError for another kind.

    ONNX stores attributes as float32: a default is rounded as one that the graph holds.
    """
    if kind is Text and isinstance(value, (str, bytes)):
        return value.decode() if isinstance(value, bytes) else value
    if kind is Integer and isinstance(value, (Integral, np.bool_)):
        return int(value)
    if kind is Float and isinstance(value, Real):
        return float(np.float32(value))
    if kind in (Ints, Floats):
        element = Integer if kind is Ints else Float
        # An exporter writes a number, not a list of one, for an argument such as stride=1.
        several = value if isinstance(value, (list, tuple, np.ndarray)) else (value,)
        return tuple(_converted(element, each) for each in several)
    raise TypeError


def values(node: str, declared: Mapping[str, Attribute], given: Mapping[str, Any]) -> dict:
    """Returns a value for each declared attribute; raises MluOpError for all other ones."""
    unknown = sorted(given.keys() - declared.keys() - set(IGNORED))
    if unknown:
        known = ", ".join(declared) or "none"
        raise bad_param(f"{node}: unknown attribute {unknown[0]}, expected among: {known}")
    return {name: _value(node, name, each, given) for name, each in declared.items()}


def _value(node: str, name: str, attribute: Attribute, given: Mapping[str, Any]) -> Any:
    if name not in given:
        if attribute.is_required:
            kind = attribute.kind.value
            raise bad_param(f"{node}: attribute {name} is missing, expected {kind}")
        return attribute.default
    try:
        return _converted(attribute.kind, given[name])
    except TypeError:
        found, kind = given[name], attribute.kind.value
        raise bad_param(f"{node}: attribute {name} is {found!r}, expected {kind}") from None
