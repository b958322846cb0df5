// The competition's own files, where the measuring data is installed.
#include <algorithm>
#include <fstream>
#include <map>
#include <set>

#include "frontends/files.h"
#include "tests/catch.h"
#include "tests/frontends/vnnlib_support.h"

using namespace assay;
using namespace assay::vnnlib_test;
namespace fs = std::filesystem;

namespace {

struct Count {
  std::size_t files = 0, cases = 0, boxes = 0, rows = 0;
  friend bool operator==(const Count&, const Count&) = default;
};

// Counted by a separate program: a regular expression for tokens, nested lists, products of lists, exact fractions.
const std::map<std::string, Count> kExpected = {
    {"acasxu", {9, 25, 10, 41}},
    {"cersyve", {2, 2, 2, 4}},
    {"cgan", {3, 6, 3, 6}},
    {"cifar10_resnet", {16, 144, 16, 144}},
    {"collins_rul_cnn", {13, 26, 13, 26}},
    {"cora_mnist", {8, 72, 8, 72}},
    {"dist_shift", {14, 14, 14, 14}},
    {"linearizenn", {9, 18, 9, 18}},
    {"lsnc", {20, 260, 20, 520}},
    {"malbeware", {12, 288, 12, 288}},
    {"marabou_cifar10", {14, 14, 14, 126}},
    {"metaroom", {3, 57, 3, 57}},
    {"ml4acopf", {14, 125, 14, 125}},
    {"mnist_fc", {30, 270, 30, 270}},
    {"mnist_sigmoid", {16, 144, 16, 144}},
    {"nn4sys", {11, 5609, 2807, 5629}},
    {"oval21", {20, 180, 20, 180}},
    {"reach_prob_density", {24, 24, 24, 120}},
    {"rl_benchmarks", {40, 40, 40, 40}},
    {"safenlp", {80, 80, 80, 80}},
    {"sat_relu", {50, 50, 50, 100}},
    {"test", {4, 4, 4, 7}},
    {"tllverify", {10, 10, 10, 10}},
    {"traffic_signs", {3, 126, 3, 126}},
    {"verivital_cnn", {12, 108, 12, 108}},
    {"vit", {12, 108, 12, 108}},
    {"yolo", {2, 2, 2, 10}},
};

std::vector<fs::path> properties(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    if (name.ends_with(".vnnlib") || name.ends_with(".vnnlib.gz")) {
      found.push_back(entry.path());
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

std::int64_t occurrences(const std::string& text, const std::string& word) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) {
    ++count;
  }
  return count;
}

// The network that a property of version 1.0 declares.
Graph declared_network(const fs::path& path) {
  const Outcome<FileContents> contents = read_file(path.string());
  REQUIRE(contents.ok());
  const std::vector<std::byte>& bytes = contents.value().bytes;
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return network({occurrences(text, "declare-const X_")}, {occurrences(text, "declare-const Y_")});
}

Outcome<vnnlib::PropertyFile> read(const fs::path& path, const Graph& graph) {
  const vnnlib::NetworkShape shape{"", &graph};
  return vnnlib::read_property(path.string(), std::span(&shape, 1));
}

// The folder data/vnn, or empty with a note that the test was skipped.
fs::path vnn_folder() {
  const fs::path folder = data_folder() / "vnn";
  if (!fs::is_directory(folder)) {
    WARN("skipped: set ASSAY_DATA to the folder that holds vnn/");
    return {};
  }
  return folder;
}

}  // namespace

TEST_CASE("vnnlib data: every file of version 1.0 reads, with the counts of a separate program", "[vnnlib][data]") {
  const fs::path folder = vnn_folder();
  if (folder.empty()) {
    return;
  }
  for (const auto& [category, expected] : kExpected) {
    INFO(category);
    Count count;
    for (const fs::path& path : properties(folder / category / "vnnlib")) {
      INFO(path.filename().string());
      const Graph graph = declared_network(path);
      const auto file = read(path, graph);
      INFO((file ? std::string() : file.rejection().to_text()));
      REQUIRE(file.ok());
      std::set<const statement::InputBox*> boxes;
      for (const statement::Case& c : file.value().property.cases) {
        boxes.insert(c.box.get());
        count.rows += c.rows.size();
        REQUIRE(c.box->lo.size() == element_count(graph.node(graph.inputs[0]).shape));
      }
      ++count.files;
      count.cases += file.value().property.cases.size();
      count.boxes += boxes.size();
    }
    CHECK(count == expected);
  }
}

TEST_CASE("vnnlib data: acasxu property 6 is two boxes with four cases each", "[vnnlib][data]") {
  const fs::path folder = vnn_folder();
  if (folder.empty()) {
    return;
  }
  const Graph graph = network({1, 1, 1, 5}, {1, 5});
  const auto file = read(folder / "acasxu" / "vnnlib" / "prop_6.vnnlib", graph);
  REQUIRE(file.ok());
  const std::vector<statement::Case>& cases = file.value().property.cases;
  REQUIRE(cases.size() == 8);
  for (std::size_t i = 0; i < 8; ++i) {
    CHECK(cases[i].box == cases[i / 4 * 4].box);
    CHECK(cases[i].rows.size() == 1);
  }
  CHECK(cases[0].box != cases[4].box);
  CHECK(cases[0].box->lo[1] == *Rational::parse("0.11140846"));
  CHECK(cases[4].box->hi[1] == *Rational::parse("-0.11140846"));
}

TEST_CASE("vnnlib data: the polynomial queries are read, with the products that they multiply out to", "[vnnlib][data]") {
  const fs::path folder = vnn_folder();
  if (folder.empty()) {
    return;
  }
  Graph graph;
  const NodeId x = graph.append_input(DType::float32, {1, 2}, "x");
  SliceAttributes first;
  first.starts = {0, 0};
  first.steps = {1, 1};
  first.extents = {1, 1};
  graph.mark_output(graph.append(Op::slice, {x}, first).value(), "y");
  std::size_t count = 0;
  for (const fs::path& path : properties(folder / "acc_nonlinear_v2" / "vnnlib")) {
    INFO(path.filename().string());
    const auto file = read(path, graph);
    REQUIRE(file.ok());
    REQUIRE(file.value().graph);
    CHECK(file.value().graph->outputs.size() == 3);
    std::size_t products = 0;  // X0 Y, X1 Y, X1^2, Y^2
    for (std::size_t k = 1; k < 3; ++k) products += file.value().graph->size(file.value().graph->outputs[k]);
    CHECK(products == 4);
    ++count;
  }
  CHECK(count == 25);
}

TEST_CASE("vnnlib data: the standard's own queries", "[vnnlib][data]") {
  const fs::path folder = vnn_folder();
  if (folder.empty()) {
    return;
  }
  struct Query {
    const char* name;
    Shape input, output;
    std::size_t cases, rows;  // of all cases
    const char* code;         // of the refusal, or empty
  };
  const Query queries[] = {
      {"acc", {3}, {}, 2, 4, ""},
      {"cartpole", {4}, {2}, 1, 1, ""},
      {"drones", {12}, {}, 2, 2, ""},
      {"dubinsrejoin", {8}, {8}, 1, 6, ""},
      {"lunarlander", {8}, {4}, 1, 1, ""},
      {"single_network", {3}, {4}, 8, 48, ""},
      {"initialized", {5}, {5}, 0, 0, "vnnlib.initialized_input"},
      {"intermediate_nodes", {3}, {3}, 0, 0, "vnnlib.hidden_nodes"},
      {"multiple_networks", {5}, {5}, 0, 0, "vnnlib.multiple_networks"},
      {"mnist", {28, 28}, {10}, 0, 0, "vnnlib.unbounded_input"},
      {"test_linearise", {3}, {}, 0, 0, "vnnlib.unbounded_input"},
  };
  for (const Query& query : queries) {
    INFO(query.name);
    const Graph graph = network(query.input, query.output);
    const auto file = read(folder / "vnnlib2_syntax" / (std::string(query.name) + ".vnnlib"), graph);
    INFO((file ? std::string() : file.rejection().to_text()));
    if (!file.ok()) {
      CHECK(file.rejection().code == query.code);
      CHECK(file.rejection().kind == Rejection::Kind::unsupported);
      continue;
    }
    CHECK(std::string(query.code).empty());
    CHECK(file.value().property.cases.size() == query.cases);
    std::size_t rows = 0;
    for (const statement::Case& c : file.value().property.cases) {
      rows += c.rows.size();
    }
    CHECK(rows == query.rows);
    CHECK(file.value().declared_type == "Real");
  }
}
