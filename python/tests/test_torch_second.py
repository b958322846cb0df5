"""Second derivatives of the modules of torch.nn: judged, refused by name, or found where PyTorch's are wrong."""
from __future__ import annotations

import warnings
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="gradcheck needs the package torch")
from assay import GradcheckError, gradcheck  # noqa: E402
from assay.torch import Refused  # noqa: E402
from torch_modules import TABLE  # noqa: E402

# PyTorch has none.
NONE = {"EmbeddingBag", "EmbeddingBag, mean", "EmbeddingBag, weighted", "CrossMapLRN2d", "Hardsigmoid", "MultiheadAttention", "TransformerEncoder",
        "MultiMarginLoss", "MultiMarginLoss, squares"}
REFUSED = {"Embedding, padding": "opaque", "EmbeddingBag, max": "opaque", "FractionalMaxPool2d": "opaque", "MultiLabelMarginLoss": "opaque", "CTCLoss": "opaque",
           "GroupNorm": "did not give", "RNN": "several results", "RNN, relu": "several results", "LSTM": "several results", "LSTM, both directions": "several results",
           "GRU": "several results", "LSTMCell": "several results", "GRUCell": "several results", "TransformerDecoderLayer": "several results",
           "TransformerDecoder": "several results", "Transformer": "several results"}
UNDECIDED = {"GELU", "GELU, tanh"}  # no point at which all functions have a residue
WRONG = {"weight_norm", "BCELoss"}  # the first also by finite differences; the second by 1e-12 in a denominator, which these do not see


def second(name: str) -> bool:
    torch.manual_seed(3)
    module, inputs = TABLE[name]()
    def results(*given: Any) -> Any:
        found = torch.utils._pytree.tree_leaves(module(*given))
        return tuple(y for y in found if isinstance(y, torch.Tensor) and y.is_floating_point() and y.requires_grad)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return gradcheck(results, inputs, params=dict(module.named_parameters()), check_grad_grad=True)


@pytest.mark.parametrize("name", TABLE)
def test_module(name: str) -> None:
    if name in NONE:
        with pytest.raises((RuntimeError, NotImplementedError)):
            second(name)
    elif name in REFUSED:
        with pytest.raises(Refused, match=REFUSED[name]):
            second(name)
    elif name in UNDECIDED | WRONG:
        with pytest.raises(GradcheckError) as found:
            second(name)
        assert found.value.report.failed == (name in WRONG), str(found.value)
    else:
        assert second(name)


def test_a_wrong_second_derivative_of_torch() -> None:
    """What is said of `weight_norm` is what finite differences say."""
    v, g = torch.randn(3, 4, dtype=torch.double, requires_grad=True), torch.randn(3, 1, dtype=torch.double, requires_grad=True)
    assert not torch.autograd.gradgradcheck(lambda v, g: torch.ops.aten._weight_norm_interface(v, g, 0)[0], (v, g), raise_exception=False)
