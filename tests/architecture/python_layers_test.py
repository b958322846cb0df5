"""Sub-packages of the Python package form layers: a module imports its own sub-package and those below it. No circle among modules.

Imports inside of functions count like any other. Those under TYPE_CHECKING are counted apart: they keep the layers, too, and a circle that
only they close is named as one. The native module has one user (docs/decisions/0110-python-in-sub-packages.md).
"""
import ast

import house

# From below to above. What stands in one row does not import its neighbours.
ROWS = [["errors", "_native"], ["_core"], ["ops", "certificate", "_verify", "torch"], ["testing"], ["onnxruntime", "plots", "pre_commit"], ["__init__"],
        ["pytest_plugin"]]
USER = {"_native": "_verify"}
HEIGHT = {name: height for height, row in enumerate(ROWS) for name in row}
CONTROLS = [  # modules, what has to be found
    ({"_core/a": "from .b import f", "_core/b": "def f():\n    from . import a"}, "a circle: _core.a -> _core.b -> _core.a"),
    ({"_core/a": "from . import b", "_core/b": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from .a import T"},
     "a circle that imports for types close: _core.a -> _core.b -> _core.a"),
    ({"_core/a": "import assay.testing._b", "testing/_b": ""}, "_core.a imports testing._b, which is not below it"),
    ({"_core/a": "from ..torch import c", "torch/c": ""}, "_core.a imports torch.c, which is not below it"),
    ({"ops": "from assay._verify import a", "_verify/a": ""}, "ops imports _verify.a, which is not below it"),
    ({"plots": "def f():\n    from assay import gradcheck", "__init__": ""}, "plots imports __init__, which is not below it"),
    ({"testing/_a": "from assay import _native", "_native": ""}, "testing._a imports _native, which _verify alone uses"),
    ({"new": ""}, "new stands in no row of this test"),
]


def imports_of(name, text, known):
    """-> {module: whether only types need it}; names as `_core.programs`, a package's own file as `torch`, the package's as `__init__`."""
    tree = ast.parse(text)
    for_types = {id(one) for node in ast.walk(tree) if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
                 for part in node.body for one in ast.walk(part)}
    package = ["assay"] if name == "__init__" else ["assay", *name.split(".")][:None if f"{name}.__init__" in known else -1]
    found = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            wanted = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = ".".join([*package[:len(package) - node.level + 1], *([node.module] if node.module else [])]) if node.level else node.module
            wanted = [f"{base}.{one.name}" for one in node.names]
        else:
            continue
        for one in wanted:
            words = one.split(".")
            if words[0] != "assay":
                continue
            inner, outer = ".".join(words[1:]), ".".join(words[1:-1])
            target = inner if is_module(inner, known) else outer if is_module(outer, known) else "__init__"
            if target != name:
                found[target] = found.get(target, True) and id(node) in for_types
    return found


def is_module(name, known):
    return name in known or f"{name}.__init__" in known


def circle(graph):
    """The first circle of a graph as a list of names; empty if there is none."""
    done, path = set(), []

    def walk(name):
        if name in path:
            return [*path[path.index(name):], name]
        if name in done:
            return []
        path.append(name)
        found = next((one for target in sorted(graph.get(name, ())) if (one := walk(target))), [])
        path.pop()
        done.add(name)
        return found
    return next((one for name in sorted(graph) if (one := walk(name))), [])


def problems_of(texts):
    """texts: by path below the package, without ending."""
    texts = {path.replace("/", "."): text for path, text in texts.items()}
    graph = {name.removesuffix(".__init__"): imports_of(name.removesuffix(".__init__"), text, set(texts)) for name, text in texts.items()}
    problems = []
    for name, found in graph.items():
        home = name.split(".")[0]
        if home not in HEIGHT:
            problems.append(f"{name} stands in no row of this test")
            continue
        for target in found:
            there = target.split(".")[0]
            if there != home and HEIGHT.get(there, len(ROWS)) >= HEIGHT[home]:
                problems.append(f"{name} imports {target}, which is not below it")
            elif USER.get(there, home) != home:
                problems.append(f"{name} imports {target}, which {USER[there]} alone uses")
    if way := circle({name: [one for one, types in found.items() if not types] for name, found in graph.items()}):
        problems.append(f"a circle: {' -> '.join(way)}")
    elif way := circle(graph):
        problems.append(f"a circle that imports for types close: {' -> '.join(way)}")
    return problems, graph


if __name__ == "__main__":
    root = house.arguments().root.resolve() / "python" / "assay"
    files = [path for path in sorted(root.rglob("*.py*")) if path.suffix in (".py", ".pyi")]
    found, graph = problems_of({str(path.relative_to(root).with_suffix("")): path.read_text() for path in files})
    for texts, wanted in CONTROLS:
        seen, _ = problems_of(texts)
        if seen != [wanted]:
            found.append(f"a control, {wanted!r}, gives {seen}")
    types = sum(one for targets in graph.values() for one in targets.values())
    house.report("python layers", found, f"{len(graph)} modules, {sum(map(len, graph.values()))} imports, {types} of them for types alone; no circle")
