"""tools/release without a build: versions, dates and tags, interpreters, archives that are equal twice, sums, and the names of wheels."""
import argparse
import contextlib
import importlib.machinery
import importlib.util
import pathlib
import shutil
import subprocess
import sys
import tarfile
import tempfile

problems = []


def check(condition, text):
    if not condition:
        problems.append(text)


def refusal(action):
    """What the tool says where it refuses; nothing where it does not."""
    try:
        action()
    except release.Failure as why:
        return str(why)
    return ""


def copied(scratch):
    """A tree of those files that name the version."""
    for name in release.VERSIONS:
        (scratch / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(release.ROOT / name, scratch / name)
    return scratch


def replaced(root, name, old, new):
    path = root / name
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    return text


def versions(root, scratch):
    version = release.agreed(release.versions(root))
    check(version.count(".") == 2, f"the tree is of version {version}")
    copy = copied(scratch)
    for name in release.VERSIONS:  # each file alone names another one
        text = replaced(copy, name, version, "7.8.9")
        why = refusal(lambda: release.agreed(release.versions(copy)))
        check(f"{name} says 7.8.9" in why, f"{name} names another version: {why!r}")
        (copy / name).write_text(text, encoding="utf-8")
    replaced(copy, "CITATION.cff", "\nversion: ", "\nedition: ")
    check("CITATION.cff says none" in refusal(lambda: release.agreed(release.versions(copy))), "a file without a version is named")
    heading, text = release.section(root, version)
    check(text.startswith("#") and "\n## " not in text and len(text) > 200, "the section of the changelog")
    return version


def tags(version, scratch):
    copy = copied(scratch)
    replaced(copy, "CHANGELOG.md", f"## {version} {release.section(copy, version)[0]}", f"## {version} (unreleased)")
    check("write `## " in refusal(lambda: release.dated(copy, version, f"v{version}")), "an unreleased section has no date")
    check("the files name version" in refusal(lambda: release.dated(copy, version, "v7.8.9")), "a tag of another version")
    replaced(copy, "CHANGELOG.md", "(unreleased)", "(2030-01-02)")
    citation = "".join(line for line in (copy / "CITATION.cff").read_text(encoding="utf-8").splitlines(True) if not line.startswith("date-released"))
    for date, is_right in (("2030-01-02", True), ("2030-01-03", False)):
        (copy / "CITATION.cff").write_text(citation + f"date-released: {date}\n", encoding="utf-8")
        check((refusal(lambda: release.dated(copy, version, f"v{version}")) == "") == is_right, f"changelog of 2030-01-02, citation of {date}")


def archives(version, scratch):
    first, second = scratch / "first", scratch / "second"
    for folder in (first, second):
        (folder / "site" / "a").mkdir(parents=True)
        (folder / "site" / "index.html").write_text("page")
        (folder / "site" / "a" / "b.html").write_text("page")
        release.packed(folder / "site", f"assay-{version}-site", folder / f"assay-{version}-site.tar.gz", 1700000000)
        shutil.rmtree(folder / "site")
        if (release.ROOT / ".git").exists():
            release.archive(version, folder)
        release.write_sums(folder)
    for path in first.iterdir():
        check(path.read_bytes() == (second / path.name).read_bytes(), f"{path.name} differs from run to run")
    site = release.unpack(first / f"assay-{version}-site.tar.gz", scratch)
    check(sorted(path.relative_to(site).as_posix() for path in site.rglob("*")) == ["a", "a/b.html", "index.html"], f"{site} is not the site")
    source = first / f"assay-{version}-source.tar.gz"
    if source.exists():
        with tarfile.open(source) as tar:
            names = set(tar.getnames())
        wanted = {f"assay-{version}/{name}" for name in ("CMakeLists.txt", "LICENSE", "tools/build", "tests/corpus/README.md")}
        check(wanted <= names and not any(name.startswith(f"assay-{version}/build") for name in names), "the source archive")
    else:
        print("left out, since this is no git checkout: the source archive")


def sums(scratch):
    for name in ("a.whl", "b.deb"):
        (scratch / name).write_text(name)
    release.write_sums(scratch)
    check(refusal(lambda: release.verify_sums(scratch)) == "", "right sums are accepted")
    (scratch / "c").write_text("")
    check("does not list c" in refusal(lambda: release.verify_sums(scratch)), "a file without a sum")
    (scratch / "c").unlink()
    (scratch / "a.whl").write_text("a.whm")
    check("a.whl: FAILED" in refusal(lambda: release.verify_sums(scratch)), "a file that was changed")


def names(version, scratch):
    """wheel() by an interpreter that copies an empty file in place of making a wheel."""
    python = scratch / "python"
    for name, is_right in ((f"assay-{version}-cp312-abi3-manylinux_2_35_x86_64.whl", True), (f"assay-{version}-cp312-abi3-manylinux_2_28_aarch64.whl", True),
                           (f"assay-{version}-cp312-abi3-manylinux_2_36_x86_64.whl", False), (f"assay-{version}-cp312-abi3-linux_x86_64.whl", False),
                           (f"assay-{version}-cp312-cp312-manylinux_2_35_x86_64.whl", False), ("assay-7.8.9-cp312-abi3-manylinux_2_35_x86_64.whl", False)):
        build = scratch / "build" / name
        python.write_text(f'#!/bin/sh\nmkdir -p "$5/wheels" && : > "$5/wheels/{name}"\n')
        python.chmod(0o755)
        why = refusal(lambda: release.wheel("abi3", python, build, version, scratch))
        check((why == "") == is_right, f"{name}: {why!r}")


def interpreters(scratch):
    """The version decides which wheel an interpreter makes; one without headers, and one without the global lock, makes none."""
    for name, said in (("right", "3 12 True 0"), ("no-headers", "3 12 False 0"), ("free-threaded", "3 13 True 1"), ("old", "3 10 True 0"), ("broken", "")):
        (scratch / name).write_text(f"#!/bin/sh\necho {said}\n")
        (scratch / name).chmod(0o755)
    given = [scratch / name for name in ("no-headers", "free-threaded", "old", "broken", "right")]
    check(release.interpreters(given).get("abi3") == scratch / "right", f"interpreters: {release.interpreters(given)}")


def usage(root, scratch):
    def said(*words):
        return subprocess.run([sys.executable, "-B", root / "tools/release", *words], capture_output=True, text=True, timeout=60)
    check(said("--help").returncode == 0 and "SHA256SUMS" in said("--help").stdout, "--help")
    check(said("--versions").stdout.strip() == release.agreed(release.versions(root)), "--versions")
    (scratch / "there").write_text("")
    for words in ([], [scratch], [scratch / "new", "--without", "nothing"]):
        done = said(*words)
        check(done.returncode == 2 and "Traceback" not in done.stderr, f"{words}: exit {done.returncode}: {done.stderr}")
    options = argparse.Namespace(tag=None, allow_dirty=True, python=[])
    found, release.interpreters = release.interpreters, lambda given: {}
    for part in release.WHEELS:
        check(f"--without {part}" in refusal(lambda: release.preflight(options, {part})), f"without an interpreter for {part}")
    release.interpreters = found


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path)
    root = parser.parse_args().root.resolve()
    loader = importlib.machinery.SourceFileLoader("release", str(root / "tools/release"))
    release = importlib.util.module_from_spec(importlib.util.spec_from_loader("release", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(release)
    with contextlib.ExitStack() as folders:
        new = lambda: pathlib.Path(folders.enter_context(tempfile.TemporaryDirectory()))
        version = versions(root, new())
        tags(version, new())
        archives(version, new())
        sums(new())
        names(version, new())
        interpreters(new())
        usage(root, new())
    print("\n".join(f"FAILED {one}" for one in problems) or f"version {version}; archives, sums, names and refusals are right")
    sys.exit(1 if problems else 0)
