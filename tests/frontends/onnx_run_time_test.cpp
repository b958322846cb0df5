// Places and counts that the network computes: Slice and Range with run-time starts, RoiAlign, NonZero of constants.
#include <cmath>

#include "frontends/onnx/format/proto.h"
#include "tests/frontends/onnx_rows.h"

using namespace assay;
using namespace assay::onnx_test;

namespace {

// Inputs x (float) and s (of element type `type`), output y.
struct Placed {
  std::vector<std::string> nodes, constants;
  Ints x = {1, 6}, s = {1};
  std::int64_t type = onnx::kInt64, opset = 13;
};

Outcome<onnx::Model> import_placed(const Placed& one) {
  static const Folder folder;
  ModelText text;
  text.opset = one.opset;
  text.nodes = one.nodes;
  text.initializers = one.constants;
  text.inputs = {value("x", dims_of(one.x)), value("s", dims_of(one.s), one.type)};
  text.outputs = {untyped("y")};
  return onnx::import_model(folder.write("m.onnx", text.bytes()));
}

std::string code_of(const Placed& one) {
  const Outcome<onnx::Model> model = import_placed(one);
  return model ? "accepted" : model.rejection().code;
}

// The exact output at x = 0, 1, 2, ... and s; empty where the network has no value.
Reals run(const Placed& one, const Reals& s) {
  const Outcome<onnx::Model> model = import_placed(one);
  INFO((model ? "" : model.rejection().to_text()));
  REQUIRE(model.ok());
  const Graph& graph = model.value().graph;
  Array<double> x{one.x, Reals(element_count(one.x))};
  for (std::size_t i = 0; i < x.values.size(); ++i) x.values[i] = static_cast<double>(i);
  std::vector<Array<double>> inputs;  // a graph may have dropped an input that it does not read: it keeps all of them
  for (const std::string& name : graph.input_names) inputs.push_back(name == "x" ? x : Array<double>{one.s, s});
  const auto values = evaluate<double>(graph, inputs);
  if (values) return values.value()[graph.outputs[0]].values;
  CHECK(values.rejection().code == "take.domain");
  return {};
}

const std::string kAxes = ints("axes", {1}), kThree = ints("three", {3});

Placed window(std::vector<std::string> before, const std::string& start, const std::string& end, std::vector<std::string> constants = {}) {
  before.push_back(node("Slice", {"x", start, end, "axes"}, {"y"}));
  constants.insert(constants.end(), {kAxes, kThree});
  return {std::move(before), std::move(constants)};
}

}  // namespace

TEST_CASE("a slice whose start is an input and whose extent is constant", "[onnx][runtime]") {
  const Placed plain = window({node("Add", {"s", "three"}, {"e"})}, "s", "e");
  CHECK(run(plain, {0}) == Reals{0, 1, 2});
  CHECK(run(plain, {3}) == Reals{3, 4, 5});
  for (const double outside : {-1.0, -3.0, -7.0, -6.0, 4.0, 6.0, 1e9}) CHECK(run(plain, {outside}).empty());  // ONNX: a shorter result
  Placed narrow = window({node("Cast", {"s"}, {"w"}, {attr("to", 7)}), node("Add", {"three", "w"}, {"e"})}, "w", "e");
  narrow.type = onnx::kInt32;
  CHECK(run(narrow, {2}) == Reals{2, 3, 4});
  // A float input, cast twice; the end reaches the start by way of Unsqueeze, Concat and Sub.
  Placed real = window(
      {node("Cast", {"s"}, {"a"}, {attr("to", 7)}), node("Cast", {"s"}, {"b"}, {attr("to", 7)}), node("Unsqueeze", {"b", "zero"}, {"u"}),
       node("Sub", {"u", "minus"}, {"t"}), node("Concat", {"t"}, {"e"}, {attr("axis", 0)}), node("Reshape", {"a", "one"}, {"from"})},
      "from", "e", {ints("zero", {0}), ints("minus", {-3}), ints("one", {1})});
  real.type = onnx::kFloat;
  real.s = {};
  CHECK(run(real, {2.75}) == Reals{2, 3, 4});
  CHECK(run(real, {-0.5}) == Reals{0, 1, 2});
}

TEST_CASE("a slice in steps and along several axes", "[onnx][runtime]") {
  Placed steps{{node("Add", {"s", "five"}, {"e"}), node("Slice", {"x", "s", "e", "axes", "two"}, {"y"})},
               {kAxes, ints("five", {5}), ints("two", {2})}};
  CHECK(run(steps, {1}) == Reals{1, 3, 5});
  CHECK(run(steps, {2}).empty());
  Placed back{{node("Sub", {"s", "two"}, {"e"}), node("Slice", {"x", "s", "e", "axes", "minus"}, {"y"})},
              {kAxes, ints("two", {2}), ints("minus", {-1})}};
  CHECK(run(back, {5}) == Reals{5, 4});
  CHECK(run(back, {2}) == Reals{2, 1});
  for (const double outside : {-1.0, 0.0, 1.0, 6.0}) CHECK(run(back, {outside}).empty());
  Placed patch{{node("Add", {"s", "extents"}, {"e"}), node("Slice", {"x", "s", "e", "plane"}, {"y"})},
               {ints("extents", {2, 3}), ints("plane", {1, 2})}};
  patch.x = {1, 3, 4};
  patch.s = {2};
  CHECK(run(patch, {1, 0}) == Reals{4, 5, 6, 8, 9, 10});
  CHECK(run(patch, {0, 1}) == Reals{1, 2, 3, 5, 6, 7});
  CHECK(run(patch, {2, 0}).empty());
  Placed mixed{{node("Concat", {"zero", "s"}, {"from"}, {attr("axis", 0)}), node("Add", {"s", "two"}, {"t"}),
                node("Concat", {"one", "t"}, {"to"}, {attr("axis", 0)}), node("Slice", {"x", "from", "to"}, {"y"})},
               {ints("zero", {0}), ints("one", {1}), ints("two", {2})}};
  mixed.x = {2, 3};
  CHECK(run(mixed, {1}) == Reals{1, 2});
}

TEST_CASE("a slice whose extent depends on an input is refused with what would help", "[onnx][runtime][reject]") {
  CHECK(code_of(window({}, "s", "three")) == "onnx.not_constant");
  CHECK(code_of(window({}, "three", "s")) == "onnx.not_constant");
  CHECK(code_of(window({node("Mul", {"s", "three"}, {"e"})}, "s", "e")) == "onnx.not_constant");
  CHECK(code_of(window({node("Add", {"s", "seven"}, {"e"})}, "s", "e", {ints("seven", {7})})) == "onnx.shape");
  CHECK(code_of(window({node("Sub", {"s", "three"}, {"e"})}, "s", "e")) == "onnx.shape");
  CHECK(code_of(window({}, "s", "s")) == "onnx.shape");
  const auto refused = import_placed(window({}, "s", "three"));
  REQUIRE_FALSE(refused.ok());
  CHECK(refused.rejection().advice.find("start + extent") != std::string::npos);
}

TEST_CASE("ranges whose count is known", "[onnx][runtime]") {
  Placed moved{{node("Add", {"s", "six"}, {"e"}), node("Range", {"s", "e", "two"}, {"y"})}, {ints("six", {}, {6}), ints("two", {}, {2})}};
  moved.s = {};
  CHECK(run(moved, {-4}) == Reals{-4, -2, 0});
  Placed picked{
      {node("Add", {"s", "two"}, {"e"}), node("Range", {"s", "e", "one"}, {"r"}), node("Gather", {"x", "r"}, {"y"}, {attr("axis", 1)})},
      {ints("two", {}, {2}), ints("one", {}, {1})}};
  picked.s = {};
  CHECK(run(picked, {3}) == Reals{3, 4});
  Placed open{{node("Range", {"zero", "s", "one"}, {"y"})}, {ints("zero", {}, {0}), ints("one", {}, {1})}};
  open.s = {};
  CHECK(code_of(open) == "onnx.not_constant");
  open.constants[0] = floats("zero", {}, {0});
  open.nodes = {node("Range", {"s", "zero", "one"}, {"y"})};
  CHECK(code_of(open) == "onnx.operand");
  // Floats: ceil((limit - start) / delta) in exact numbers, of constants and of arithmetic that rounds nowhere.
  const auto floats_of = [](std::vector<std::string> before, std::vector<float> values) {
    before.push_back(node("Range", {"a", "b", "d"}, {"r"}));
    before.push_back(node("Add", {"r", "x"}, {"y"}));
    Placed one{std::move(before), {floats("a", {}, {values[0]}), floats("c", {}, {values[1]}), floats("d", {}, {values[2]})}};
    one.x = {1};
    return one;
  };
  CHECK(run(floats_of({node("Identity", {"c"}, {"b"})}, {1, 2, 0.25F}), {0}) == Reals{1, 1.25, 1.5, 1.75});
  CHECK(run(floats_of({node("Mul", {"c", "c"}, {"b"})}, {0, 1.5F, 1}), {0}) == Reals{0, 1, 2});
  CHECK(run(floats_of({node("Div", {"c", "d"}, {"q"}), node("Floor", {"q"}, {"b"})}, {0, 5, 2}), {0}) == Reals{0});
  CHECK(code_of(floats_of({node("Mul", {"c", "c"}, {"b"})}, {0, 1.1F, 1})) == "onnx.not_constant");  // the product rounds
}

namespace {

struct Region {
  double x1, y1, x2, y2;
  std::int64_t image;
};

// One output element as the standard's loops give it.
double aligned(const Reals& x, const Ints& shape, const Region& r, std::int64_t channel, std::int64_t row, std::int64_t column,
               const Ints& pieces, std::int64_t ratio, double scale, bool half_pixel) {
  const double offset = half_pixel ? 0.5 : 0;
  const double first[] = {r.y1 * scale - offset, r.x1 * scale - offset};
  double size[] = {r.y2 * scale - offset - first[0], r.x2 * scale - offset - first[1]};
  if (!half_pixel) {
    for (double& one : size) one = std::max(one, 1.0);
  }
  const auto extent = [&](int axis) { return static_cast<double>(shape[axis + 2]); };
  double sum = 0;
  for (std::int64_t i = 0; i < ratio; ++i) {
    for (std::int64_t j = 0; j < ratio; ++j) {
      double at[] = {first[0] + size[0] / static_cast<double>(pieces[0]) *
                                    (static_cast<double>(row) + (static_cast<double>(i) + 0.5) / static_cast<double>(ratio)),
                     first[1] + size[1] / static_cast<double>(pieces[1]) *
                                    (static_cast<double>(column) + (static_cast<double>(j) + 0.5) / static_cast<double>(ratio))};
      if (at[0] < -1 || at[0] > extent(0) || at[1] < -1 || at[1] > extent(1)) continue;
      double value = 0;
      std::int64_t low[2], high[2];
      for (int axis = 0; axis < 2; ++axis) {
        at[axis] = std::max(at[axis], 0.0);
        low[axis] = static_cast<std::int64_t>(at[axis]);
        high[axis] = low[axis] + 1;
        if (low[axis] >= shape[axis + 2] - 1) {
          low[axis] = high[axis] = shape[axis + 2] - 1;
          at[axis] = static_cast<double>(low[axis]);
        }
      }
      for (const bool down : {false, true}) {
        for (const bool right : {false, true}) {
          const double p = at[0] - static_cast<double>(low[0]), q = at[1] - static_cast<double>(low[1]);
          const std::int64_t h = down ? high[0] : low[0], w = right ? high[1] : low[1];
          value += (down ? p : 1 - p) * (right ? q : 1 - q) *
                   x[static_cast<std::size_t>(((r.image * shape[1] + channel) * shape[2] + h) * shape[3] + w)];
        }
      }
      sum += value;
    }
  }
  return sum / static_cast<double>(ratio * ratio);
}

}  // namespace

TEST_CASE("RoiAlign averages bilinear samples, of constant regions and of an input's", "[onnx][runtime]") {
  const std::vector<Region> regions = {{0.5, 0.25, 3.5, 2.75, 0}, {-4, -3, 9, 8, 1}, {2, 1, 2.25, 1.125, 1}, {3, 3, 1, 0, 0}};
  const Ints shape = {2, 2, 4, 5}, pieces = {3, 2};
  Reals corners, x(element_count(shape));
  std::vector<float> stored;
  std::vector<std::int64_t> images;
  for (const Region& r : regions) {
    for (const double one : {r.x1, r.y1, r.x2, r.y2}) {
      corners.push_back(one);
      stored.push_back(static_cast<float>(one));
    }
    images.push_back(r.image);
  }
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<double>(i);
  for (const bool half_pixel : {false, true}) {
    for (const bool constant : {false, true}) {
      CAPTURE(half_pixel, constant);
      std::vector<std::string> attributes = {attr("output_height", 3), attr("output_width", 2), attr("sampling_ratio", 2),
                                             attr("spatial_scale", 0.75F)};
      if (!half_pixel) attributes.push_back(attr("coordinate_transformation_mode", "output_half_pixel"));
      Placed one{{node("Add", {"s", "null"}, {"r"}), node("RoiAlign", {"x", constant ? "regions" : "r", "images"}, {"y"}, attributes)},
                 {floats("null", {}, {0}), floats("regions", {4, 4}, stored), ints("images", images)}};
      one.type = onnx::kFloat;
      one.x = shape;
      one.s = {4, 4};
      one.opset = 16;
      const Reals y = run(one, corners);
      REQUIRE(y.size() == regions.size() * 2 * 3 * 2);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const auto at = static_cast<std::int64_t>(i);
        const double expected = aligned(x, shape, regions[i / 12], at / 6 % 2, at / 2 % 3, at % 2, pieces, 2, 0.75, half_pixel);
        CAPTURE(i);
        CHECK(y[i] == Approx(expected).margin(1e-12));
      }
    }
  }
}

TEST_CASE("RoiAlign: images from an input, and what is refused", "[onnx][runtime]") {
  const auto with = [](std::vector<std::string> attributes) {
    Placed one{{node("RoiAlign", {"x", "regions", "s"}, {"y"}, std::move(attributes))}, {floats("regions", {1, 4}, {0, 0, 2, 1})}};
    one.x = {2, 1, 2, 3};
    one.opset = 10;
    return one;
  };
  // One sample, in the middle (1, 1/2) of the region: the mean of elements 1 and 4.
  CHECK(run(with({attr("sampling_ratio", 1)}), {0}) == Reals{2.5});
  CHECK(run(with({attr("sampling_ratio", 1)}), {1}) == Reals{8.5});
  CHECK(run(with({attr("sampling_ratio", 1)}), {2}).empty());
  CHECK(run(with({attr("sampling_ratio", 1)}), {-1}).empty());
  CHECK(code_of(with({})) == "onnx.attribute");  // as many samples as the region is large
  CHECK(code_of(with({attr("sampling_ratio", 2), attr("mode", "max")})) == "onnx.attribute");
}

TEST_CASE("NonZero of a constant is a constant; of anything else its size is unknown", "[onnx][runtime]") {
  Placed one{{node("NonZero", {"mask"}, {"places"}), node("Transpose", {"places"}, {"t"}), node("GatherND", {"x", "t"}, {"y"})},
             {tensor("mask", 9, {2, 3}, std::string("\0\1\1\0\0\1", 6))}};
  one.x = {2, 3};
  CHECK(run(one, {0}) == Reals{1, 2, 5});
  one.constants = {floats("mask", {2, 3}, {0, -0.0F, 0.5F, 2, 0, 0})};
  CHECK(run(one, {0}) == Reals{2, 3});
  Placed open{{node("NonZero", {"s"}, {"places"}), node("Cast", {"places"}, {"y"}, {attr("to", 1)})}, {}};
  CHECK(code_of(open) == "onnx.not_constant");
  CHECK(import_placed(open).rejection().advice.find("constant") != std::string::npos);
}

TEST_CASE("scatter and GatherND at indices from an input", "[onnx][runtime]") {
  const std::string ten = floats("u", {2, 1}, {10, 20}), twice = floats("u", {2, 3}, {10, 20, 30, 40, 50, 60});
  Placed along{{node("ScatterElements", {"x", "s", "u"}, {"y"}, {attr("axis", 0), attr("reduction", "add")})}, {twice}, {2, 3}, {2, 3}};
  along.opset = 16;
  CHECK(run(along, {0, 1, 0, 1, 1, -2}) == Reals{10, 1, 92, 43, 74, 5});  // two updates of one element; -2 counts from the end
  CHECK(run(along, {0, 1, 0, 1, 2, 0}).empty());
  CHECK(run(along, {0, 1, 0, 1, -3, 0}).empty());
  along.nodes = {node("ScatterElements", {"x", "s", "u"}, {"y"}, {attr("axis", 0), attr("reduction", "max")})};
  along.opset = 18;
  CHECK(run(along, {0, 1, 0, 1, 1, 1}) == Reals{10, 1, 30, 40, 50, 60});
  along.nodes = {node("ScatterElements", {"x", "s", "u"}, {"y"})};
  CHECK(code_of(along) == "onnx.not_constant");  // the order of updates is open
  along.nodes = {node("ScatterElements", {"x", "s", "u"}, {"y"}, {attr("reduction", "mean")})};
  CHECK(code_of(along) == "onnx.attribute");
  Placed one{{node("ScatterElements", {"x", "s", "u"}, {"y"}, {attr("axis", 1)})}, {ten}, {2, 3}, {2, 1}};
  CHECK(run(one, {2, -3}) == Reals{0, 1, 10, 20, 4, 5});
  one.nodes = {node("ScatterElements", {"x", "s", "u"}, {"y"})};  // shorter than the data on another axis
  CHECK(code_of(one) == "onnx.not_constant");

  Placed rows{{node("ScatterND", {"x", "s", "u"}, {"y"}, {attr("reduction", "mul")})}, {twice}, {2, 3}, {2, 1}};
  rows.opset = 16;
  CHECK(run(rows, {1, -1}) == Reals{0, 1, 2, 3 * 10 * 40, 4 * 20 * 50, 5 * 30 * 60});
  CHECK(run(rows, {1, 2}).empty());
  rows.constants = {ten};
  CHECK(code_of(rows) == "onnx.shape");
  Placed single{{node("ScatterND", {"x", "s", "u"}, {"y"})}, {floats("u", {1}, {9})}, {2, 3}, {1, 2}};
  CHECK(run(single, {1, 0}) == Reals{0, 1, 2, 9, 4, 5});
  CHECK(run(single, {0, 3}).empty());  // not the place (1, 0), which follows it in memory
  Placed picked{{node("GatherND", {"x", "s"}, {"y"})}, {}, {2, 3}, {2, 2}};
  CHECK(run(picked, {1, 0, 0, -1}) == Reals{3, 2});
  CHECK(run(picked, {0, 3, 0, 0}).empty());
  picked.nodes = {node("GatherND", {"x", "s"}, {"y"}, {attr("batch_dims", 1)})};
  CHECK(code_of(picked) == "onnx.not_constant");
  Placed large{{node("ScatterND", {"x", "s", "u"}, {"y"}, {attr("reduction", "add")})}, {floats("u", {4096}, std::vector<float>(4096))}};
  large.x = {2048};
  large.s = {4096, 1};
  large.opset = 16;
  CHECK(code_of(large) == "onnx.limit");
}
