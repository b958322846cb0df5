// The importer on files of others: benchmark networks, and models made by onnx_oracle.py.
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <set>
#include <sstream>

#include "frontends/onnx/import.h"
#include "frontends/onnx/lint.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/frontends/test_data.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

}  // namespace

TEST_CASE("benchmark networks import, or say why not", "[onnx][data]") {
  const auto data = test_data::folder();
  if (!data || !fs::is_directory(*data / "vnn")) {
    WARN("skipped: no vnn data");
    return;
  }
  const std::set<std::string> required = {"acasxu",
                                          "mnist_fc",
                                          "safenlp",
                                          "rl_benchmarks",
                                          "cersyve",
                                          "tllverify",
                                          "reach_prob_density",
                                          "dist_shift",
                                          "sat_relu",
                                          "collins_rul_cnn",
                                          "cora_mnist",
                                          "oval21",
                                          "cifar10_resnet",
                                          "marabou_cifar10",
                                          "malbeware",
                                          "metaroom",
                                          "verivital_cnn",
                                          "linearizenn",
                                          "mnist_sigmoid",
                                          "test"};
  std::map<std::string, std::pair<int, std::set<std::string>>> table;  // category: imported, reasons of refusal
  for (const auto& entry : fs::recursive_directory_iterator(*data / "vnn")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".onnx") && !file.ends_with(".onnx.gz")) continue;
    const std::string category = fs::relative(entry.path(), *data / "vnn").begin()->string();
    const Outcome<onnx::Model> model = onnx::import_model(entry.path().string());
    const std::vector<Rejection> problems = onnx::lint(entry.path().string());
    CHECK(model.ok() == problems.empty());
    if (model) {
      ++table[category].first;
      CHECK(validate(model.value().graph).empty());
      continue;
    }
    table[category].second.insert(model.rejection().code + ": " + model.rejection().found);
    INFO(entry.path().string() << ": " << model.rejection().to_text());
    CHECK(model.rejection().kind == Rejection::Kind::unsupported);
    CHECK(!model.rejection().advice.empty());
    CHECK(!required.contains(category));
  }
  for (const auto& [category, row] : table) {
    std::cout << category << ": " << row.first << " imported";
    for (const std::string& reason : row.second) std::cout << "; refused: " << reason;
    std::cout << "\n";
  }
  for (const std::string& category : required) CHECK(table[category].first > 0);
}

// Run by onnx_oracle.py: for every folder of ASSAY_ORACLE with model.onnx and input_<i>.bin (float64, row-major),
// writes output_<i>.bin or refused.txt.
TEST_CASE("evaluates the oracle's cases", "[.oracle]") {
  const char* root = std::getenv("ASSAY_ORACLE");
  REQUIRE(root != nullptr);
  int evaluated = 0;
  for (const auto& entry : fs::directory_iterator(root)) {
    const Outcome<onnx::Model> model = onnx::import_model(fs::canonical(entry.path() / "model.onnx").string());
    if (!model) {
      std::ofstream(entry.path() / "refused.txt") << model.rejection().to_text() << "\n";
      continue;
    }
    const Graph& graph = model.value().graph;
    std::vector<Array<double>> inputs;
    for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
      const std::string bytes = slurp(entry.path() / ("input_" + std::to_string(i) + ".bin"));
      std::vector<double> values(bytes.size() / sizeof(double));
      std::memcpy(values.data(), bytes.data(), values.size() * sizeof(double));
      REQUIRE(values.size() == graph.size(graph.inputs[i]));
      inputs.push_back({graph.node(graph.inputs[i]).shape, values});
    }
    const auto values = evaluate<double>(graph, inputs);
    REQUIRE(values.ok());
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const std::vector<double>& result = values.value()[graph.outputs[i]].values;
      std::ofstream(entry.path() / ("output_" + std::to_string(i) + ".bin"), std::ios::binary)
          .write(reinterpret_cast<const char*>(result.data()), static_cast<std::streamsize>(result.size() * sizeof(double)));
    }
    ++evaluated;
  }
  CHECK(evaluated > 0);
}
