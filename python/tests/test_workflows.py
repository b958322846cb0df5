"""The workflows of examples/ci are well-formed, and their shell steps run in a project of the kind that they are for.

Those of this repository (.github/workflows) call its own tools with options that these have, and may write no more than they need to.
"""
from __future__ import annotations

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

import pages
from conftest import DIGITS, ROOT

yaml = pytest.importorskip("yaml")
FOLDER = ROOT / "examples" / "ci"
OWN = ROOT / ".github" / "workflows"
# The permissions to write of each job of this repository.
WRITES = {("ci", "tests"): set(), ("release", "files"): set(), ("release", "github"): {"contents"}, ("release", "pypi"): {"id-token"},
          ("release", "pages"): {"pages", "id-token"}}
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


def own_jobs():
    for path in sorted(OWN.glob("*.yml")):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["name"] == path.stem and set(workflow["permissions"].values() if workflow["permissions"] else ()) <= {"read"}
        for name, job in workflow["jobs"].items():
            yield path.stem, name, job


def test_own_workflows_call_tools_that_exist(tmp_path):
    called = set()
    for workflow, name, job in own_jobs():
        for step in job["steps"]:
            assert ("run" in step) != ("uses" in step)
            if "uses" in step:
                assert re.fullmatch(r"[\w-]+/[\w-]+@(v\d+|release/v\d+)", step["uses"]), step
                continue
            (tmp_path / "step").write_text(step["run"], encoding="utf-8")
            subprocess.run(["bash", "-n", tmp_path / "step"], check=True)
            for tool, words in re.findall(r"(?:^|\s)((?:tools|\.ci)/\w+)([^\n]*)", step["run"]):
                called.add(tool)
                assert os.access(ROOT / tool, os.X_OK), tool
                options = set(re.findall(r"--[a-z][a-z-]*", words))
                text = (ROOT / tool).read_text(encoding="utf-8")
                assert all(option in text for option in options), (tool, options)
    assert {"tools/release", "tools/setup", ".ci/run"} <= called


def test_own_workflows_write_what_they_have_to():
    assert {(workflow, name): {right for right, kind in job.get("permissions", {}).items() if kind == "write"} for workflow, name, job in own_jobs()} == WRITES


def test_a_release_is_published_after_it_was_tried():
    jobs = {name: job for workflow, name, job in own_jobs() if workflow == "release"}
    assert jobs["github"]["needs"] == "files" and all(jobs[name]["needs"] == "github" for name in ("pypi", "pages"))
    assert all("ref_type == 'tag'" in job["if"] for name, job in jobs.items() if name != "files")
    tried = next(step["run"] for step in jobs["files"]["steps"] if "tools/release" in step.get("run", ""))
    assert "--tag" in tried and "--without" not in tried and "--allow-dirty" not in tried


def test_workflows_fit_the_schema_of_github():
    pytest.importorskip("check_jsonschema")
    files = [*FOLDER.glob("*.yml"), *OWN.glob("*.yml")]
    done = subprocess.run([sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.github-workflows", *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
