"""Importing costs little, and imports neither NumPy nor torch."""
import os
import shutil
import subprocess
import sys
import time

import pytest

from conftest import ROOT


def run(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_nothing_heavy_is_imported():
    loaded = run("import assay, sys; assay.verify; assay.Box; assay.errors; print(sorted({'numpy', 'torch', 'onnx', 'onnxruntime'} & set(sys.modules)))")
    assert loaded == "[]"


def test_import_takes_less_than_a_third_of_a_second_of_the_processor():
    times = []
    for _ in range(5):
        times.append(float(run("import time; t = time.process_time(); import assay; assay.verify; print(time.process_time() - t)")))
    assert min(times) < 0.3, times


def test_a_package_that_is_missing_is_named():
    code = "import sys; sys.modules['torch'] = None\nimport assay\ntry:\n    assay.gradcheck\nexcept assay.UsageError as error:\n    print(error)"
    assert run(code) == "the package torch is not installed at assay.gradcheck; pip install torch"


def test_names():
    import assay

    assert {"verify", "check", "bounds", "Box", "Error", "testing"} <= set(dir(assay))
    with pytest.raises(AttributeError, match="no attribute 'verfy'"):
        assay.verfy


def test_the_programs_are_there():
    import assay
    from assay._core import programs

    for name in ("assay", "assay-check"):
        said = subprocess.run([programs.program(name), "--version"], capture_output=True, text=True, check=True).stdout
        assert said.splitlines()[0] == f"{name} {assay.__version__}"


def test_start_of_a_program_is_quick():
    from assay._core import programs

    start = time.perf_counter()
    subprocess.run([programs.program(), "--name"], check=True, capture_output=True)
    assert time.perf_counter() - start < 2


def test_a_package_without_its_programs_does_not_start_itself(tmp_path):
    """The command `assay` looks for the program on the PATH, where the command itself lies."""
    package, commands = tmp_path / "assay", tmp_path / "bin"
    (package / "_core").mkdir(parents=True)
    commands.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_core" / "__init__.py").write_text("")
    for name in ("console_scripts.py", "programs.py"):
        shutil.copy(ROOT / "python" / "assay" / "_core" / name, package / "_core")
    script = commands / "assay"
    script.write_text(f"#!{sys.executable}\nfrom assay._core.console_scripts import assay\nassay()\n")
    script.chmod(0o755)
    environment = {**os.environ, "PATH": f"{commands}{os.pathsep}/usr/bin", "PYTHONPATH": str(tmp_path)}
    environment.pop("ASSAY_PROGRAMS", None)
    done = subprocess.run([script, "--version"], capture_output=True, text=True, env=environment, timeout=60)
    assert done.returncode == 1 and "the program 'assay' was not found" in done.stderr, done
