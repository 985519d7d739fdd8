"""Tests of the choice of precision."""

from __future__ import annotations

import pytest

from sasayaki.errors import BackendError, OptionError
from sasayaki.inference.openvino_runtime import Int8Groups, PrecisionPlan


@pytest.mark.parametrize(
    ("precision", "capabilities", "plan"),
    [
        ("auto", {"FP32", "INT8", "BF16"}, PrecisionPlan(has_int8_weights=True, is_bfloat16=True)),
        ("auto", {"FP32", "INT8"}, PrecisionPlan(has_int8_weights=True, is_bfloat16=False)),
        ("auto", {"FP32", "BF16"}, PrecisionPlan(has_int8_weights=False, is_bfloat16=True)),
        ("auto", {"FP32"}, PrecisionPlan(has_int8_weights=False, is_bfloat16=False)),
        ("int8", {"FP32", "INT8", "BF16"}, PrecisionPlan(has_int8_weights=True, is_bfloat16=True)),
        ("int8", {"FP32", "INT8"}, PrecisionPlan(has_int8_weights=True, is_bfloat16=False)),
        ("bfloat16", {"FP32", "INT8", "BF16"}, PrecisionPlan(has_int8_weights=False, is_bfloat16=True)),
        ("float32", {"FP32", "INT8", "BF16"}, PrecisionPlan(has_int8_weights=False, is_bfloat16=False)),
    ],
)
def test_precision_follows_the_processor(precision: str, capabilities: set[str], plan: PrecisionPlan) -> None:
    assert PrecisionPlan.choose(precision, capabilities) == plan


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_a_precision_that_the_processor_lacks_is_refused(precision: str) -> None:
    with pytest.raises(BackendError, match=f"cannot compute in {precision}.*FP32.*precision='auto'"):
        PrecisionPlan.choose(precision, {"FP32"})


def test_an_unknown_precision_is_refused() -> None:
    with pytest.raises(OptionError, match="precision must be one of auto, float32, bfloat16, int8, got 'float16'"):
        PrecisionPlan.choose("float16", {"FP32"})


@pytest.mark.parametrize(("is_bfloat16", "name"), [(True, "bf16"), (False, "f32")])
def test_the_cache_is_never_left_to_the_plug_in(is_bfloat16: bool, name: str) -> None:
    options = PrecisionPlan(has_int8_weights=True, is_bfloat16=is_bfloat16).compile_options(3, Int8Groups(8, 4))
    assert options["KV_CACHE_PRECISION"] == options["INFERENCE_PRECISION_HINT"] == name
    assert options["INFERENCE_NUM_THREADS"] == 3
    assert options["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == 4


def test_activations_are_rounded_only_beside_int8_weights() -> None:
    options = PrecisionPlan(has_int8_weights=False, is_bfloat16=True).compile_options(None, Int8Groups(8, 4))
    assert options["DYNAMIC_QUANTIZATION_GROUP_SIZE"] == 0
