"""Random models of ai.onnx.ml for onnx_random.py: scaling and encoding of features, linear models, support vector machines and trees."""
import numpy as np
from onnx import helper, numpy_helper

from onnx_random_models import GENERATORS, Draw, Input, of  # noqa: F401


def make(d, op, version, inputs, outputs=1, **attributes):
    case = d.make(op, 17, inputs, outputs, **{name: value for name, value in attributes.items() if not isinstance(value, list) or value})
    case.model.graph.node[0].domain = "ai.onnx.ml"
    case.model.opset_import.append(helper.make_opsetid("ai.onnx.ml", version))
    return case


def without_label(case):
    """Strings are no numbers, and some labels are no result of the importer."""
    del case.model.graph.output[0]
    return case


def reals(d, *shape):
    return [float(one) for one in d.floats(shape).reshape(-1)]


def rows(d, columns):
    """Of float32 mostly, of float64 and integers now and then. Multiples of 1/4 meet thresholds exactly."""
    shape = (d.whole(1, 3), columns)
    if d.chance(0.15):
        return Input(d.ints(shape, -3, 3))
    values = np.round(4 * d.floats(shape)) / np.float32(4) if d.chance(0.5) else d.floats(shape)
    return Input(values)


@of("Scaler", "Normalizer", "Imputer", "Binarizer", "FeatureVectorizer", "ArrayFeatureExtractor", "OneHotEncoder", "LabelEncoder")
def feature(d, op):
    columns = d.whole(1, 5)
    if op == "Scaler":
        return make(d, op, d.whole(1, 3), [rows(d, columns)], offset=reals(d, d.one_of(1, columns)), scale=reals(d, d.one_of(1, columns)))
    if op == "Normalizer":
        return make(d, op, 1, [Input(d.floats((2, columns), *d.one_of((0.1, 3), (-3, 3))))], norm=d.one_of(None, "MAX", "L1", "L2"))
    if op == "Imputer":
        replaced = d.one_of(float("nan"), 1.0, None)
        x = np.round(d.floats((2, columns)))
        return make(d, op, 1, [Input(x)], imputed_value_floats=reals(d, d.one_of(1, columns)), replaced_value_float=replaced)
    if op == "Binarizer":
        return make(d, op, 1, [Input(np.round(d.floats((2, columns))))], threshold=d.one_of(None, 1.0, -0.5))
    if op == "FeatureVectorizer":
        widths = [d.whole(1, 3) for _ in range(d.whole(1, 3))]
        return make(d, op, 1, [Input(d.floats((2, width))) for width in widths], inputdimensions=widths)
    if op == "ArrayFeatureExtractor":
        shape = d.one_of((columns,), (2, columns), (2, 3, columns))
        return make(d, op, 1, [Input(d.floats(shape)), d.ints((d.whole(1, 4),), 0, columns - 1)])
    if op == "OneHotEncoder":
        x = d.ints((2, columns), 0, 4)
        return make(d, op, 1, [Input(d.one_of(x, x.astype(np.float32)))], cats_int64s=[0, 2, 3][:d.whole(1, 3)], zeros=d.one_of(None, 1))
    keys, values, lists = d.one_of(("keys_int64s", "values_floats", True), ("keys_int64s", "values_int64s", True), ("keys_floats", "values_floats", False))
    x = d.ints((2, columns), 0, 4)
    given = {keys: [0, 2, 3] if lists else [0.0, 2.0, 3.0], values: reals(d, 3) if values == "values_floats" else [7, -1, 4],
             "default_float" if values == "values_floats" else "default_int64": d.one_of(None, 2.0 if values == "values_floats" else 9)}
    return make(d, op, d.whole(2, 3), [Input(x if lists else x.astype(np.float32))], **given)


def labels(d, classes, name):
    if d.chance(0.2):
        return {"classlabels_strings": [f"c{i}" for i in range(classes)]}
    return {name: [int(one) for one in d.random.permutation(classes) + d.whole(0, 3)]}


@of("LinearRegressor", "LinearClassifier", "SVMRegressor", "SVMClassifier")
def scored(d, op):
    columns, count = d.whole(1, 4), d.whole(1, 3)
    x, transform = rows(d, columns), d.one_of(None, "NONE", "SOFTMAX", "LOGISTIC")
    if op == "LinearRegressor":
        return make(d, op, 1, [x], coefficients=reals(d, count, columns), intercepts=d.one_of(None, reals(d, count)), targets=count, post_transform=transform)
    kernel = {"kernel_type": d.one_of(None, "LINEAR", "RBF", "POLY", "SIGMOID"), "kernel_params": [0.5, 0.25, float(d.whole(1, 3))]}
    if op == "SVMRegressor":
        if d.chance(0.3):
            return make(d, op, 1, [x], coefficients=reals(d, columns), rho=reals(d, 1), one_class=d.one_of(None, 0, 1))
        return make(d, op, 1, [x], coefficients=reals(d, count), support_vectors=reals(d, count, columns), n_supports=count, rho=reals(d, 1), one_class=d.one_of(None, 0, 1),
                    **kernel)
    classes = d.whole(2, 4)
    if op == "LinearClassifier":
        scores = 1 if classes == 2 and d.chance(0.5) else classes
        given = labels(d, classes, "classlabels_ints")
        case = make(d, op, 1, [x], 2, coefficients=reals(d, scores, columns), intercepts=reals(d, scores), multi_class=d.one_of(None, 1), post_transform=transform,
                    **given)
        return without_label(case) if "classlabels_strings" in given else case
    per_class = [d.whole(1, 3) for _ in range(classes)]
    case = make(d, op, 1, [x], 2, coefficients=reals(d, classes - 1, sum(per_class)), support_vectors=reals(d, sum(per_class), columns),
                vectors_per_class=per_class, rho=reals(d, classes * (classes - 1) // 2), post_transform=d.one_of(transform, None), classlabels_ints=list(range(classes)), **kernel)
    return without_label(case)


MODES = ["BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ"]


def grow(d, nodes, depth):
    """Appends a tree of (leaf, yes, no), children by their numbers, and gives the number of its root."""
    at = len(nodes)
    nodes.append(None)
    if depth == 0 or d.chance(0.25):
        nodes[at] = (True, 0, 0)
    else:
        nodes[at] = (False, grow(d, nodes, depth - 1), grow(d, nodes, depth - 1))
    return at


def threshold(d):
    return float(d.one_of(np.inf, -np.inf)) if d.chance(0.03) else float(np.round(4 * d.floats(()))) / 4


@of("TreeEnsembleRegressor", "TreeEnsembleClassifier")
def trees(d, op):
    columns, targets = d.whole(1, 4), d.whole(1, 4) if op == "TreeEnsembleRegressor" else d.whole(2, 4)
    modes = d.one_of(MODES[:1], MODES[1:2], MODES)
    lists = {name: [] for name in ("treeids", "nodeids", "featureids", "values", "modes", "truenodeids", "falsenodeids")}
    leaves = {name: [] for name in ("treeids", "nodeids", "ids", "weights")}
    style, only, lowest = d.one_of("one", "all", "some"), d.chance(0.4), d.one_of(-3.0, 0.0)
    for tree in range(d.whole(1, 4)):
        nodes = []
        grow(d, nodes, d.whole(0, 3))
        owner = 0 if only else d.whole(0, targets - 1)
        for number, (leaf, yes, no) in enumerate(nodes):
            mode = "LEAF" if leaf else d.one_of(*modes)
            for name, value in zip(lists, (tree, number, d.whole(0, columns - 1), 0.0 if leaf else threshold(d), mode, yes, no)):
                lists[name].append(value)
            kept = [owner] if style == "one" else [t for t in range(targets) if style == "all" or d.chance(0.5)]
            for target in kept if leaf else []:
                for name, value in zip(leaves, (tree, number, target, float(d.floats((), lowest, 3)))):
                    leaves[name].append(value)
    prefix = "target_" if op == "TreeEnsembleRegressor" else "class_"
    given = {"nodes_" + name: values for name, values in lists.items()} | {prefix + name: values for name, values in leaves.items()}
    given["post_transform"] = d.one_of(None, "NONE", "SOFTMAX", "LOGISTIC")
    if d.chance(0.4):
        given["base_values"] = reals(d, d.one_of(targets, targets, 1))
    if op == "TreeEnsembleRegressor":
        return make(d, op, d.one_of(1, 3), [rows(d, columns)], n_targets=targets, aggregate_function=d.one_of(None, "SUM", "AVERAGE", "MIN", "MAX"), **given)
    given |= labels(d, targets, "classlabels_int64s")
    case = make(d, op, d.one_of(1, 3), [rows(d, columns)], 2, **given)
    return without_label(case) if "classlabels_strings" in given or d.chance(0.5) else case


@of("TreeEnsemble")
def trees_of_version_5(d, op):
    columns, targets, kind = d.whole(1, 4), d.whole(1, 3), d.one_of(np.float32, np.float64)
    splits, leaves, roots = [], [], []

    def enter(depth):
        if depth == 0 or d.chance(0.25):
            leaves.append((d.whole(0, targets - 1), float(d.floats(()))))
            return len(leaves) - 1, 1
        at = len(splits)
        splits.append(None)
        splits[at] = (d.whole(0, columns - 1), threshold(d), d.whole(0, 5), *enter(depth - 1), *enter(depth - 1))
        return at, 0

    while len(roots) < 1 or d.chance(0.6):
        at, is_leaf = enter(d.whole(1, 3))
        if is_leaf:  # a tree of one leaf is a split with this leaf on both sides
            splits.append((0, 0.0, 0, at, 1, at, 1))
            at = len(splits) - 1
        roots.append(at)
    features, thresholds, modes, yes, yes_leaf, no, no_leaf = (list(one) for one in zip(*splits))
    tensor = lambda values, dtype: numpy_helper.from_array(np.array(values, dtype))  # noqa: E731
    shape = (d.whole(1, 3), columns)
    x = np.round(4 * d.floats(shape)).astype(kind) / 4
    return make(d, op, 5, [Input(x)], tree_roots=roots, nodes_featureids=features, nodes_splits=tensor(thresholds, kind), nodes_modes=tensor(modes, np.uint8),
                nodes_truenodeids=yes, nodes_trueleafs=yes_leaf, nodes_falsenodeids=no, nodes_falseleafs=no_leaf, leaf_targetids=[one[0] for one in leaves],
                leaf_weights=tensor([one[1] for one in leaves], kind), n_targets=targets, aggregate_function=d.one_of(None, 0, 1, 2, 3),
                post_transform=d.one_of(None, 0, 1, 2))
