"""PyTorch modules as ONNX graphs."""

import io
import warnings
from typing import Any

import numpy as np

from podium.export.portable import NotExportable
from podium.export.requirements import require_package
from podium.scorers.torch import TorchModel

INPUT = "features"


def torch_bytes(model: TorchModel, n_features: int, opset: int) -> bytes:
    """Return a module with its learned weights as PyTorch writes it to ONNX; its input is called ``features``."""
    torch = require_package("torch", "'podium-rank[torch]'")
    dtype = next((p.dtype for p in model.module.parameters()), torch.float32)

    class Flat(torch.nn.Module):  # type: ignore[misc,name-defined]
        def __init__(self, module: Any) -> None:
            super().__init__()
            self.module = module

        def forward(self, x: Any) -> Any:
            return self.module(x.to(dtype)).reshape(-1)

    module = Flat(model.to_module().to("cpu")).eval()  # as a whole: PyTorch puts it back to what it was
    file = io.BytesIO()
    fast = torch.backends.mha.get_fastpath_enabled()  # a fused attention that ONNX does not have
    try:
        torch.backends.mha.set_fastpath_enabled(False)
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")  # PyTorch would rather have us use an exporter that needs more packages
            torch.onnx.export(
                module,
                (torch.zeros(3, n_features),),
                file,
                dynamo=False,
                opset_version=opset,
                input_names=[INPUT],
                dynamic_axes={INPUT: {0: "documents"}},
            )
    except torch.onnx.OnnxExporterError as error:
        raise NotExportable(f"PyTorch cannot write this module to ONNX: {error}") from error
    finally:
        torch.backends.mha.set_fastpath_enabled(fast)
    _require_any_length(file.getvalue(), module, n_features)
    return file.getvalue()


def _require_any_length(exported: bytes, module: Any, n_features: int) -> None:
    """Raise NotExportable if PyTorch wrote the number of documents of its example into the file."""
    torch, runtime = require_package("torch", "'podium-rank[torch]'"), require_package("onnxruntime")
    options = runtime.SessionOptions()
    options.log_severity_level = 4
    session = runtime.InferenceSession(exported, options, providers=["CPUExecutionProvider"])
    for n in (2, 7):
        x = np.random.default_rng(n).standard_normal((n, n_features)).astype(np.float32)
        with torch.no_grad():
            expected = module(torch.from_numpy(x)).numpy()
        try:
            same = np.allclose(session.run(None, {INPUT: x})[0], expected, rtol=1e-3, atol=1e-4)
        except Exception:  # onnxruntime has an exception class per kind of failure, without a common base
            same = False
        if not same:
            raise NotExportable(
                "PyTorch writes this module to ONNX for lists of one length only: it probably reshapes by the number "
                "of documents, as torch.nn.MultiheadAttention does; torch.nn.functional.scaled_dot_product_attention "
                "does not"
            )
