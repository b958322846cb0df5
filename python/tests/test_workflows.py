"""The workflows of examples/ci are well-formed, and their shell steps run in a project of the kind that they are for."""
from __future__ import annotations

import pathlib
import re
import shutil

import pytest

import pages
from conftest import DIGITS, ROOT

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / "examples" / "ci"
# What each project consists of: files that are copied, pages whose files it has, and commands that make the rest.
PROJECTS = {"certificates": ([*DIGITS.glob("digits*")], None, ["assay verify digits.onnx digits_holds.vnnlib --proof holds.assay --quiet",
                                                              "echo digits.onnx,digits_holds.vnnlib,holds.assay > certificates.csv"]),
            "gradients": ([], "gate-a-gradient-in-ci.md", ["sed -i 's/(x > 0)/((x > 0) \\& (x < 6))/' layers.py"]),
            "kernels": ([], "your-first-failing-kernel.md", ["""sed -i 's/np.float32(0))/np.float32("-inf"))/' kernel.py""",
                                                           """echo '{"waivers": []}' > waivers.json""",
                                                           "pytest -q --assay-write-baseline --assay-baseline=head-room.json"])}
NEEDS = {"gradients": "torch"}


def steps(name):
    workflow = yaml.safe_load((FOLDER / f"{name}.yml").read_text(encoding="utf-8"))
    assert workflow["name"] == name and workflow["permissions"] == {"contents": "read", "security-events": "write"}
    (job,) = workflow["jobs"].values()
    return job["steps"]


@pytest.mark.parametrize("name", PROJECTS)
def test_the_steps_run(name, tmp_path, monkeypatch):
    pytest.importorskip(NEEDS.get(name, "numpy"))
    files, page, commands = PROJECTS[name]
    for file in files:
        shutil.copy(file, tmp_path)
    if page:
        for block in pages.blocks((ROOT / "docs/tutorials" / page).read_text(encoding="utf-8")):
            if block.title and block.title.endswith(".py"):
                (tmp_path / block.title).write_text(block.text, encoding="utf-8")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "step-summary.md"))
    written = [step["with"]["path"].split() for step in steps(name) if "upload-artifact" in step.get("uses", "")]
    with pages.Runner(tmp_path) as runner:
        for command in commands:
            assert not runner.command(command, "[...]"), command
        for step in steps(name):
            assert ("run" in step) != ("uses" in step)
            if "run" in step and not step["run"].startswith("pip install "):
                assert not runner.command(step["run"], "[...]"), step
    assert written and all((tmp_path / file).stat().st_size > 0 for files in written for file in files)


@pytest.mark.parametrize("name", PROJECTS)
def test_reports_are_uploaded_whatever_the_verdict(name):
    upload = next(step for step in steps(name) if "upload-sarif" in step.get("uses", ""))
    commands = " ".join(step.get("run", "") for step in steps(name))
    assert upload["with"]["sarif_file"] in commands and "always()" in upload["if"]
    assert re.search(r"pip install wheels/assay-\*\.whl", commands)


def test_every_workflow_is_tried():
    assert {path.stem for path in FOLDER.iterdir()} == set(PROJECTS)


def test_pages_show_the_workflows_as_they_are():
    """A block with the title .github/workflows/NAME.yml is the file without the comment at its head."""
    shown = {}
    for page in pathlib.Path(ROOT / "docs").rglob("*.md"):
        for block in pages.blocks(page.read_text(encoding="utf-8")):
            if (block.title or "").startswith(".github/workflows/"):
                shown[pathlib.Path(block.title).stem] = block.text
    assert shown
    for name, text in shown.items():
        assert text == re.sub(r"(?m)^#.*\n", "", (FOLDER / f"{name}.yml").read_text(encoding="utf-8")), name
