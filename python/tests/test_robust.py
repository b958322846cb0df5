"""robust: arrays and files, counts, the check and the page of a run."""
import shutil
import subprocess
from decimal import Decimal
from fractions import Fraction

import pytest

import assay
from assay._core import programs
from conftest import DIGITS

DATA = DIGITS / "digits_test.npz"


@pytest.fixture(scope="module")
def images():
    numpy = pytest.importorskip("numpy")
    with numpy.load(DATA) as file:
        return file["x"], file["y"]


def test_arrays_and_files_are_the_same_run(digits, images):
    x, y = images
    by_file = assay.robust(digits, DATA, eps=["0.02", 0.05, Fraction(1, 10)], clip=(Fraction(0), Decimal(1)), first=20, timeout=Decimal(60))
    by_decimal = assay.robust(digits, DATA, eps=(Decimal("0.02"), Decimal("5e-2"), "0.1"), clip=(0, 1), first=20)
    by_array = assay.robust(digits, x[:20], y[:20], eps=("0.02", "0.05", "1/10"), clip=(0, 1))
    by_list = assay.robust(digits.read_bytes(), x[:20].tolist(), y[:20].tolist(), eps=("0.02", "0.05", "1/10"), clip=("0", "1"), jobs=1)
    table = lambda run: {(one["item"], Fraction(one["eps"])): (one["answer"], one.get("statement")) for one in run.results}
    assert len(table(by_file)) == 60 and table(by_file) == table(by_array) == table(by_list) == table(by_decimal)
    assert by_file.question.startswith("is each item classified as labelled") and by_file.misclassified["0.02"] == 1
    assert by_file.complete and sum(by_file.counts["0.02"].values()) == 20
    assert by_file.certified_accuracy(0.02) == by_file.counts["0.02"]["certified"] / 20 >= by_file.certified_accuracy("0.1")
    assert by_list.check()["verdict"] == by_array.check(exact=True)["verdict"] == "accepted"
    assert "certified" in repr(by_file) and "<table>" in by_file._repr_html_()
    with pytest.raises(assay.UsageError):
        by_file.certified_accuracy(0.3)


def test_a_folder_is_kept_resumed_moved_and_shown(digits, images, tmp_path):
    x, y = images
    run = assay.robust(digits, x[:6], y[:6], eps="0.08", clip=(0, 1), run=tmp_path / "run")
    again = assay.robust(digits, x[:6], y[:6], eps="0.08", clip=(0, 1), run=tmp_path / "run", resume=True)
    assert len(again.results) == len(run.results) == 6
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(assay.MalformedInput, match="resume=True") as caught:
        assay.robust(digits, x[1:7], y[1:7], eps="0.08", clip=(0, 1), run=tmp_path / "run")
    assert "--resume" not in str(caught.value) and before == {path: path.read_bytes() for path in before}
    with pytest.raises(assay.UsageError):
        assay.robust(digits, x[:7], y[:7], eps="0.08", clip=(0, 1), run=tmp_path / "run", resume=True)
    page = run.report(tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text()
    assert page.endswith("page.html") and text.startswith("<!DOCTYPE html>") and "http:" not in text and "https:" not in text
    shutil.move(tmp_path / "run", tmp_path / "elsewhere")  # data and labels travel with the folder
    run.folder = str(tmp_path / "elsewhere")
    assert run.check()["accepted"] == 6


def test_witnesses_are_read_from_certificates(digits, images, tmp_path):
    numpy = pytest.importorskip("numpy")
    x, y = images
    run = assay.robust(digits, x[:16], y[:16], eps=("0.02", "1/20"), clip=(0, 1), run=tmp_path / "run")
    assert {one["answer"] for one in run.results} == {"certified", "falsified"}
    for one in run.results:
        witness = run.witness(one["item"], one["eps"])
        if one["answer"] == "certified":
            assert witness is None
            continue
        assert witness.shape == (1, 64) and numpy.abs(witness.ravel() - x[one["item"]].ravel()).max() <= float(Fraction(one["eps"])) + 1e-12
        assert one["correct"] or (witness.ravel() == x[one["item"]].ravel()).all()
    files = {path: path.read_bytes() for path in (tmp_path / "run" / "certificates").rglob("*.assay")}
    before = [run.exact_witness(item, "0.05") for item in range(16)]
    words = [programs.program(), "robust", digits, tmp_path / "run" / "items.npy", "--labels", tmp_path / "run" / "labels.npy",
             "--eps", "0.02,1/20", "--clip", "0,1", "--run", tmp_path / "run", "--resume", "--pack", "-q"]
    assert subprocess.run(words, capture_output=True, check=False).returncode == 0 and not any(path.exists() for path in files)
    assert [run.exact_witness(item, 0.05) for item in range(16)] == before
    with pytest.raises(assay.UsageError, match="item 99"):
        run.witness(99, "0.02")


def test_largest(digits, images):
    x, y = images
    run = assay.robust(digits, x[:3], y[:3], eps=0.1, largest="1/100", clip=(0, 1))
    assert set(run.largest) == {0, 1, 2} and all(0 <= Fraction(radius) <= Fraction(1, 10) for radius in run.largest.values())


def test_the_accuracy_of_a_run_with_largest_counts_every_item(digits, images):
    x, y = images
    run = assay.robust(digits, x[:20], y[:20], eps=0.1, largest="0.01", clip=(0, 1))
    radii = [Fraction(radius) for radius in run.largest.values()]
    for eps in ("0.001", "0.01", "0.02", "0.035", "0.05", "0.06", "0.1"):
        assert run.certified_accuracy(eps) == sum(radius >= Fraction(eps) for radius in radii) / 20, eps
    assert len({run.certified_accuracy(eps) for eps in ("0.01", "0.05", "0.1")}) == 3 and run.certified_accuracy("0.001") < 1
    assert all(sum(count.values()) == 20 for count in run.counts.values())
    for eps in (0, -0.1, "0.11", "x"):
        with pytest.raises(assay.UsageError):
            run.certified_accuracy(eps)


def test_what_a_larger_ball_keeps_the_ball_inside_of_it_keeps(digits, images):
    x, y = images
    runs = [assay.robust(digits, x[:8], y[:8], eps="0.08", clip=(0, 1), norm=norm) for norm in ("linf", "l2", "l1")]
    kept = [{one["item"] for one in run.results if one["answer"] == "certified"} for run in runs]
    assert kept[0] and kept[0] <= kept[1] <= kept[2] and all(run.check()["verdict"] == "accepted" for run in runs)


@pytest.mark.parametrize("arguments", [
    {"eps": "x"}, {"eps": -1}, {"eps": float("nan")}, {"eps": []}, {"eps": 0.1, "clip": (1, 0)}, {"eps": 0.1, "labels": [1.5, 2]},
    {"eps": 0.1, "labels": [1]}, {"eps": 0.1, "jobs": 0}, {"eps": 0.1, "data": 3}, {"eps": 0.1, "data": "/nowhere.npy"}, {"eps": 0.1, "std": 0},
    {"eps": 0.1, "timeout": 0}, {"eps": 0.1, "semantics": "float17"}, {"eps": 0.1, "norm": "l0"}, {"eps": 0.1, "labels": [3, 12]}])
def test_wrong_arguments(digits, images, arguments):
    options = {"data": images[0][:2], **arguments}
    with pytest.raises(assay.Error) as caught:
        assay.robust(digits, options.pop("data"), options.pop("labels", None), **options)
    assert not isinstance(caught.value, assay.InternalError)


def test_arguments_that_would_be_passed_over_are_refused(digits, images):
    x, y = images
    hidden = pytest.importorskip("numpy").ma.masked_array(x[:2], x[:2] > 0.5)  # its bytes hold 1e20 in place of masked elements
    for options, words in (({"data": hidden}, "without a mask"), ({"resume": True}, "with run="), ({"parts": 2}, "with executor=")):
        with pytest.raises(assay.UsageError, match=words):
            assay.robust(digits, **{"data": x[:2], "labels": y[:2], "eps": "0.01", **options})
    torch = pytest.importorskip("torch")
    for tensor in (torch.zeros(2, 64).bfloat16(), torch.zeros(2, 64).to_sparse()):
        with pytest.raises(assay.UsageError, match="a tensor that NumPy can hold"):
            assay.robust(digits, tensor, eps="0.01")
