"""The OpenVINO library, and what its CPU plug-in is told for each precision."""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import Any

from sasayaki.errors import BackendError, OptionError

try:
    import openvino as ov
    from openvino import opset13 as ops
except ModuleNotFoundError as error:
    raise BackendError("the OpenVINO engine needs the package openvino; run: pip install openvino") from error

__all__ = ["DECODER_GROUPS", "ENCODER_GROUPS", "PRECISIONS", "Int8Groups", "PrecisionPlan", "core", "ops", "ov", "run"]

PRECISIONS = ("auto", "float32", "bfloat16", "int8")


@functools.cache
def core() -> Any:
    """The one OpenVINO core of the process; starting it loads the plug-in."""
    return ov.Core()


def run(request: Any) -> None:
    """Infer in this thread, without copies of the outputs."""
    request.infer(share_outputs=True)


@dataclass(frozen=True, slots=True)
class Int8Groups:
    """How many neighbouring inputs of a matrix product share one int8 scale.

    Attributes:
        weights: for the weights of each output; where the inputs are no multiple of it, all of them share one.
        activations: for the inputs themselves, which are rounded as they come.
    """

    weights: int
    activations: int


ENCODER_GROUPS = Int8Groups(weights=128, activations=128)
DECODER_GROUPS = Int8Groups(weights=64, activations=32)
"""Chosen by the distance to float32 and by time (docs/log.md, "Groups of int8"). The plug-in rounds activations only
where their groups are no larger than those of the weights."""


@dataclass(frozen=True, slots=True)
class PrecisionPlan:
    """How numbers are held and computed.

    Attributes:
        has_int8_weights: whether the weights of matrix products, and what they are multiplied with, are int8 in groups.
        is_bfloat16: whether activations, the cache and the cross-attention keys and values are bfloat16;
            otherwise float32.
    """

    has_int8_weights: bool
    is_bfloat16: bool

    @classmethod
    def choose(cls, precision: str, capabilities: set[str] | None = None) -> PrecisionPlan:
        """The plan of a precision on a processor with these capabilities, by default those of this one.

        Raises:
            OptionError: there is no such precision.
            BackendError: the processor cannot compute in it.
        """
        if precision not in PRECISIONS:
            raise OptionError(f"precision must be one of {', '.join(PRECISIONS)}, got {precision!r}")
        if capabilities is None:
            capabilities = set(core().get_property("CPU", "OPTIMIZATION_CAPABILITIES"))
        has_bfloat16, has_int8 = "BF16" in capabilities, "INT8" in capabilities
        if precision == "float32":
            return cls(has_int8_weights=False, is_bfloat16=False)
        if (precision == "bfloat16" and not has_bfloat16) or (precision == "int8" and not has_int8):
            raise BackendError(
                f"this processor cannot compute in {precision} (OpenVINO says it has "
                f"{', '.join(sorted(capabilities))}); use precision='auto' or 'float32'"
            )
        return cls(has_int8_weights=has_int8 and precision != "bfloat16", is_bfloat16=has_bfloat16)

    def of_head(self) -> PrecisionPlan:
        """The plan of the logits: where products are of int8, what comes out of them is not rounded to bfloat16.

        Logits lie between 10 and 30, where bfloat16 has steps of 0.06 and 0.12.
        """
        return replace(self, is_bfloat16=self.is_bfloat16 and not self.has_int8_weights)

    @property
    def element_type(self) -> Any:
        """OpenVINO type of the cross-attention keys and values."""
        return ov.Type.bf16 if self.is_bfloat16 else ov.Type.f32

    def n_bytes(self, n_weights: int) -> int:
        """Memory that so many weights of matrix products take."""
        return n_weights * (1 if self.has_int8_weights else 2 if self.is_bfloat16 else 4)

    def compile_options(self, threads: int | None, groups: Int8Groups) -> dict[str, Any]:
        """Options of `compile_model` for latency on one stream.

        The cache type is always given: the plug-in's own choice is u8, which moves logits by percents. Threads are not
        pinned: the plug-in pins those of every process to the same processors, where they wait for each other.

        Args:
            threads: number of threads, or None for the plug-in's choice.
            groups: of the int8 weights in the graph, if it has them.
        """
        name = "bf16" if self.is_bfloat16 else "f32"
        options = {
            "PERFORMANCE_HINT": "LATENCY",
            "NUM_STREAMS": 1,
            "ENABLE_CPU_PINNING": False,
            "INFERENCE_PRECISION_HINT": name,
            "KV_CACHE_PRECISION": name,
            "DYNAMIC_QUANTIZATION_GROUP_SIZE": groups.activations if self.has_int8_weights else 0,
        }
        return options if threads is None else options | {"INFERENCE_NUM_THREADS": threads}
