// Operators of ai.onnx.ml on numbers small enough to check by hand. onnx_random_ml.py compares them with ONNX Runtime.
#include "tests/frontends/onnx_rows.h"

namespace assay::onnx_test {
namespace {

using Floats = std::vector<float>;
using Texts = std::vector<std::string>;

std::string ml(const std::string& op, const std::vector<std::string>& attributes, const std::vector<std::string>& outputs = {"y"}) {
  return node(op, {"x"}, outputs, attributes, "ai.onnx.ml");
}

Outcome<onnx::Model> import_ml(const Folder& folder, const std::string& one, const Ints& shape, const std::string& output = "y",
                               std::int64_t version = 3) {
  ModelText text;
  text.nodes = {one};
  text.inputs = {value("x", dims_of(shape))};
  text.outputs = {untyped(output)};
  text.more_opsets = {{"ai.onnx.ml", version}};
  return onnx::import_model(folder.write("m.onnx", text.bytes()));
}

// What the node gives for rows of numbers.
Reals given(const std::string& one, const Ints& shape, const Reals& x, const std::string& output = "y", std::int64_t version = 3) {
  const Folder folder;
  const Outcome<onnx::Model> model = import_ml(folder, one, shape, output, version);
  INFO((model ? "" : model.rejection().to_text()));
  REQUIRE(model.ok());
  const std::vector<Array<double>> inputs = {{shape, x}};
  const auto values = evaluate<double>(model.value().graph, inputs);
  REQUIRE(values.ok());
  return values.value()[model.value().graph.outputs[0]].values;
}

std::string refusal(const std::string& one, const std::string& output = "y", std::int64_t version = 3) {
  const Folder folder;
  const Outcome<onnx::Model> model = import_ml(folder, one, {1, 2}, output, version);
  return model ? "imported" : model.rejection().code + ": " + model.rejection().required + ": " + model.rejection().found;
}

// A tree over x0 and x1: x0 <= 1 ? (x1 mode 2 ? 10 : 20) : 30, with these targets of the leaves.
std::vector<std::string> tree(const std::string& mode, const std::string& prefix, const Ints& targets = {0, 0, 0},
                              const Floats& weights = {10, 20, 30}) {
  return {attr("nodes_treeids", Ints{0, 0, 0, 0, 0}),
          attr("nodes_nodeids", Ints{0, 1, 2, 3, 4}),
          attr("nodes_featureids", Ints{0, 1, 0, 0, 0}),
          texts_attr("nodes_modes", Texts{"BRANCH_LEQ", mode, "LEAF", "LEAF", "LEAF"}),
          reals_attr("nodes_values", Floats{1, 2, 0, 0, 0}),
          attr("nodes_truenodeids", Ints{1, 2, 0, 0, 0}),
          attr("nodes_falsenodeids", Ints{4, 3, 0, 0, 0}),
          attr(prefix + "treeids", Ints{0, 0, 0}),
          attr(prefix + "nodeids", Ints{2, 3, 4}),
          attr(prefix + "ids", targets),
          reals_attr(prefix + "weights", weights)};
}

std::vector<std::string> with(std::vector<std::string> attributes, const std::vector<std::string>& more) {
  attributes.insert(attributes.end(), more.begin(), more.end());
  return attributes;
}

}  // namespace

TEST_CASE("features are scaled, replaced, encoded and picked", "[onnx][ml]") {
  const Reals x{1, -2, 3, 4};
  CHECK(given(ml("Scaler", {reals_attr("offset", Floats{1, 2}), reals_attr("scale", Floats{0.5F})}), {2, 2}, x) == Reals{0, -2, 1, 1});
  CHECK(given(ml("Normalizer", {attr("norm", "L1")}), {2, 2}, {1, -3, 3, 1}) == Reals{0.25, -0.75, 0.75, 0.25});
  CHECK(given(ml("Normalizer", {attr("norm", "L2")}), {1, 2}, {3, -4}) == Reals{0.6, -0.8});
  CHECK(given(ml("Normalizer", {}), {1, 2}, {1, 4}) == Reals{0.25, 1});
  CHECK(given(ml("Binarizer", {attr("threshold", 3.0F)}), {2, 2}, x) == Reals{0, 0, 0, 1});
  CHECK(given(ml("Imputer", {reals_attr("imputed_value_floats", Floats{7, 8}), attr("replaced_value_float", 4.0F)}), {2, 2}, x) ==
        Reals{1, -2, 3, 8});
  CHECK(given(ml("Imputer", {reals_attr("imputed_value_floats", Floats{7}), attr("replaced_value_float", std::nanf(""))}), {2, 2}, x) == x);
  CHECK(given(ml("FeatureVectorizer", {attr("inputdimensions", Ints{2})}), {2, 2}, x) == x);
  CHECK(given(ml("OneHotEncoder", {attr("cats_int64s", Ints{1, 3})}), {1, 2}, {3.5, 2}) == Reals{0, 1, 0, 0});
  CHECK(given(ml("LabelEncoder",
                 {reals_attr("keys_floats", Floats{1, 3}), reals_attr("values_floats", Floats{5, -6}), attr("default_float", 2.0F)}),
              {2, 2}, x) == Reals{5, 2, -6, 2});
  CHECK(given(ml("ZipMap", {attr("classlabels_int64s", Ints{0, 1})}), {2, 2}, x) == x);
  CHECK(refusal(ml("OneHotEncoder", {texts_attr("cats_strings", Texts{"a"})})).starts_with("onnx.attribute"));
  CHECK(refusal(ml("LabelEncoder", {reals_attr("keys_floats", Floats{1, 1}), reals_attr("values_floats", Floats{5, 6})}))
            .starts_with("onnx.attribute: distinct"));
  CHECK(refusal(ml("Scaler", {reals_attr("scale", Floats{1, 2, 3})})).find("for each of 2 columns: 3") != std::string::npos);
}

// A number that a double does not hold, or that programs read otherwise, is refused: nothing is rounded silently.
TEST_CASE("refused: encodings that programs or doubles change", "[onnx][ml][reject]") {
  const auto encoder = [](float value, float otherwise) {
    return ml("LabelEncoder",
              {reals_attr("keys_floats", Floats{1, 3}), reals_attr("values_floats", Floats{value, 3}), attr("default_float", otherwise)});
  };
  CHECK(given(encoder(0.1F, 1), {1, 2}, {1, 2}) == Reals{static_cast<double>(0.1F), 1});
  CHECK(given(encoder(1e-30F, 1), {1, 2}, {1, 2}) == Reals{static_cast<double>(1e-30F), 1});
  const auto of_integers = [](const Ints& values, std::int64_t otherwise) {
    return ml("LabelEncoder", {reals_attr("keys_floats", Floats{1, 3}), attr("values_int64s", values), attr("default_int64", otherwise)});
  };
  const std::int64_t large = (std::int64_t{1} << 53) + 1;
  CHECK(given(of_integers({large - 1, 5}, 0), {1, 2}, {1, 3}) == Reals{0x1p53, 5});
  CHECK(refusal(of_integers({large, 5}, 0)).find("up to 2^53") != std::string::npos);
  CHECK(refusal(of_integers({6, 5}, large)).find("up to 2^53") != std::string::npos);
  CHECK(refusal(ml("OneHotEncoder", {attr("cats_int64s", Ints{1, large})})).find("up to 2^53") != std::string::npos);
  CHECK(refusal(ml("OneHotEncoder", {attr("cats_int64s", Ints{1, 2, 1})})).find("distinct") != std::string::npos);
  const Folder folder;
  const std::string imputer = ml("Imputer", {reals_attr("imputed_value_floats", Floats{7, 8})});
  CHECK_FALSE(import_ml(folder, imputer, {2, 2, 2}));
  const auto normal = import_ml(folder, ml("Normalizer", {}), {2});
  REQUIRE(normal.ok());
  CHECK(normal.value().graph.node(normal.value().graph.outputs[0]).shape == Shape{2});
  const std::string coefficients = reals_attr("coefficients", Floats{1, 2, 3, 4});
  CHECK(refusal(ml("LinearRegressor", {coefficients, reals_attr("intercepts", Floats{1}), attr("targets", 2)}))
            .find("an offset for each of 2 scores: 1") != std::string::npos);
  std::vector<std::string> weighs_split = tree("BRANCH_LEQ", "class_", {0, 0, 0, 0}, {0.25F, 0.5F, 0.75F, -1});
  weighs_split[7] = attr("class_treeids", Ints{0, 0, 0, 0});
  weighs_split[8] = attr("class_nodeids", Ints{2, 3, 4, 0});
  CHECK(refusal(ml("TreeEnsembleClassifier", with(weighs_split, {attr("classlabels_int64s", Ints{4, 9})}), {"label", "y"}))
            .find("two classes") != std::string::npos);
}

TEST_CASE("linear models and support vector machines", "[onnx][ml]") {
  const std::string two = attr("classlabels_ints", Ints{4, 9}), coefficients = reals_attr("coefficients", Floats{1, 2});
  CHECK(given(ml("LinearRegressor", {coefficients, reals_attr("intercepts", Floats{0.5F})}), {2, 2}, {1, 1, 3, -1}) == Reals{3.5, 1.5});
  const std::string binary = ml("LinearClassifier", {coefficients, reals_attr("intercepts", Floats{-1}), two}, {"label", "y"});
  CHECK(given(binary, {2, 2}, {1, 1, 0, 0}) == Reals{-1, 2, 2, -1});
  CHECK(given(binary, {2, 2}, {1, 1, 0, 0}, "label") == Reals{9, 4});
  const std::string three = ml("LinearClassifier",
                               {reals_attr("coefficients", Floats{1, 0, 0, 1, 1, 1}), reals_attr("intercepts", Floats{0, 0, -1}),
                                attr("classlabels_ints", Ints{7, 8, 9})},
                               {"label", "y"});
  CHECK(given(three, {1, 2}, {1, 2}) == Reals{1, 2, 2});
  CHECK(given(three, {1, 2}, {1, 2}, "label") == Reals{8});
  const std::vector<std::string> vectors{coefficients, reals_attr("support_vectors", Floats{1, 0, 0, 1}), attr("n_supports", 2),
                                         reals_attr("rho", Floats{1})};
  CHECK(given(ml("SVMRegressor", with(vectors, {attr("kernel_type", "LINEAR")})), {1, 2}, {3, 5}) == Reals{1 * 3 + 2 * 5 + 1});
  CHECK(given(ml("SVMRegressor", with(vectors, {attr("kernel_type", "POLY"), reals_attr("kernel_params", Floats{2, 1, 2})})), {1, 2},
              {3, 5}) == Reals{1 * 49 + 2 * 121 + 1});
  const Reals near = given(ml("SVMRegressor", with(vectors, {attr("kernel_type", "RBF"), reals_attr("kernel_params", Floats{0.5F, 0, 0})})),
                           {1, 2}, {1, 0});
  CHECK(std::fabs(near[0] - (1 + 2 * std::exp(-1.0) + 1)) < 1e-12);
  const std::vector<std::string> pairs{reals_attr("coefficients", Floats{1, -1}), reals_attr("support_vectors", Floats{1, 0, 0, 1}),
                                       attr("vectors_per_class", Ints{1, 1}), reals_attr("rho", Floats{0.25F}), two};
  CHECK(given(ml("SVMClassifier", pairs, {"label", "y"}), {1, 2}, {3, 1}) == Reals{-2.25, 2.25});
  CHECK(refusal(ml("SVMClassifier", pairs, {"label", "y"}), "label").starts_with("onnx.output"));
  CHECK(refusal(ml("SVMClassifier", with(pairs, {reals_attr("prob_a", Floats{1}), reals_attr("prob_b", Floats{1})}), {"label", "y"}))
            .find("iteration") != std::string::npos);
}

TEST_CASE("each comparison of a tree chooses its leaf", "[onnx][ml]") {
  const Reals x{1, 1, 1, 2, 1, 3, 1.5, 2};  // x1 below, at and above the threshold; x0 above its own
  const std::vector<std::pair<std::string, Reals>> cases = {{"BRANCH_LEQ", {10, 10, 20, 30}}, {"BRANCH_LT", {10, 20, 20, 30}},
                                                            {"BRANCH_GTE", {20, 10, 10, 30}}, {"BRANCH_GT", {20, 20, 10, 30}},
                                                            {"BRANCH_EQ", {20, 10, 20, 30}},  {"BRANCH_NEQ", {10, 20, 10, 30}}};
  for (const auto& [mode, y] : cases) {
    INFO(mode);
    CHECK(given(ml("TreeEnsembleRegressor", tree(mode, "target_")), {4, 2}, x) == y);
  }
  const std::vector<std::string> one = tree("BRANCH_LEQ", "target_");
  CHECK(given(ml("TreeEnsembleRegressor", with(one, {reals_attr("base_values", Floats{0.5F})})), {4, 2}, x) ==
        Reals{10.5, 10.5, 20.5, 30.5});
  CHECK(given(ml("TreeEnsembleRegressor", with(tree("BRANCH_LEQ", "target_", {0, 1, 0}), {attr("n_targets", 2)})), {4, 2}, x) ==
        Reals{10, 0, 10, 0, 0, 20, 30, 0});
}

TEST_CASE("classes get scores and labels from trees", "[onnx][ml]") {
  const std::string two = attr("classlabels_int64s", Ints{4, 9});
  const std::string positive =
      ml("TreeEnsembleClassifier", with(tree("BRANCH_LEQ", "class_", {0, 0, 0}, {0.25F, 0.5F, 0.75F}), {two}), {"label", "y"});
  const Reals x{1, 1, 1, 3, 2, 2};
  CHECK(given(positive, {3, 2}, x) == Reals{0.75, 0.25, 0.5, 0.5, 0.25, 0.75});
  CHECK(given(positive, {3, 2}, x, "label") == Reals{4, 4, 9});
  const std::vector<std::string> mixed = with(tree("BRANCH_LEQ", "class_", {0, 0, 0}, {-1, 0, 1}), {two});
  const Reals scores = given(ml("TreeEnsembleClassifier", with(mixed, {attr("post_transform", "LOGISTIC")}), {"label", "y"}), {3, 2}, x);
  CHECK(std::fabs(scores[1] - 1 / (1 + std::exp(1.0))) < 1e-15);
  CHECK(scores[2] == 0.5);
  CHECK(refusal(ml("TreeEnsembleClassifier", mixed, {"label", "y"})).find("LOGISTIC of one score") != std::string::npos);
  // Of three classes, the second and third have no weight at some leaf, so the label is no result.
  const std::string three = ml("TreeEnsembleClassifier",
                               with(tree("BRANCH_LEQ", "class_", {0, 1, 2}), {attr("classlabels_int64s", Ints{5, 6, 7})}), {"label", "y"});
  CHECK(given(three, {1, 2}, {1, 3}) == Reals{0, 20, 0});
  CHECK(refusal(three, "label").starts_with("onnx.output"));
}

TEST_CASE("TreeEnsemble of version 5, and its aggregates", "[onnx][ml]") {
  const auto ensemble = [](std::int64_t aggregate, const Ints& yes = {0, 2},
                           const Ints& yes_leaf = {1, 1}) {  // x0 <= 1 ? 10 : 20, and x1 > 2 ? 1 : 2
    return ml("TreeEnsemble",
              {attr("tree_roots", Ints{0, 1}), attr("nodes_featureids", Ints{0, 1}), tensor_attr("nodes_splits", floats("s", {2}, {1, 2})),
               tensor_attr("nodes_modes", tensor("m", 2, {2}, std::string("\0\3", 2))), attr("nodes_truenodeids", yes),
               attr("nodes_trueleafs", yes_leaf), attr("nodes_falsenodeids", Ints{1, 3}), attr("nodes_falseleafs", Ints{1, 1}),
               attr("leaf_targetids", Ints{0, 0, 0, 0}), tensor_attr("leaf_weights", floats("w", {4}, {10, 20, 1, 2})),
               attr("aggregate_function", aggregate)});
  };
  const Reals x{1, 3, 2, 2};
  CHECK(given(ensemble(0), {2, 2}, x, "y", 5) == Reals{5.5, 11});
  CHECK(given(ensemble(1), {2, 2}, x, "y", 5) == Reals{11, 22});
  CHECK(given(ensemble(2), {2, 2}, x, "y", 5) == Reals{1, 2});
  CHECK(given(ensemble(3), {2, 2}, x, "y", 5) == Reals{10, 20});
  CHECK(given(ensemble(1, {1, 2}), {2, 2}, x, "y", 5) == Reals{21, 22});                        // one leaf on both sides
  CHECK(refusal(ensemble(3, {0, 2}, {0, 1}), "y", 5).find("one parent") != std::string::npos);  // a split that is its own child
  CHECK(refusal(ensemble(1)).starts_with("onnx.version: TreeEnsemble of opset 5 to 5"));
}

TEST_CASE("refused: nodes that are no trees", "[onnx][ml][reject]") {
  const auto regressor = [](const Ints& yes, const Ints& no, const Floats& thresholds = {1, 2, 0}) {
    return ml("TreeEnsembleRegressor",
              {attr("nodes_treeids", Ints{0, 0, 0}), attr("nodes_nodeids", Ints{0, 1, 2}), attr("nodes_featureids", Ints{0, 1, 0}),
               texts_attr("nodes_modes", Texts{"BRANCH_LEQ", "BRANCH_LEQ", "LEAF"}), reals_attr("nodes_values", thresholds),
               attr("nodes_truenodeids", yes), attr("nodes_falsenodeids", no), attr("target_treeids", Ints{0}),
               attr("target_nodeids", Ints{2}), attr("target_ids", Ints{0}), reals_attr("target_weights", Floats{1})});
  };
  CHECK(refusal(regressor({1, 2, 0}, {2, 2, 0})).find("one parent") != std::string::npos);          // a leaf with two parents
  CHECK(refusal(regressor({1, 0, 0}, {2, 2, 0})).starts_with("onnx.attribute: trees"));             // a cycle
  CHECK(refusal(regressor({1, 5, 0}, {2, 2, 0})).find("node 5") != std::string::npos);              // a child that is none
  CHECK(refusal(regressor({1, 2, 0}, {2, 2, 0}, {1, 2})).find("one length") != std::string::npos);  // a threshold missing
  std::vector<std::string> attributes = tree("BRANCH_LEQ", "target_");
  attributes[4] = reals_attr("nodes_values", Floats{1, NAN, 0, 0, 0});
  CHECK(refusal(ml("TreeEnsembleRegressor", attributes)).find(": NaN") != std::string::npos);
}

TEST_CASE("a comparison with an infinite threshold chooses the same child always", "[onnx][ml]") {
  std::vector<std::string> attributes = tree("BRANCH_LEQ", "target_");
  attributes[4] = reals_attr("nodes_values", Floats{1, INFINITY, 0, 0, 0});
  CHECK(given(ml("TreeEnsembleRegressor", attributes), {2, 2}, {1, 1e30, 2, 0}) == Reals{10, 30});
  attributes[4] = reals_attr("nodes_values", Floats{-INFINITY, 2, 0, 0, 0});
  CHECK(given(ml("TreeEnsembleRegressor", attributes), {2, 2}, {-1e30, 0, 2, 0}) == Reals{30, 30});
}

}  // namespace assay::onnx_test
