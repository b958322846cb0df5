"""Every module of torch.nn with a forward of float tensors: one forward and backward pass, recorded and judged."""
from __future__ import annotations

import warnings

import pytest

torch = pytest.importorskip("torch", reason="the recorder needs the package torch")
from torch_modules import TABLE  # noqa: E402
from torch_runs import recorder, step, summary  # noqa: E402

# What ends undecided, and by which operation; nothing of it is accused, and nothing of it passes.
OPAQUE = {
    "Embedding, padding": "embedding", "EmbeddingBag": "_embedding_bag", "FractionalMaxPool2d": "fractional_max_pool2d", "LSTM": "mkldnn_rnn_layer",
    "LSTM, both directions": "mkldnn_rnn_layer", "Upsample, bicubic": "upsample_bicubic2d_backward", "CosineSimilarity": "CloneBackward0",
    "GaussianNLLLoss": "CloneBackward0", "MultiLabelMarginLoss": "multilabel_margin_loss", "MultiMarginLoss": "multi_margin_loss", "CTCLoss": "_ctc_loss",
    "spectral_norm": "aten.div.out",  
}
REFUSED = {"CrossMapLRN2d", "RReLU", "AdaptiveLogSoftmaxWithLoss"}


@pytest.mark.parametrize("name", TABLE)
def test_module(name: str) -> None:
    torch.manual_seed(3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module, inputs = TABLE[name]()
        if name in REFUSED:
            with pytest.raises(recorder.Refused):
                step(module, *inputs)
            return
        report = step(module, *inputs)
    assert not any(one["kind"] == "fail" for one in report.findings), summary(report)
    if name in OPAQUE:
        assert report.exit_code == 3 and OPAQUE[name] in summary(report), summary(report)
    else:  # a few elements of sums that cancel may be vacuous
        assert report.passed or report.undecided_share <= 0.01 and all(one["kind"] == "vacuous" for one in report.findings), summary(report)


def test_the_table_is_mostly_judged() -> None:
    assert set(OPAQUE) | REFUSED <= set(TABLE)
    assert len(OPAQUE) + len(REFUSED) <= 0.12 * len(TABLE)
