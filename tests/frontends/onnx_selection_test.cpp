// Operators that pick, place, repeat and contract: values checked by hand, and what is refused.
#include "tests/frontends/onnx_rows.h"

using namespace assay;
using namespace assay::onnx_test;

namespace {

const Reals kSix = {1, 2, 3, 4, 5, 6};  // as [2, 3]: 1 2 3 / 4 5 6
const Ints kMatrix = {2, 3};

std::string code_of(const std::string& one, const std::vector<std::string>& constants, std::int64_t opset, const Ints& shape) {
  const Folder folder;
  ModelText text;
  text.opset = opset;
  text.nodes = {one};
  text.initializers = constants;
  text.inputs = {value("x", dims_of(shape))};
  text.outputs = {untyped("y")};
  const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
  return model ? "accepted" : model.rejection().code;
}

std::string texts(const std::string& name, const std::vector<std::string>& values) {
  Wire wire;
  wire.bytes(1, name);
  for (const std::string& one : values) wire.bytes(9, one);
  return wire.number(20, 8).text;
}

}  // namespace

TEST_CASE("repeating, masking and reversing", "[onnx][ops]") {
  check_rows({
      {on("Tile", {"r"}), 13, {ints("r", {2, 1})}, kMatrix, kSix, {4, 3}, {1, 2, 3, 4, 5, 6, 1, 2, 3, 4, 5, 6}},
      {on("Tile", {"r"}), 13, {ints("r", {1, 2})}, {1, 2}, {1, 2}, {1, 4}, {1, 2, 1, 2}},
      {on("Trilu"), 14, {}, kMatrix, kSix, kMatrix, {1, 2, 3, 0, 5, 6}},
      {on("Trilu", {}, {attr("upper", 0)}), 14, {}, kMatrix, kSix, kMatrix, {1, 0, 0, 4, 5, 0}},
      {on("Trilu", {"k"}), 14, {ints("k", {}, {1})}, kMatrix, kSix, kMatrix, {0, 2, 3, 0, 0, 6}},
      {on("ReverseSequence", {"l"}), 10, {ints("l", {2, 1, 0})}, kMatrix, kSix, kMatrix, {4, 2, 3, 1, 5, 6}},
      {on("ReverseSequence", {"l"}, {attr("batch_axis", 0), attr("time_axis", 1)}),
       10,
       {ints("l", {3, 2})},
       kMatrix,
       kSix,
       kMatrix,
       {3, 2, 1, 5, 4, 6}},
      {on("CenterCropPad", {"s"}), 18, {ints("s", {3, 2})}, kMatrix, kSix, {3, 2}, {1, 2, 4, 5, 0, 0}},
      {on("CenterCropPad", {"s"}, {attr("axes", Ints{-1})}), 18, {ints("s", {1})}, kMatrix, kSix, {2, 1}, {2, 5}},
  });
}

TEST_CASE("picking by constant indices", "[onnx][ops]") {
  const std::string odd = tensor("c", 9, {3}, std::string("\1\0\1", 3));
  check_rows({
      {on("Compress", {"c"}, {attr("axis", 1)}), 11, {odd}, kMatrix, kSix, {2, 2}, {1, 3, 4, 6}},
      {on("Compress", {"c"}), 9, {odd}, kMatrix, kSix, {2}, {1, 3}},
      {on("GatherND", {"i"}), 11, {ints("i", {2, 2}, {0, 2, 1, -3})}, kMatrix, kSix, {2}, {3, 4}},
      {on("GatherND", {"i"}), 13, {ints("i", {1, 1}, {1})}, kMatrix, kSix, {1, 3}, {4, 5, 6}},
      {on("GatherND", {"i"}, {attr("batch_dims", 1)}), 12, {ints("i", {2, 1}, {2, 0})}, kMatrix, kSix, {2}, {3, 4}},
      {on("GatherElements", {"i"}, {attr("axis", 1)}), 13, {ints("i", {2, 2}, {2, 0, -1, 1})}, kMatrix, kSix, {2, 2}, {3, 1, 6, 5}},
      {on("GatherElements", {"i"}), 11, {ints("i", {1, 2}, {1, 0})}, kMatrix, kSix, {1, 2}, {4, 2}},
      {on("MaxUnpool", {"i"}, {attr("kernel_shape", Ints{2})}), 9, {ints("i", {1, 1, 2}, {2, 0})}, {1, 1, 2}, {7, 8}, {1, 1, 3}, {8, 0, 7}},
  });
  CHECK(code_of(on("GatherND", {"i"}), {ints("i", {1, 2}, {0, 3})}, 13, kMatrix) == "onnx.index");
  CHECK(code_of(on("GatherND", {"i"}), {ints("i", {1, 3}, {0, 0, 0})}, 13, kMatrix) == "onnx.shape");
  CHECK(code_of(on("GatherElements", {"i"}), {ints("i", {3, 1}, {0, 0, 2})}, 13, kMatrix) == "onnx.index");
  CHECK(code_of(on("GatherElements", {"i"}), {ints("i", {1, 4}, {0, 0, 0, 0})}, 13, kMatrix) == "onnx.shape");
  CHECK(code_of(on("ReverseSequence", {"l"}), {ints("l", {3, 1, 0})}, 10, kMatrix) == "onnx.input");
  CHECK(code_of(on("Tile", {"r"}), {ints("r", {2})}, 13, kMatrix) == "onnx.shape");
}

TEST_CASE("placing by constant indices", "[onnx][ops]") {
  const std::string two = floats("u", {2}, {10, 20}), at = ints("i", {2, 1}, {2, 0});
  const auto scatter = [](const char* how) { return on("ScatterND", {"i", "u"}, {attr("reduction", how)}); };
  const std::string same = ints("i", {2, 1}, {1, 1});
  const Ints three = {3};
  const Reals x = {1, 2, 3};
  check_rows({
      {on("ScatterND", {"i", "u"}), 11, {at, two}, three, x, three, {20, 2, 10}},
      {scatter("add"), 16, {same, two}, three, x, three, {1, 32, 3}},
      {scatter("mul"), 16, {same, two}, three, x, three, {1, 400, 3}},
      {scatter("max"), 18, {same, two}, three, x, three, {1, 20, 3}},
      {scatter("min"), 18, {same, two}, three, x, three, {1, 2, 3}},
      {on("Scatter", {"i", "u"}),
       9,
       {ints("i", {1, 2}, {1, 0}), floats("u", {1, 2}, {10, 20})},
       kMatrix,
       kSix,
       kMatrix,
       {1, 20, 3, 10, 5, 6}},
      {on("ScatterElements", {"i", "u"}, {attr("axis", -1)}),
       13,
       {ints("i", {1, 2}, {2, 0}), floats("u", {1, 2}, {10, 20})},
       kMatrix,
       kSix,
       kMatrix,
       {20, 2, 10, 4, 5, 6}},
  });
  CHECK(code_of(on("ScatterND", {"i", "u"}), {same, two}, 13, three) == "onnx.index");  // the order of the two is open
  CHECK(code_of(scatter("sum"), {same, two}, 16, three) == "onnx.attribute");
  CHECK(code_of(on("ScatterND", {"i", "u"}), {ints("i", {1, 1}, {0}), two}, 13, three) == "onnx.shape");
}

TEST_CASE("contractions by equation", "[onnx][ops]") {
  const std::string w = floats("w", {3, 2}, {1, 0, 2, 1, 0, 3});
  const auto sum = [](const char* equation, const std::vector<std::string>& more = {}) {
    return on("Einsum", more, {attr("equation", equation)});
  };
  check_rows({
      {sum("ij->ji"), 12, {}, kMatrix, kSix, {3, 2}, {1, 4, 2, 5, 3, 6}},
      {sum("ij->"), 12, {}, kMatrix, kSix, {}, {21}},
      {sum("i j -> j"), 12, {}, kMatrix, kSix, {3}, {5, 7, 9}},
      {sum("ii"), 12, {}, {2, 2}, {1, 2, 3, 4}, {}, {5}},
      {sum("ii->i"), 12, {}, {2, 2}, {1, 2, 3, 4}, {2}, {1, 4}},
      {sum("ij,jk->ik", {"w"}), 12, {w}, kMatrix, kSix, {2, 2}, {5, 11, 14, 23}},
      {sum("ij,jk", {"w"}), 12, {w}, kMatrix, kSix, {2, 2}, {5, 11, 14, 23}},
      {sum("ij,jk->ki", {"w"}), 12, {w}, kMatrix, kSix, {2, 2}, {5, 14, 11, 23}},
      {sum("...j,jk->...k", {"w"}), 12, {w}, kMatrix, kSix, {2, 2}, {5, 11, 14, 23}},
      {sum("ij,ji->", {"w"}), 12, {w}, kMatrix, kSix, {}, {28}},
      {sum("ij,ij->ij", {"x"}), 12, {}, kMatrix, kSix, kMatrix, {1, 4, 9, 16, 25, 36}},
      {sum("i,j->ij", {"x"}), 12, {}, {2}, {2, 3}, {2, 2}, {4, 6, 6, 9}},
      {sum("i,i,i->i", {"x", "x"}), 12, {}, {2}, {2, 3}, {2}, {8, 27}},
  });
  for (const char* equation : {"ij->k", "ij->ii", "i", "i.j->i", "ij,k->i", "...ij->ij ", "i1->i"}) {
    INFO(equation);
    const std::string code = code_of(sum(equation), {}, 12, kMatrix);
    CHECK((code == "onnx.attribute" || code == "onnx.shape" || code == "accepted"));
    CHECK((code == "accepted") == (std::string(equation) == "...ij->ij "));  // an empty ellipsis
  }
  CHECK(code_of(sum("ij,jk->ik", {"w"}), {floats("w", {2, 2}, {1, 2, 3, 4})}, 12, kMatrix) == "onnx.shape");
}

TEST_CASE("p-norm pools", "[onnx][ops]") {
  const auto pool = [](std::int64_t p, std::vector<std::string> more = {}) {
    more.push_back(attr("p", p));
    more.push_back(attr("kernel_shape", Ints{2}));
    return on("LpPool", {}, more);
  };
  const Ints line = {1, 1, 3};
  const Reals x = {3, -4, 0};
  check_rows({
      {pool(2), 7, {}, line, x, {1, 1, 2}, {5, 4}},
      {pool(1), 11, {}, line, x, {1, 1, 2}, {7, 4}},
      {pool(1, {attr("pads", Ints{1, 1})}), 11, {}, line, x, {1, 1, 4}, {3, 7, 4, 0}},
      {pool(1, {attr("strides", Ints{2}), attr("ceil_mode", 1)}), 18, {}, line, x, {1, 1, 2}, {7, 0}},
      {pool(1, {attr("dilations", Ints{2})}), 18, {}, line, x, {1, 1, 1}, {3}},
      {on("GlobalLpPool"), 7, {}, line, x, {1, 1, 1}, {5}},
  });
  CHECK(code_of(on("GlobalLpPool", {}, {attr("p", 0)}), {}, 7, line) == "onnx.attribute");
}

TEST_CASE("recurrent networks, by hand", "[onnx][ops]") {
  // One unit, two steps, activations that stay on small integers.
  const std::string w = floats("w", {1, 1, 1}, {2}), r = floats("r", {1, 1, 1}, {3}), b = floats("b", {1, 2}, {1, 0});
  const std::string relu = texts("activations", {"Relu"});
  const Ints two = {2, 1, 1};
  check_rows({
      {on("RNN", {"w", "r", "b"}, {relu}), 7, {w, r, b}, two, {1, 2}, {2, 1, 1, 1}, {3, 14}},
      {on("RNN", {"w", "r", "b"}, {relu, attr("direction", "reverse")}), 14, {w, r, b}, two, {1, 2}, {2, 1, 1, 1}, {18, 5}},
      {on("RNN", {"w", "r", "b"}, {relu, attr("layout", 1)}), 14, {w, r, b}, {1, 2, 1}, {1, 2}, {1, 2, 1, 1}, {3, 14}},
      {on("RNN", {"w", "r", "b"}, {relu, attr("clip", 4.0F)}), 14, {w, r, b}, two, {1, 2}, {2, 1, 1, 1}, {3, 4}},
      {on("RNN", {"w", "r", "b", "", "h"}, {relu}), 14, {w, r, b, floats("h", {1, 1, 1}, {5})}, two, {1, 2}, {2, 1, 1, 1}, {18, 59}},
      {on("RNN", {"w", "r", "b", "l"}, {relu}),
       14,
       {w, r, b, tensor("l", 6, {1}, std::string("\1\0\0\0", 4))},
       two,
       {1, 2},
       {2, 1, 1, 1},
       {3, 0}},
  });
  // LSTM with i = o = f = relu, g = h = relu: i o f c = 1 1 0 x, hence C = x + 0 and H = C.
  const std::string wl = floats("w", {1, 4, 1}, {0, 0, 0, 1}), rl = floats("r", {1, 4, 1}, {0, 0, 0, 0});
  const std::string bl = floats("b", {1, 8}, {1, 1, 0, 0, 0, 0, 0, 0}), all = texts("activations", {"Relu", "Relu", "Relu"});
  // GRU with z = 1/2 x of the old state: H = h / 2 + H / 2.
  const std::string wg = floats("w", {1, 3, 1}, {0, 0, 2}), rg = floats("r", {1, 3, 1}, {0, 0, 1});
  const std::string bg = floats("b", {1, 6}, {0.5, 1, 0, 0, 0, 4}), both = texts("activations", {"Relu", "Relu"});
  check_rows({
      {on("LSTM", {"w", "r", "b"}, {all}), 14, {wl, rl, bl}, two, {3, 7}, {2, 1, 1, 1}, {3, 7}},
      {on("LSTM", {"w", "r", "b"}, {all, attr("input_forget", 1)}), 14, {wl, rl, bl}, two, {3, 7}, {2, 1, 1, 1}, {3, 7}},
      {on("GRU", {"w", "r", "b"}, {both}), 14, {wg, rg, bg}, two, {1, 2}, {2, 1, 1, 1}, {3, 7}},
      {on("GRU", {"w", "r", "b"}, {both, attr("linear_before_reset", 1)}), 14, {wg, rg, bg}, two, {1, 2}, {2, 1, 1, 1}, {3, 7}},
  });
  CHECK(code_of(on("RNN", {"w", "r"}, {texts("activations", {"Gelu"})}), {w, r}, 14, two) == "onnx.attribute");
  CHECK(code_of(on("RNN", {"w", "r"}, {texts("activations", {"Affine"})}), {w, r}, 14, two) == "onnx.attribute");
  CHECK(code_of(on("RNN", {"w", "r"}, {attr("direction", "bidirectional")}), {w, r}, 14, two) == "onnx.shape");
  CHECK(code_of(on("RNN", {"w", "r"}, {attr("hidden_size", 2)}), {w, r}, 14, two) == "onnx.shape");
}

TEST_CASE("resampling and order", "[onnx][ops]") {
  const std::string two = floats("s", {2}, {1, 2}), none = floats("r", {0}, {});
  const auto resize = [](std::vector<std::string> attributes) { return on("Resize", {"r", "s"}, attributes); };
  const Ints line = {1, 2}, four = {1, 4};
  const Reals x = {0, 4};
  check_rows({
      {resize({attr("mode", "linear")}), 11, {none, two}, line, x, four, {0, 1, 3, 4}},
      {resize({attr("mode", "linear"), attr("coordinate_transformation_mode", "asymmetric")}),
       11,
       {none, two},
       line,
       x,
       four,
       {0, 2, 4, 4}},
      {on("Upsample", {"s"}, {attr("mode", "linear")}), 9, {two}, line, x, four, {0, 2, 4, 4}},
      {node("TopK", {"x", "k"}, {"y", "i"}, {attr("axis", 1)}), 11, {ints("k", {2})}, {1, 3}, {5, 9, 7}, {1, 2}, {9, 7}},
      {node("TopK", {"x", "k"}, {"y", "i"}, {attr("largest", 0)}), 11, {ints("k", {2})}, {1, 3}, {5, 9, 7}, {1, 2}, {5, 7}},
  });
  CHECK(code_of(node("TopK", {"x", "k"}, {"y", "i"}, {attr("sorted", 0)}), {ints("k", {2})}, 11, kMatrix) == "onnx.attribute");
  CHECK(code_of(resize({attr("mode", "area")}), {none, two}, 11, line) == "onnx.attribute");
}

TEST_CASE("resized axes are as long, and read the elements, that float32 coordinates give", "[onnx][ops]") {
  const auto scale = [](double s) { return floats("s", {2}, {1, static_cast<float>(s)}); };
  const auto resize = [](const char* where, const char* mode) {
    return on("Resize", {"", "s"}, {attr("coordinate_transformation_mode", where), attr("mode", mode), attr("nearest_mode", "floor")});
  };
  const Reals nine = {0, 1, 2, 3, 4, 5, 6, 7, 8}, five = {0, 1, 2, 3, 4};
  const std::string whole = floats("r", {4}, {0, 0, 1, 1});
  check_rows({
      {on("Resize", {"s"}), 10, {scale(0.6)}, {1, 4}, {1, 2, 3, 4}, {1, 2}, {1, 3}},  // an axis that shrinks: the element above
      {resize("asymmetric", "nearest"), 13, {scale(1.0 / 3)}, {1, 9}, nine, {1, 3}, {0, 3, 6}},
      {resize("asymmetric", "nearest"), 13, {scale(0.7)}, {1, 10}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {1, 7}, {0, 1, 2, 4, 5, 7, 8}},
      {resize("align_corners", "linear"), 13, {scale(0.6)}, {1, 4}, {1, 2, 3, 4}, {1, 2}, {1, 4}},
      {resize("align_corners", "nearest"), 13, {scale(0.6)}, {1, 4}, {1, 2, 3, 4}, {1, 2}, {1, 4}},
      {on("Resize", {"r", "s"}, {attr("coordinate_transformation_mode", "tf_crop_and_resize"), attr("mode", "linear")}),
       13,
       {whole, scale(0.7)},
       {1, 5},
       five,
       {1, 3},
       {0, 2, 4}},
  });
  CHECK(code_of(on("Upsample", {"s"}), {scale(0.5)}, 9, {1, 4}) == "onnx.resize");
}

TEST_CASE("a declared length that shape inference gives, and no program, is noted", "[onnx][ops]") {
  const auto notes = [](const std::string& one, const std::vector<std::string>& constants, const Ints& shape, const Ints& declared) {
    const Folder folder;
    ModelText text;
    text.opset = 13;
    text.nodes = {one};
    text.initializers = constants;
    text.inputs = {value("x", dims_of(shape))};
    text.outputs = {value("y", dims_of(declared))};
    const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
    return model ? std::to_string(model.value().notes.size()) + " notes" : model.rejection().code;
  };
  const std::vector<std::string> window = {attr("kernel_shape", Ints{2}), attr("strides", Ints{3}), attr("ceil_mode", 1)};
  CHECK(notes(on("MaxPool", {}, window), {}, {1, 1, 6}, {1, 1, 2}) == "0 notes");
  CHECK(notes(on("MaxPool", {}, window), {}, {1, 1, 6}, {1, 1, 3}) == "1 notes");
  CHECK(notes(on("MaxPool", {}, {attr("kernel_shape", Ints{2})}), {}, {1, 1, 6}, {1, 1, 3}) == "onnx.output_shape");
  const std::string resize = on("Resize", {"", "s"}, {attr("mode", "linear")});
  CHECK(notes(resize, {floats("s", {2}, {1, 0.7F})}, {1, 10}, {1, 6}) == "3 notes");  // of length, weights, declaration
  CHECK(notes(resize, {floats("s", {2}, {1, 2})}, {1, 10}, {1, 6}) == "onnx.output_shape");
}

TEST_CASE("float semantics decline what programs compute otherwise than the graph", "[onnx][ops]") {
  std::string found;  // of the last obstacle
  const auto obstacle = [&](const std::string& one, const std::vector<std::string>& constants, const Ints& shape, const char* library,
                            std::int64_t opset = 13) {
    const Folder folder;
    ModelText text;
    text.opset = opset;
    text.nodes = {one};
    text.initializers = constants;
    text.inputs = {value("x", dims_of(shape))};
    text.outputs = {untyped("y")};
    const Outcome<onnx::Model> model = onnx::import_model(folder.write("m.onnx", text.bytes()));
    REQUIRE(model.ok());
    CHECK_FALSE(model.value().obstacle({}).has_value());
    ExecutionModel semantics;
    semantics.kind = ExecutionModel::Kind::floating;
    semantics.math_table = library;
    const auto why = model.value().obstacle(semantics);
    found = why ? why->found : "";
    return why ? why->code : "follows";
  };
  const auto resize = [&](const char* mode, double s, const char* library) {
    const std::string one =
        on("Resize", {"", "s"}, {attr("coordinate_transformation_mode", "asymmetric"), attr("mode", mode), attr("nearest_mode", "floor")});
    return obstacle(one, {floats("s", {2}, {1, static_cast<float>(s)})}, {1, 9}, library);
  };
  CHECK(resize("nearest", 2, "any-library") == "follows");
  CHECK(resize("linear", 2, "any-library") == "follows");
  CHECK(resize("nearest", 1.0 / 3, "any-library") == "onnx.float_execution");  // at jumps: as ONNX Runtime computes it
  CHECK(found.find("axis 1 with the scale 11184811/33554432: position 1 of the result is element ") == 0);
  CHECK(resize("nearest", 1.0 / 3, "onnxruntime") == "follows");
  CHECK(resize("linear", 3, "onnxruntime") == "onnx.float_execution");
  CHECK(found == "axis 1 with the scale 3: position 1 of the result is element 1/3 of the operand");
  CHECK(obstacle(on("MeanVarianceNormalization", {}, {attr("axes", Ints{1})}), {}, {1, 4}, "onnxruntime") == "onnx.float_execution");
  const auto kept = [&](std::int64_t axis) {
    const std::vector<std::string> how = {attr("axes", Ints{axis}), attr("keep_aspect_ratio_policy", "not_larger"),
                                          attr("nearest_mode", "floor"), attr("coordinate_transformation_mode", "asymmetric")};
    return obstacle(on("Resize", {"", "", "s"}, how), {ints("s", {1}, {8})}, {1, 4}, "onnxruntime", 18);
  };
  CHECK(kept(1) == "follows");
  CHECK(kept(-1) == "onnx.float_execution");
  const std::string weights = floats("w", {1, 1, 1}, {1}), again = floats("r", {1, 1, 1}, {1});
  const std::vector<std::string> threshold = {texts("activations", {"ThresholdedRelu"})};
  CHECK(obstacle(on("RNN", {"w", "r"}, threshold), {weights, again}, {1, 1, 1}, "onnxruntime") == "onnx.float_execution");
  CHECK(obstacle(on("RNN", {"w", "r"}, {threshold[0], Wire().bytes(1, "activation_alpha").real(7, 1).number(20, 6).text}), {weights, again},
                 {1, 1, 1}, "onnxruntime") == "follows");
  CHECK(obstacle(on("RNN", {"w", "r"}, {texts("activations", {"Softplus"})}), {weights, again}, {1, 1, 1}, "onnxruntime") ==
        "onnx.float_execution");
  // One query and two new keys behind a past one: ONNX Runtime takes the query for the newest token.
  const auto attention = [&](std::int64_t queries, std::int64_t keys, const std::vector<std::string>& causal, std::int64_t opset) {
    const std::vector<float> numbers(static_cast<std::size_t>(keys), 1);
    const std::vector<std::string> given = {floats("k", {1, 1, keys, 1}, numbers), floats("p", {1, 1, 1, 1}, {3})};
    return obstacle(on("Attention", {"k", "k", "", "p", "p"}, causal), given, {1, 1, queries, 1}, "onnxruntime", opset);
  };
  const std::vector<std::string> causal = {attr("is_causal", 1)};
  CHECK(attention(1, 2, causal, 23) == "onnx.float_execution");
  CHECK(attention(1, 2, causal, 24) == "onnx.float_execution");
  CHECK(attention(1, 2, causal, 25) == "follows");
  CHECK(attention(1, 1, causal, 23) == "follows");
  CHECK(attention(2, 2, causal, 23) == "follows");
  CHECK(attention(1, 2, {}, 23) == "follows");
}

TEST_CASE("a sum of weights of one element is rounded", "[onnx][ops]") {
  const auto op_of = [](const char* mode, const char* where, std::int64_t extent) {
    const Folder folder;
    const Row row{on("Resize", {"", "", "s"}, {attr("mode", mode), attr("coordinate_transformation_mode", where)}),
                  13,
                  {ints("s", {2}, {1, 2 * extent})},
                  {1, extent},
                  {},
                  {},
                  {}};
    const Outcome<onnx::Model> model = import_row(folder, row);
    REQUIRE(model.ok());
    const Graph& graph = model.value().graph;
    return std::string(op_row(graph.node(graph.outputs[0]).op).name);
  };
  CHECK(op_of("cubic", "half_pixel", 1) == "weighted_gather");  // programs multiply four copies of the element by weights
  CHECK(op_of("linear", "half_pixel", 1) == "weighted_gather");
  CHECK(op_of("linear", "align_corners", 1) == "weighted_gather");  // halves and quarters of one element
  CHECK(op_of("nearest", "half_pixel", 1) == "gather");
}
