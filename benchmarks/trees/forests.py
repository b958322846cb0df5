#!/usr/bin/env python3
"""Rows of forests and boosted trees, certified by Assay and by Veritas in turns.

    python3 benchmarks/trees/forests.py BIN [--rows 50] [--seconds 10] [--json FILE]

The models are trained here, on the standardised breast-cancer table of scikit-learn. Needs the packages scikit-learn, skl2onnx,
onnxmltools, lightgbm, xgboost and dtai-veritas. CPU seconds count, of either program's processes, since the machine may be busy.
Veritas reads the trained model in floats, and Assay its ONNX file in exact numbers; answers that differ are listed.
"""
import json
import pathlib
import resource
import subprocess
import sys
import tempfile
import time
import warnings

import numpy as np

warnings.filterwarnings("ignore")
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import results  # noqa: E402

RADII = {"random forest, 25 trees": 0.3, "gradient boosting, 50 trees": 0.3, "LightGBM, 50 trees": 0.3, "LightGBM, 500 trees": 0.2, "XGBoost, 100 trees": 0.3}


def models(x, y):
    """(name, model, ONNX bytes, output of scores)"""
    import lightgbm
    import xgboost
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType
    from skl2onnx import to_onnx
    from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier

    shape = [("x", FloatTensorType([None, x.shape[1]]))]
    for name, model in (("random forest, 25 trees", RandomForestClassifier(25, max_depth=6, random_state=1)),
                        ("gradient boosting, 50 trees", GradientBoostingClassifier(n_estimators=50, random_state=1))):
        model.fit(x, y)
        yield name, model, to_onnx(model, x[:1], options={id(model): {"zipmap": False}}).SerializeToString()
    for count in (50, 500):
        model = lightgbm.LGBMClassifier(n_estimators=count, num_leaves=15, random_state=1, verbose=-1).fit(x, y)
        yield f"LightGBM, {count} trees", model, convert_lightgbm(model, initial_types=shape, zipmap=False, target_opset=15).SerializeToString()
    model = xgboost.XGBClassifier(n_estimators=100, max_depth=4, random_state=1).fit(x, y)
    yield "XGBoost, 100 trees", model, convert_xgboost(model, initial_types=shape, target_opset=15).SerializeToString()


def children_seconds():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def assay(programs, folder, content, row, label, radius, seconds):
    (folder / "model.onnx").write_bytes(content)
    np.save(folder / "row.npy", row[None])
    before = children_seconds()
    done = subprocess.run([str(programs / "assay"), "robust", folder / "model.onnx", folder / "row.npy", "--labels", str(label), "--outputs", "probabilities", "--eps",
                           str(radius), "--jobs", "1", "--timeout", str(seconds), "--json", "--quiet"], capture_output=True, text=True, check=True)
    counts = json.loads(done.stdout)["radii"][0]
    answer = next(word for word in ("certified", "falsified", "undecided") if counts[word])
    return answer, children_seconds() - before


def veritas_answer(trees, threshold, row, label, radius, seconds):
    import veritas
    sign = 1 if label == 0 else -1  # the score has to rise above the threshold, or to fall below it
    config = veritas.Config(veritas.HeuristicType.MAX_OUTPUT if sign > 0 else veritas.HeuristicType.MIN_OUTPUT)
    box = [veritas.Interval(float(np.float32(v - radius)), float(np.nextafter(np.float32(v + radius), np.float32(np.inf)))) for v in row]
    begin, limit, answer = time.process_time(), time.monotonic() + seconds, "undecided"
    search = config.get_search(trees, box)
    while time.monotonic() < limit and answer == "undecided":
        over = search.step_for(0.05, 10)
        bounds = search.current_bounds()
        if search.num_solutions() and sign * (search.get_solution(0).output - threshold) > 0:
            answer = "falsified"
        elif sign * bounds.top_of_open < sign * threshold:
            answer = "certified"
        elif over == veritas.StopReason.OPTIMAL or over == veritas.StopReason.NO_MORE_OPEN:
            answer = "falsified" if search.num_solutions() and sign * (search.get_solution(0).output - threshold) > 0 else "certified"
    return answer, time.process_time() - begin


def main():
    import veritas
    from sklearn.datasets import load_breast_cancer
    from sklearn.preprocessing import StandardScaler
    option = lambda name, otherwise: sys.argv[sys.argv.index(name) + 1] if name in sys.argv else otherwise  # noqa: E731
    programs, rows, seconds = pathlib.Path(sys.argv[1]), int(option("--rows", 50)), float(option("--seconds", 10))
    x, y = load_breast_cancer(return_X_y=True)
    x = StandardScaler().fit_transform(x).astype(np.float32)
    table, figures, differ = [], {}, []
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        for title, model, content in models(x, y):
            trees, picked = veritas.get_addtree(model, silent=True), range(0, len(x), len(x) // rows)
            scores = np.array(trees.eval(x)).reshape(-1)
            threshold = 0.5 if title.startswith("random") else 0.0
            counts, spent, given = {"Assay": {}, "Veritas": {}}, {"Assay": 0.0, "Veritas": 0.0}, {}
            for i in list(picked)[:rows]:
                label = int(scores[i] > threshold)
                given["Assay"] = assay(programs, folder, content, x[i], label, RADII[title], seconds)
                given["Veritas"] = veritas_answer(trees, threshold, x[i], label, RADII[title], seconds)
                for who, (answer, took) in given.items():
                    counts[who][answer] = counts[who].get(answer, 0) + 1
                    spent[who] += took
                if {given[who][0] for who in given} == {"certified", "falsified"}:
                    differ.append(f"{title}, row {i}: Assay {given['Assay'][0]}, Veritas {given['Veritas'][0]}")
            for who in counts:
                numbers = [str(counts[who].get(word, 0)) for word in ("certified", "falsified", "undecided")]
                table.append([title, str(RADII[title]), who, *numbers, f"{spent[who]:.1f}"])
                print(" | ".join(table[-1]), flush=True)
            decided = rows - counts["Assay"].get("undecided", 0)
            figures[title] = (f"{decided} of {rows}", f"rows of a model that Assay decides: {title}")
    figures["contradictions"] = (len(differ), "rows of tree models to which Assay and Veritas give contradictory answers")
    print("\n".join(differ))
    if option("--json", ""):
        results.write(option("--json", ""), results.begin(
            "Rows of tree ensembles", "Beside other verifiers", f"Standardised breast-cancer table, l-infinity balls, {seconds:g} s a row, one thread; CPU seconds of each "
            "program. Assay's include its start, reading and certificate.", figures,
            tables=[{"title": "Rows certified, falsified and undecided", "header": ["Model", "Radius", "Program", "Certified", "Falsified", "Undecided", "CPU seconds"],
                     "left": [0, 1, 2], "rows": table}], details={"contradictions": differ}))


if __name__ == "__main__":
    main()
