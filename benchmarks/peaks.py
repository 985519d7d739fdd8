"""What the machine can do: bandwidth of memory, and peaks of OpenVINO's matrix products by precision."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
import openvino as ov
from openvino import opset13 as ops

SIZES = (1024, 2048)
"""Rows and columns of the matrices whose product gives the peaks."""

READ_BYTES = 2**29


@dataclass(frozen=True)
class Machine:
    """Bytes a second from memory, and operations a second of matrix products by precision."""

    bandwidth: float
    float32: float
    bfloat16: float
    int8: float

    def peak(self, *, is_int8: bool, is_bfloat16: bool) -> float:
        """Operations a second in a precision."""
        return self.int8 if is_int8 else self.bfloat16 if is_bfloat16 else self.float32


@dataclass(frozen=True)
class Product:
    """A product of matrices (n_rows, n_in) and (n_in, n_out)."""

    n_rows: int
    n_in: int
    n_out: int


def measure_machine(threads: int) -> Machine:
    """Measure peaks and bandwidth."""
    has_bfloat16 = "BF16" in ov.Core().get_property("CPU", "OPTIMIZATION_CAPABILITIES")
    float32 = product_rate(threads, "f32")
    return Machine(
        bandwidth=max(read_rate(threads), row_rate(threads)),
        float32=float32,
        bfloat16=product_rate(threads, "bf16") if has_bfloat16 else float32,
        int8=product_rate(threads, "i8"),
    )


def read_rate(threads: int) -> float:
    """Bytes a second of NumPy's scalar products, a part of a large array for each thread."""
    parts = np.array_split(np.ones(READ_BYTES // 4, np.float32), threads)
    with ThreadPoolExecutor(threads) as pool:
        return READ_BYTES / best(lambda: list(pool.map(lambda part: np.dot(part, part), parts)))


def row_rate(threads: int) -> float:
    """Bytes a second of one row times a large matrix in OpenVINO."""
    n_in = SIZES[-1]
    request = product_request(threads, Product(1, n_in, READ_BYTES // 4 // n_in), "f32")
    return READ_BYTES / best(request.infer)


def product_rate(threads: int, precision: str) -> float:
    """Operations a second of the fastest of several products of square matrices in OpenVINO."""
    rates = []
    for size in SIZES:
        request = product_request(threads, Product(size, size, size), precision)
        rates.append(2 * size**3 / best(request.infer))
    return max(rates)


def product_request(threads: int, product: Product, precision: str) -> Any:
    """An infer request of a graph with one matrix product, ready to run.

    Raises:
        RuntimeError: the plug-in computes in another precision than `f32`, `bf16` or `i8`, whichever is asked for.
    """
    rng = np.random.default_rng(0)
    weights = rng.standard_normal((product.n_out, product.n_in), np.float32)
    rows = ops.parameter([product.n_rows, product.n_in], ov.Type.f32)
    left, right = rows, ops.constant(weights)
    if precision == "i8":  # ranges known beforehand: nothing is left to do but the product
        left = ops.fake_quantize(rows, *map(np.float32, (-4, 4, -4, 4)), 256)
        right = ops.fake_quantize(right, *map(np.float32, (-4, 4, -4, 4)), 255)
    model = ov.Model([ops.matmul(left, right, False, True)], [rows])
    options = {
        "INFERENCE_NUM_THREADS": threads,
        "PERFORMANCE_HINT": "LATENCY",
        "INFERENCE_PRECISION_HINT": "bf16" if precision == "bf16" else "f32",
    }
    compiled = ov.Core().compile_model(model, "CPU", options)
    check_kernel(kernels(compiled), precision)
    request = compiled.create_infer_request()
    request.set_input_tensor(ov.Tensor(rng.standard_normal((product.n_rows, product.n_in), np.float32)))
    return request


def kernels(compiled: Any) -> list[str]:
    """What computes the matrix products of a compiled graph, such as `brgemm_avx512_bf16`."""
    nodes = [node.get_rt_info() for node in compiled.get_runtime_model().get_ops()]
    products = [node for node in nodes if node["layerType"].value in ("FullyConnected", "MatMul")]
    return [str(node["primitiveType"].value) for node in products]


def check_kernel(found: Sequence[str], precision: str) -> None:
    """Refuse a peak of a precision that the plug-in does not compute in."""
    if [name.lower().rpartition("_")[2] for name in found] != [precision]:
        raise RuntimeError(f"expected one matrix product in {precision}, but the plug-in runs {', '.join(found)}")


def best(run: Callable[[], object], n: int = 12) -> float:
    """Least seconds of several runs, the first one left out."""
    run()
    return min(seconds(run) for _ in range(n))


def seconds(run: Callable[[], object]) -> float:
    """Wall time."""
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin
