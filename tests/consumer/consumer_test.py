"""Assay as another project uses it. Each part is a test of its own:

    consumer_test.py --root ROOT --build BUILD --cxx COMPILER install|subdirectory     makes the prefix, or a copy of the tree, and builds the consumer
    consumer_test.py --root ROOT --build BUILD --cxx COMPILER PART                     looks at what the first one made; PART as in main below

A part whose tool or framework is not installed prints a line "skipped: ..." first.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree

TARGETS = ["decide", "write_trace", "with_catch2", "with_googletest"]
# What the programs are made of.
LAYERS = ["api", "app", "certificates", "cli", "explain", "formats", "frontends", "gpu", "kernel", "policy", "probes", "runtime", "search", "semantics"]
PROGRAMS = ["bin/assay", "bin/assay-check", "share/man/man1/assay.1", "share/man/man1/assay-check.1", "share/bash-completion/completions/assay",
            "share/bash-completion/completions/assay-check", "share/doc/assay/LICENSE", "include/assay/assay/testing.h", "include/assay/assay/cuda_testing.h", "include/assay/gpu/cuda/cuda_runtime.h", "include/assay/assay/check.h", "include/assay/assay/trace.h", "include/assay/formats/trace.h"]
PRIVATE = ["cli/load.h", "search/search.h", "formats/trace_nodes.h", "semantics/numbers/mpfr_functions.h", "tests/catch.h"]


class Failure(Exception):
    pass


def require(holds, what):
    if not holds:
        raise Failure(what)


def run(*command, exit=0, **options):
    """-> stdout and stderr; the exit status has to be the given one."""
    done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    require(done.returncode == exit, f"{' '.join(map(str, command))}: exit {done.returncode}, not {exit}\n{done.stdout[-4000:]}")
    return done.stdout


class Skipped(Exception):
    pass


class Consumer:
    def __init__(self, root, build, cxx):
        self.root, self.build, self.cxx = root, build, cxx
        self.folder = build / "consumer"
        self.prefix = self.folder / "prefix"
        self.digits = root / "examples/digits"

    # Two ways to get the consumer built.

    def install(self):
        """Into one folder, then moved: nothing may remember the first."""
        first = self.folder / "first"
        for old in (first, self.prefix, self.folder / "installed"):
            shutil.rmtree(old, ignore_errors=True)
        run("cmake", "--install", self.build, "--prefix", first)
        first.rename(self.prefix)
        self.make(self.folder / "installed", [f"-DCMAKE_PREFIX_PATH={self.prefix}", "-DASSAY_SOURCE=", "-DCMAKE_BUILD_TYPE=Release"], TARGETS)

    def subdirectory(self):
        """Of a copy of the tree, so that nothing can be written into this one. The tests are configured; to compile what they link would take
        minutes, and they are built where Assay is installed. Without optimisation, in another build type than this tree knows of."""
        tree = self.folder / "tree"
        shutil.rmtree(tree, ignore_errors=True)
        tree.mkdir(parents=True)
        for name in ["CMakeLists.txt", "tools", "semantics", "kernel", "policy", "frontends", "formats", "certificates", "runtime", "gpu", "probes", "explain", "api", "tests/consumer"]:
            (shutil.copytree if (self.root / name).is_dir() else shutil.copyfile)(self.root / name, tree / name)
        os.environ.update(CCACHE_BASEDIR=str(tree), CCACHE_NOHASHDIR="1")
        where = tree / "build/consumer"
        self.make(where, [f"-DASSAY_SOURCE={tree}", "-DCMAKE_BUILD_TYPE=Quick"], TARGETS[:2])
        rules = "".join(path.read_text() for path in where.rglob("cmake_install.cmake"))
        require("assay.1" not in rules and "libassay" not in rules, "a subdirectory has rules of installation that nobody asked for")
        require(not (where / "bin").exists() and (where / "decide").exists(), "a subdirectory moves the outer project's programs")

    def make(self, where, options, targets):
        cache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        run("cmake", *generator, "-S", self.root / "tests/consumer", "-B", where, f"-DCMAKE_CXX_COMPILER={self.cxx}", *cache, *options)
        known = (where / "targets").read_text().split(";")  # those whose framework is installed
        require(known[:2] == TARGETS[:2], f"targets of the consumer: {known}")
        run("cmake", "--build", where, "--parallel", os.environ.get("ASSAY_JOBS", "2"), "--target", *[target for target in targets if target in known])

    # What the consumer's programs have to do, however they were built.

    def decides(self, where):
        model, holds, fails = (self.digits / name for name in ("digits.onnx", "digits_holds.vnnlib", "digits_fails.vnnlib"))
        certificate = where / "holds.assay"
        run(self.build / "bin/assay", "verify", model, holds, "--proof", certificate, "--quiet")
        accepted = run(where / "decide", model, holds, certificate)
        require(accepted.startswith("accepted\n") and "assumption:" in accepted, f"decide printed {accepted[:400]}")
        checked = run(self.build / "bin/assay-check", model, holds, certificate, "--statement", "full")
        require(checked.startswith(accepted.rstrip()), "assay-check prints another theorem")
        require(run(where / "decide", model, fails, certificate, exit=1).startswith("rejected\n"), "another property's certificate is not rejected")
        require(run(where / "decide", where / "no.onnx", holds, certificate, exit=1).startswith("declined\n"), "a model that is not there is not declined")

    def traces(self, where):
        trace = where / "trace.safetensors"
        for number, exit in (("1.75", 0), ("1.7500002", 1)):
            run(where / "write_trace", trace, number)
            run(self.build / "bin/assay", "audit", trace, exit=exit)

    def tests(self, where, name):
        if f"with_{name}" not in (where / "targets").read_text().split(";"):
            raise Skipped(f"{name} is not installed")
        require(re.search(r"All tests passed|PASSED", run(where / f"with_{name}")), f"{name}: no word of success")

    def kernels(self, where, *options):
        """The project of examples/cuda_kernels against the installed package -> its build folder."""
        cache = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        run("cmake", *generator, "-S", self.root / "examples/cuda_kernels", "-B", where, f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DCMAKE_CXX_COMPILER={self.cxx}",
            "-DCMAKE_BUILD_TYPE=Release", *cache, *options)
        run("cmake", "--build", where, "--parallel", os.environ.get("ASSAY_JOBS", "2"))
        return where

    def cuda_kernels(self):
        """Kernels in CUDA on the emulation: right ones pass, wrong twins are named; JUnit, SARIF and a trace that assay audits."""
        where = self.kernels(self.folder / "kernels")
        text = run(where / "audit_emulated", "--files", where)
        require(text.count("ok ") == len(text.splitlines()) == 20 and "races" in text, text)
        run(self.build / "bin/assay", "audit", where / "product.safetensors")
        # Some of its probes have sets too wide to say anything, on purpose; a trace does not tell which.
        right = run(self.build / "bin/assay", "audit", where / "layer norm.safetensors", exit=3)
        require(", 0 failed" in right and "contract.vacuous" in right, right[-2000:])
        run(self.build / "bin/assay", "audit", where / "attention backward, no scale.safetensors", exit=1)
        cases = xml.etree.ElementTree.parse(where / "softmax, missing barrier.xml").getroot()
        require(int(cases.get("failures")) > 0 and "softmax.cu:" in (where / "softmax, missing barrier.xml").read_text(), "JUnit without the race")
        results = json.loads((where / "softmax, missing barrier.sarif").read_text())["runs"][0]["results"]
        require(results and all(one["ruleId"] == "gpu.race" for one in results), "SARIF without the race")

    def nvcc_kernels(self):
        """The same files by nvcc, linked; run where there is a device."""
        if not shutil.which("nvcc") and "CUDACXX" not in os.environ:
            raise Skipped("no nvcc")
        where = self.kernels(self.folder / "kernels_nvcc", "-DWITH_CUDA=ON")
        done = subprocess.run([where / "audit_on_device"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        require(done.returncode in (0, 77), done.stdout[-4000:])
        print(done.stdout if done.returncode == 0 else "compiled and linked; there is no device to run on")

    # What is installed beside the libraries.

    def files(self):
        for name in PROGRAMS:
            require((self.prefix / name).is_file(), f"{name} is not installed")
        for name in PRIVATE:
            require(not (self.prefix / "include/assay" / name).exists(), f"{name} is installed, but nothing public includes it")
        run(self.prefix / "bin/assay-check", "--version")
        self.documents()
        for program in ("assay", "assay-check"):
            source = self.prefix / f"share/bash-completion/completions/{program}"
            run("bash", "-n", source)
            shown = run("bash", "-c", f'source {source}; COMP_WORDS=({program} --vers); COMP_CWORD=1; {"_" + program.replace("-", "_")}; echo "${{COMPREPLY[@]}}"')
            require(shown == "--version\n", f"{program}: --vers is completed to {shown}")

    def documents(self):
        """Every page that a message of the programs cites is installed by the name that it cites; --help says where."""
        shown, cited = self.prefix / "share/doc/assay", set()
        for folder in LAYERS:
            for path in [*(self.root / folder).rglob("*.cpp"), *(self.root / folder).rglob("*.h")]:
                for literal in re.findall(r'"((?:[^"\\\n]|\\.)*)"', re.sub(r"(?m)^\s*//.*$|^#include.*$", "", path.read_text())):
                    cited |= set(re.findall(r"\b(?:docs|certificates)/[\w/-]+(?:\.md)?", literal))
        require({"docs/explanation/float32.md", "docs/reference/gates.md", "docs/ops/", "certificates/FORMAT.md"} <= cited, f"messages cite {sorted(cited)}")
        missing = sorted(page for page in cited if not (shown / page).exists())
        require(not missing, f"messages cite what is not installed: {missing}")
        for program in ("assay", "assay-check"):
            require("share/doc/assay" in run(self.prefix / "bin" / program, "--help"), f"{program} --help does not say where its documents are")

    def headers(self):
        """Every installed header, in one file, with nothing but the prefix to look in."""
        include = self.prefix / "include/assay"
        names = sorted(p.relative_to(include).as_posix() for p in include.rglob("*.h"))
        require(len(names) > 20, f"{len(names)} headers")
        text = "".join(f'#include "{name}"\n' for name in names)
        run(self.cxx, "-std=c++20", "-fsyntax-only", f"-I{include}", "-x", "c++", "-", input=text)

    def pkg_config(self):
        if not shutil.which("pkg-config"):
            raise Skipped("no pkg-config")
        os.environ["PKG_CONFIG_PATH"] = ":".join(str(p) for p in self.prefix.rglob("pkgconfig"))
        for package, source in (("assay-check", "decide"), ("assay-trace", "write_trace")):
            flags = run("pkg-config", "--cflags", "--libs", package).split()
            run(self.cxx, "-std=c++20", self.root / f"tests/consumer/{source}.cpp", "-o", self.folder / source, *flags)
        run(self.folder / "write_trace", self.folder / "trace.safetensors", "1.75")
        run(self.build / "bin/assay", "audit", self.folder / "trace.safetensors")

    def components(self):
        """What cannot be linked here is left out and named; where it was asked for by name, the configuration stops."""
        project = self.folder / "components"
        project.mkdir(exist_ok=True)
        (project / "CMakeLists.txt").write_text(
            "cmake_minimum_required(VERSION 3.22)\nproject(components LANGUAGES CXX)\nfind_package(assay CONFIG REQUIRED COMPONENTS ${WANTED})\n"
            "foreach(name check trace testing)\n  if(TARGET assay::${name})\n    message(STATUS \"has ${name}\")\n  endif()\nendforeach()\n")
        for wanted, disabled, exit, words, others in (
                ("check", "Nothing", 0, ["has check"], ["has trace", "has testing"]),
                ("", "OpenMP", 0, ["has check", "has trace", "assay::testing is left out: not found: OpenMP::OpenMP_CXX (libgomp1)"], ["has testing"]),
                ("testing", "OpenMP", 1, ["not found: OpenMP::OpenMP_CXX"], []),
                ("nonsense", "Nothing", 1, ["nonsense"], [])):
            shutil.rmtree(project / "build", ignore_errors=True)
            text = run("cmake", "-G", "Ninja", "-S", project, "-B", project / "build", f"-DCMAKE_CXX_COMPILER={self.cxx}",
                       f"-DCMAKE_PREFIX_PATH={self.prefix}", f"-DWANTED={wanted}", f"-DCMAKE_DISABLE_FIND_PACKAGE_{disabled}=ON", exit=exit)
            require(all(word in text for word in words) and not any(word in text for word in others), f"COMPONENTS {wanted}: {text[-1500:]}")

    def debian(self):
        for tool in ("cpack", "dpkg-deb"):
            if not shutil.which(tool):
                raise Skipped(f"no {tool}")
        folder = self.folder / "debian"
        shutil.rmtree(folder, ignore_errors=True)
        run("cpack", "-G", "DEB", "-B", folder, cwd=self.build)
        package, = folder.glob("*.deb")
        listed = {line.split("./", 1)[1] for line in run("dpkg-deb", "-c", package).splitlines() if not line.endswith("/")}
        installed = {f"usr/{path.relative_to(self.prefix).as_posix()}" for path in self.prefix.rglob("*") if path.is_file()}
        plain = lambda names: {name.replace("vendor-completions", "site-functions") for name in names}
        require(plain(listed) == plain(installed), f"the package differs from what is installed: {sorted(plain(listed) ^ plain(installed))[:10]}")
        if shutil.which("dpkg-shlibdeps"):
            depends = run("dpkg-deb", "-f", package, "Depends")
            require(all(name in depends for name in ("libmpfr", "libgmp", "zlib1g", "libdnnl")), f"Depends: {depends}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", type=pathlib.Path, required=True)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("part")
    options = parser.parse_args()
    consumer = Consumer(options.root.resolve(), options.build.resolve(), options.cxx)
    ways = {"installed": consumer.folder / "installed", "subdirectory": consumer.folder / "tree/build/consumer"}
    parts = {name: getattr(consumer, name) for name in ("install", "subdirectory", "files", "headers", "pkg_config", "components", "debian", "cuda_kernels", "nvcc_kernels")}
    for way, where in ways.items():
        parts[f"{way}_decides"] = lambda where=where: consumer.decides(where)
        parts[f"{way}_traces"] = lambda where=where: consumer.traces(where)
    for name in ("catch2", "googletest"):
        parts[f"installed_{name}"] = lambda name=name: consumer.tests(ways["installed"], name)
    try:
        parts[options.part]()
    except Skipped as why:
        print(f"skipped: {why}")
    except Failure as why:
        sys.exit(f"FAILED consumer {options.part}: {why}")


if __name__ == "__main__":
    main()
