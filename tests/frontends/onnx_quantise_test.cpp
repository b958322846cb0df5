// Quantised operators, samples at computed places, spectra: values checked by hand, and what is refused.
#include "tests/frontends/onnx_rows.h"

using namespace assay;
using namespace assay::onnx_test;

namespace {

const Ints kFour = {4};

std::string scale(float value) { return floats("s", {}, {value}); }

}  // namespace

TEST_CASE("quantising rounds half to even and saturates", "[onnx][ops]") {
  const std::string zero = tensor("z", 2, {}, "\x80"), low = tensor("z", 3, {}, "\x01");
  check_rows({
      {on("QuantizeLinear", {"s", "z"}), 13, {scale(2), zero}, kFour, {1, 3, -1, 1000}, kFour, {128, 130, 128, 255}},
      {on("QuantizeLinear", {"s", "z"}), 13, {scale(2), low}, kFour, {1, 3, -300, 300}, kFour, {1, 3, -128, 127}},
      {on("QuantizeLinear", {"s"}), 19, {scale(0.5F)}, kFour, {0.25, 0.75, -3, 1}, kFour, {0, 2, 0, 2}},
      {on("QuantizeLinear", {"s"}, {attr("output_dtype", 5)}),
       21,
       {scale(1)},
       kFour,
       {40000, -40000, 0.5, 1.5},
       kFour,
       {32767, -32768, 0, 2}},
      {on("QuantizeLinear", {"s"}, {attr("axis", 0)}), 13, {floats("s", {4}, {1, 2, 4, 8})}, kFour, {8, 8, 8, 8}, kFour, {8, 4, 2, 1}},
      {on("QuantizeLinear", {"s"}, {attr("axis", 0), attr("block_size", 2)}),
       21,
       {floats("s", {2}, {1, 2})},
       kFour,
       {8, 8, 8, 8},
       kFour,
       {8, 8, 4, 4}},
      // The scale of zeros is 1, as in ONNX Runtime; else it is a 255th of the range, which has 0 in it.
      {node("DynamicQuantizeLinear", {"x"}, {"q", "y", "z"}), 11, {}, kFour, {0, 0, 0, 0}, {}, {1}},
      {node("DynamicQuantizeLinear", {"x"}, {"y", "s", "z"}), 11, {}, kFour, {0, 0, 0, 0}, kFour, {0, 0, 0, 0}},
      {node("DynamicQuantizeLinear", {"x"}, {"q", "y", "z"}), 11, {}, kFour, {51, 255, 510, 2}, {}, {2}},
  });
}

TEST_CASE("samples at computed places", "[onnx][ops]") {
  const std::string image = floats("i", {1, 1, 2, 2}, {1, 2, 3, 4});
  const auto sample = [](const char* padding, int corners) {
    return node("GridSample", {"i", "x"}, {"y"}, {attr("padding_mode", padding), attr("align_corners", corners)});
  };
  const Ints grid = {1, 1, 2, 2}, result = {1, 1, 1, 2};
  check_rows({
      {sample("zeros", 1), 20, {image}, grid, {-1, -1, 1, 0}, result, {1, 3}},
      {sample("zeros", 0), 20, {image}, grid, {-1, -1, 0, 0}, result, {0.25, 2.5}},
      {sample("border", 0), 20, {image}, grid, {-1, -1, 5, 5}, result, {1, 4}},
      {sample("reflection", 1), 20, {image}, grid, {3, -1, -1, 3}, result, {1, 1}},
      // At -0.75 along the last axis the taps -2 to 1 count; those before the first element move onto it.
      {node("GridSample", {"i", "x"}, {"y"}, {attr("mode", "cubic"), attr("padding_mode", "border")}),
       20,
       {floats("i", {1, 1, 1, 2}, {1, 3})},
       {1, 1, 1, 2},
       {-1.25, 0},
       {1, 1, 1, 1},
       {0.9296875}},
  });
}

TEST_CASE("spectra", "[onnx][ops]") {
  const Ints signal = {1, 4, 1};
  check_rows(
      {
          {on("DFT", {}, {attr("axis", 1)}), 17, {}, signal, {1, 2, 3, 4}, {1, 4, 2}, {10, 0, -2, 2, -2, 0, -2, -2}},
          {on("DFT", {}, {attr("axis", 1), attr("onesided", 1)}), 17, {}, signal, {1, 2, 3, 4}, {1, 3, 2}, {10, 0, -2, 2, -2, 0}},
          {on("DFT", {"", "a"}, {attr("inverse", 1)}),
           20,
           {ints("a", {}, {1})},
           {1, 4, 2},
           {10, 0, -2, 2, -2, 0, -2, -2},
           {1, 4, 2},
           {1, 0, 2, 0, 3, 0, 4, 0}},
      },
      0x1p-48);
}

TEST_CASE("places of maxima, norms of 0, remainders", "[onnx][ops]") {
  const auto pool = [](const std::vector<std::string>& attributes) { return node("MaxPool", {"x"}, {"z", "y"}, attributes); };
  const std::string two = attr("kernel_shape", Ints{2}), square = attr("kernel_shape", Ints{2, 2});
  check_rows({
      {pool({two}), 13, {}, {1, 1, 4}, {1, 3, 3, 5}, {1, 1, 3}, {1, 1, 3}},
      {pool({two, attr("pads", Ints{1, 0})}), 13, {}, {1, 2, 2}, {1, 3, -7, -8}, {1, 2, 2}, {0, 1, 2, 2}},
      {pool({square}), 13, {}, {1, 1, 2, 3}, {1, 2, 9, 4, 5, 6}, {1, 1, 1, 2}, {4, 2}},
      {pool({square, attr("storage_order", 1)}), 13, {}, {1, 1, 2, 3}, {1, 2, 9, 4, 5, 6}, {1, 1, 1, 2}, {3, 4}},
      {on("LpNormalization", {}, {attr("axis", 0), attr("p", 1)}), 22, {}, {2, 2}, {0, 1, 0, 3}, {2, 2}, {0, 0.25, 0, 0.75}},
      {on("Mod", {"m"}), 28, {floats("m", {}, {3})}, {2}, {-1, 4}, {2}, {2, 1}},
  });
}

TEST_CASE("one-hot rows, blocks added back, bits under the other sign", "[onnx][ops]") {
  const std::string values = floats("v", {2}, {5, 7}), three = ints("d", {}, {3});
  check_rows({
      {on("OneHot", {"d", "v"}), 11, {three, values}, {2}, {-1, 1}, {2, 3}, {5, 5, 7, 5, 7, 5}},
      {on("OneHot", {"d", "v"}, {attr("axis", 0)}), 11, {three, values}, {2}, {3, -4}, {3, 2}, {5, 5, 5, 5, 5, 5}},
      {on("Col2Im", {"i", "b"}), 18, {ints("i", {1}, {3}), ints("b", {1}, {2})}, {1, 2, 2}, {1, 2, 3, 4}, {1, 1, 3}, {1, 5, 4}},
      {on("Det"), 11, {}, {2, 2}, {1, 2, 3, 5}, {}, {-1}},
  });
}

TEST_CASE("quantised operators, samples and spectra of wrong shapes are refused", "[onnx][ops][reject]") {
  const std::string image = floats("i", {1, 1, 2, 2}, {1, 2, 3, 4});
  const std::vector<std::string> codes = rejection_codes({
      {on("QuantizeLinear", {"s"}), 13, {floats("s", {3}, {1, 2, 4})}, kFour, {}, kFour, {}},
      {on("QuantizeLinear", {"s"}, {attr("axis", 3)}), 13, {floats("s", {4}, {1, 2, 4, 8})}, kFour, {}, kFour, {}},
      {on("DequantizeLinear", {"s"}), 13, {scale(2)}, kFour, {}, kFour, {}},
      {node("GridSample", {"i", "x"}, {"y"}, {attr("mode", "nearest")}), 20, {image}, {1, 1, 2, 3}, {}, {}, {}},
      {on("DFT", {}, {attr("axis", 5)}), 17, {}, {1, 4, 1}, {}, {}, {}},
      {on("DFT", {}, {attr("axis", 1)}), 17, {}, {1, 4, 3}, {}, {}, {}},
      {node("MaxPool", {"x"}, {"z", "y"}, {attr("kernel_shape", Ints{9})}), 13, {}, {1, 1, 4}, {}, {}, {}},
  });
  CHECK(codes == std::vector<std::string>{"onnx.axis", "onnx.axis", "onnx.operand", "onnx.shape", "onnx.axis", "onnx.shape", "onnx.shape"});
}
