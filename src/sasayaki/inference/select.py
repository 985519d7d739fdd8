"""Picks the engine that runs a model."""

from __future__ import annotations

from sasayaki.checkpoints.names import Checkpoint
from sasayaki.errors import OptionError
from sasayaki.inference.base import Inference
from sasayaki.option_values import check_whole_number

BACKENDS = ("auto", "openvino", "torch")


def create_inference(
    checkpoint: Checkpoint,
    *,
    backend: str = "auto",
    device: str = "auto",
    precision: str = "auto",
    threads: int | None = None,
    identity: str | None = None,
    compiled: bool = False,
) -> Inference:
    """Build the engine for a checkpoint.

    Args:
        checkpoint: the model.
        backend: `openvino` runs on the processor, `torch` on any device that PyTorch knows; `auto` takes torch for a
            device that is not the processor, else openvino.
        device: `cpu`, `cuda`, …; `auto` is the processor with openvino, and what PyTorch finds with torch.
        precision: what the engine offers by that name; `auto` is its own choice.
        threads: threads for one model; None takes one for each core that the process may use.
        identity: of the files that the checkpoint was read from, by which compiled graphs are kept on disk; None
            keeps none.
        compiled: let PyTorch compile the model; see `TorchInference`.

    Raises:
        OptionError: a value is unknown, or device and backend do not go together.
        BackendError: the engine is not installed.
    """
    if backend not in BACKENDS:
        raise OptionError(f"backend must be one of {', '.join(BACKENDS)}, got {backend!r}")
    if not isinstance(device, str):
        raise OptionError(f"device must be 'auto', 'cpu', 'cuda' or 'cuda:N', got {device!r}")
    check_whole_number("threads", threads, least=1)
    is_on_cpu = device in ("auto", "cpu")
    if backend == "openvino" and not is_on_cpu:
        raise OptionError(f"backend='openvino' runs on the processor, got device={device!r}; use backend='torch'")
    if backend == "torch" or not is_on_cpu:
        from sasayaki.inference.torch_backend import TorchInference

        return TorchInference(checkpoint, device=device, precision=precision, threads=threads, compiled=compiled)
    if compiled:
        raise OptionError(
            "compiled=True is for PyTorch: backend='openvino' always compiles; use backend='torch', or leave it out"
        )
    from sasayaki.inference.openvino_backend import OpenVINOInference
    from sasayaki.inference.openvino_cache import GraphStore, default_folder

    folder = default_folder()
    store = None if folder is None or identity is None else GraphStore(folder, identity)
    return OpenVINOInference(checkpoint, precision=precision, threads=threads, store=store)
