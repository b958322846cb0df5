// The importer on files of others: benchmark networks, and the operator tests that ONNX publishes.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <iostream>
#include <limits>
#include <map>
#include <set>
#include <sstream>

#include "frontends/files.h"
#include "frontends/onnx/import.h"
#include "frontends/onnx/proto.h"
#include "frontends/onnx/tensor.h"
#include "semantics/ops/denote.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"
#include "tests/frontends/test_data.h"

namespace {

namespace fs = std::filesystem;
using namespace assay;
using namespace assay::onnx_test;

std::string slurp(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

onnx::Bytes bytes_of(const std::string& text) { return std::as_bytes(std::span<const char>(text)); }

// A serialised TensorProto.
Tensor read_proto(const std::string& bytes) {
  const std::string model = Wire().bytes(7, Wire().bytes(5, bytes).text).text;
  onnx::ExternalData none("");
  return onnx::read_tensor(onnx::decode_model(bytes_of(model)).graph->initializers.front(), none);
}

// The model with these tensors (serialised, without names) as initializers of the named inputs.
std::string with_initializers(const std::string& model, const std::vector<std::pair<std::string, std::string>>& tensors) {
  onnx::Message message({bytes_of(model), 0}, "model");
  std::string head = model, graph;
  for (onnx::Field field; message.next(field);) {
    if (field.number != 7) continue;
    graph = message.single_string(field);
    const std::size_t start = field.offset, end = field.payload.offset + field.payload.bytes.size();
    head = model.substr(0, start) + model.substr(end);
  }
  for (const auto& [name, tensor] : tensors) {
    // A name inside the stored tensor is dropped: it would be a second one.
    onnx::Message proto({bytes_of(tensor), 0}, "tensor");
    std::string kept;
    std::size_t start = 0;
    for (onnx::Field field; proto.next(field);) {
      const std::size_t end = field.type == onnx::WireType::bytes ? field.payload.offset + field.payload.bytes.size() : 0;
      if (field.number != 8) continue;
      kept = tensor.substr(0, field.offset);
      start = end;
    }
    graph += Wire().bytes(5, Wire().bytes(8, name).text + kept + tensor.substr(start)).text;
  }
  return head + Wire().bytes(7, graph).text;
}

// ONNX's published operator tests carry outputs of a float32 reference; ours are in double.
constexpr double kRelative = 2e-4;  // of the largest output magnitude; some are typed in with four decimals
constexpr double kAbsolute = 2e-6;

double worst_difference(const std::vector<double>& ours, const Tensor& theirs) {
  if (ours.size() != theirs.size()) return std::numeric_limits<double>::infinity();
  double scale = 0, worst = 0;
  for (std::size_t i = 0; i < ours.size(); ++i) scale = std::max(scale, std::abs(theirs.as_double(i)));
  for (std::size_t i = 0; i < ours.size(); ++i) {
    const double difference = std::abs(ours[i] - theirs.as_double(i));
    const bool both_nan = std::isnan(ours[i]) && std::isnan(theirs.as_double(i));
    if (!both_nan && !(difference <= kRelative * scale + kAbsolute))
      worst = std::isnan(difference) ? std::numeric_limits<double>::infinity() : std::max(worst, difference);
  }
  return worst;
}

struct NodeCase {
  std::string model;
  std::vector<std::pair<std::string, std::string>> inputs;  // name and TensorProto
  std::vector<std::string> outputs;
};

std::optional<NodeCase> load_case(const fs::path& folder) {
  NodeCase loaded{slurp(folder / "model.onnx"), {}, {}};
  const onnx::ModelProto proto = onnx::decode_model(bytes_of(loaded.model));
  for (std::size_t i = 0; i < proto.graph->inputs.size(); ++i) {
    const fs::path file = folder / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb");
    if (!fs::exists(file)) return std::nullopt;
    loaded.inputs.emplace_back(proto.graph->inputs[i].name, slurp(file));
  }
  for (std::size_t i = 0; fs::exists(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb")); ++i) {
    loaded.outputs.push_back(slurp(folder / "test_data_set_0" / ("output_" + std::to_string(i) + ".pb")));
  }
  return loaded;
}

// Imports with the first `free` float inputs as inputs and all others as constants.
Outcome<onnx::Model> import_case(const NodeCase& one, const Folder& folder, std::size_t free) {
  std::vector<std::pair<std::string, std::string>> bound;
  std::size_t floats = 0;
  for (const auto& [name, tensor] : one.inputs) {
    const onnx::ModelProto shell = onnx::decode_model(bytes_of(Wire().bytes(7, Wire().bytes(5, tensor).text).text));
    const std::int64_t type = shell.graph->initializers.front().element_type;
    const bool stays = (type == onnx::kFloat || type == onnx::kDouble) && floats++ < free;
    if (!stays) bound.emplace_back(name, tensor);
  }
  return onnx::import_model(folder.write("model.onnx", with_initializers(one.model, bound)));
}

}  // namespace

TEST_CASE("published operator tests: what is imported computes the published outputs", "[onnx][data]") {
  const auto data = test_data::folder();
  if (!data || !fs::is_directory(*data / "onnx-node" / "node")) {
    WARN("skipped: no onnx-node data");
    return;
  }
  const Folder folder;
  std::map<std::string, int> refused;
  std::set<std::string> operators;
  std::vector<fs::path> cases;
  for (const auto& entry : fs::directory_iterator(*data / "onnx-node" / "node")) cases.push_back(entry.path());
  std::sort(cases.begin(), cases.end());
  int agreed = 0;
  for (const fs::path& path : cases) {
    std::optional<NodeCase> one;
    try {
      one = load_case(path);
    } catch (...) {  // files of types that this reader does not decode
    }
    if (!one || one->outputs.empty()) continue;
    Outcome<onnx::Model> model = import_case(*one, folder, one->inputs.size());
    if (!model && (model.rejection().code == "onnx.not_constant" || model.rejection().code == "onnx.input"))
      model = import_case(*one, folder, 1);
    if (!model) {
      ++refused[model.rejection().code];
      // Valid files are unsupported at worst; but an input extent 0 on axis 0 is read as an unknown batch.
      INFO(path.filename().string() << ": " << model.rejection().to_text());
      CHECK((model.rejection().kind == Rejection::Kind::unsupported || path.filename().string().find("zero") != std::string::npos));
      continue;
    }
    std::vector<Array<double>> inputs;
    const Graph& graph = model.value().graph;
    for (const std::string& name : graph.input_names) {
      for (const auto& [input, tensor] : one->inputs) {
        if (input != name) continue;
        const Tensor value = read_proto(tensor);
        inputs.push_back({value.shape(), value.to_doubles()});
      }
    }
    REQUIRE(inputs.size() == graph.inputs.size());
    const auto values = evaluate<double>(graph, inputs);
    INFO(path.filename().string() << (values ? "" : values.rejection().to_text()));
    CHECK(values.ok());
    if (!values) continue;
    REQUIRE(graph.outputs.size() <= one->outputs.size());
    for (std::size_t i = 0; i < graph.outputs.size(); ++i) {
      const Tensor expected = read_proto(one->outputs[i]);
      CHECK(values.value()[graph.outputs[i]].shape == expected.shape());
      CHECK(worst_difference(values.value()[graph.outputs[i]].values, expected) == 0);
    }
    ++agreed;
  }
  std::cout << "onnx-node: " << agreed << " imported and evaluated; refused:";
  for (const auto& [code, count] : refused) std::cout << " " << code << " " << count;
  std::cout << "\n";
  CHECK(agreed >= 100);
}

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
