// The wire reader and the decoding of messages: every way in which bytes can be wrong, with the place.
#include <cmath>

#include "frontends/onnx/format/proto.h"
#include "frontends/onnx/format/tensor.h"
#include "frontends/onnx/lowering/refusal.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace {

using namespace assay;
using namespace assay::onnx_test;

onnx::Bytes view(const std::string& text) { return std::as_bytes(std::span<const char>(text)); }

// The rejection of decoding `text` as a model; fails the test when there is none.
Rejection decode_rejection(const std::string& text) {
  try {
    (void)onnx::decode_model(view(text));
  } catch (const onnx::Refused& refused) {
    return refused.why;
  }
  FAIL("decoded");
  return {};
}

Tensor decode_tensor(const std::string& proto) {
  const std::string model = Wire().bytes(7, Wire().bytes(5, proto).text).text;
  onnx::ExternalData none("model.onnx");
  return onnx::read_tensor(onnx::decode_model(view(model)).graph->initializers.front(), none);
}

Rejection tensor_rejection(const std::string& proto) {
  try {
    (void)decode_tensor(proto);
  } catch (const onnx::Refused& refused) {
    return refused.why;
  }
  FAIL("read");
  return {};
}

}  // namespace

TEST_CASE("a small model decodes", "[onnx][wire]") {
  ModelText text;
  text.nodes = {node("Relu", {"x"}, {"y"}, {attr("alpha", 0.5F), attr("axes", std::vector<std::int64_t>{-1, 2}), attr("mode", "edge")})};
  text.initializers = {floats("w", {2, 1}, {1, -2})};
  text.inputs = {value("x", {"N", 3})};
  text.outputs = {untyped("y")};
  const std::string bytes = text.bytes();
  const onnx::ModelProto model = onnx::decode_model(view(bytes));
  REQUIRE(model.graph.has_value());
  CHECK(model.ir_version == 8);
  CHECK(model.opsets.front().second == 13);
  const onnx::NodeProto& relu = model.graph->nodes.at(0);
  CHECK(relu.op_type == "Relu");
  CHECK(relu.inputs == std::vector<std::string>{"x"});
  REQUIRE(relu.attributes.size() == 3);
  CHECK(std::bit_cast<float>(relu.attributes[0].real) == 0.5F);
  CHECK(relu.attributes[1].integers == std::vector<std::int64_t>{-1, 2});
  CHECK(relu.attributes[2].text == "edge");
  CHECK(model.graph->inputs.at(0).dims.at(0).symbol == "N");
  CHECK(model.graph->inputs.at(0).dims.at(1).value == 3);
  CHECK_FALSE(model.graph->outputs.at(0).is_tensor);
}

TEST_CASE("packed and unpacked numbers are the same", "[onnx][wire]") {
  const std::string packed_dims = Wire().bytes(1, std::string("\x02\x03")).number(2, 1).bytes(9, raw_floats({1, 2, 3, 4, 5, 6})).text;
  CHECK(decode_tensor(packed_dims).shape() == Shape{2, 3});
  const std::string packed = Wire().number(1, 2).number(2, 1).bytes(4, raw_floats({0.25F, -3})).text;
  const std::string loose = Wire().number(1, 2).number(2, 1).real(4, 0.25F).real(4, -3).text;
  CHECK(decode_tensor(packed).to_doubles() == std::vector<double>{0.25, -3});
  CHECK(decode_tensor(loose).to_doubles() == std::vector<double>{0.25, -3});
  const std::string negative =
      Wire().number(1, 2).number(2, 7).bytes(7, Wire::varint(static_cast<std::uint64_t>(-5)) + Wire::varint(300)).text;
  CHECK(decode_tensor(negative).to_ints() == std::vector<std::int64_t>{-5, 300});
}

TEST_CASE("unknown fields of every wire type are skipped", "[onnx][wire]") {
  const std::string extra =
      Wire().number(1000, -1).bytes(1001, "abc").real(1002, 1).text + Wire::varint(1003 << 3 | 1) + std::string(8, 'x');
  const onnx::ModelProto model = onnx::decode_model(view(extra + ModelText{}.bytes() + extra));
  CHECK(model.ir_version == 8);
}

TEST_CASE("broken bytes are malformed, with the offset", "[onnx][wire]") {
  struct Row {
    std::string bytes, place, found;
  };
  const std::string long_varint(11, '\xff');
  const std::vector<Row> rows = {
      {"\x08", "byte 1", "the end of the message"},                                                    // tag without value
      {"\x08\x80", "byte 1", "the end of the message"},                                                // unfinished varint
      {"\x08" + long_varint, "byte 1", "one of more bytes, or of 2^64 and more"},                      // eleven bytes
      {"\x08" + std::string(9, '\xff') + "\x02", "byte 1", "one of more bytes, or of 2^64 and more"},  // bit 65
      {std::string("\x00\x01", 2), "byte 0", "0"},                                                     // field number 0
      {"\xff\xff\xff\xff\x7f\x01", "byte 0", "4294967295"},                                            // field number 2^32 - 1
      {"\x0b", "byte 0", "3"},                                                                         // start of a group
      {"\x0f", "byte 0", "7"},                                                                         // no such wire type
      {"\x3a\x05\x0a", "byte 0", "5"},                                                                 // five bytes announced, one there
      {"\x3a" + Wire::varint(~std::uint64_t{0}), "byte 0", "18446744073709551615"},                    // absurd length
      {"\x0d\x01\x02\x03", "byte 1", "the end of the message"},                                        // three of four bytes
      {"\x09\x01\x02\x03\x04\x05\x06\x07", "byte 1", "the end of the message"},                        // seven of eight bytes
      {"\x0a\x01x", "byte 0", "a length-delimited value"},                                             // ir_version as text
      {"\x38\x01", "byte 0", "a varint"},                                                              // graph as a number
      {"\x08\x01\x08\x02", "byte 2", "a second one"},                                                  // ir_version twice
      {std::string("\x3a\x00\x3a\x00", 4), "byte 2", "a second one"},                                  // graph twice
      {"\x3a\x04\x0a\x02\x0a\x05", "byte 4", "5"},  // a node's input longer than the node
  };
  for (const Row& row : rows) {
    const Rejection why = decode_rejection(row.bytes);
    INFO(why.to_text());
    CHECK(why.code == "onnx.wire");
    CHECK(why.kind == Rejection::Kind::malformed);
    CHECK(why.place.starts_with(row.place + " in "));
    CHECK(why.found == row.found);
  }
}

TEST_CASE("attribute types must match their values", "[onnx][wire]") {
  const auto model_with = [](const std::string& attribute) {
    return Wire().bytes(7, Wire().bytes(1, Wire().bytes(5, attribute).text).text).text;
  };
  const Rejection untyped = decode_rejection(model_with(Wire().bytes(1, "a").number(3, 1).text));
  CHECK(untyped.code == "onnx.attribute");
  CHECK(untyped.found == "0");
  const Rejection mixed = decode_rejection(model_with(Wire().bytes(1, "a").number(3, 1).real(2, 1).number(20, 2).text));
  CHECK(mixed.code == "onnx.attribute");
  CHECK(mixed.found == "values of several types");
  CHECK(decode_rejection(model_with(Wire().bytes(1, "a").number(20, 15).text)).code == "onnx.attribute");
}

TEST_CASE("element types are read exactly", "[onnx][wire]") {
  const auto of = [](std::int64_t type, const std::string& raw, std::int64_t count) {
    return decode_tensor(tensor("t", type, {count}, raw));
  };
  CHECK(of(11, Wire::little_endian(std::bit_cast<std::uint64_t>(0.1), 8), 1).as_double(0) == 0.1);
  CHECK(of(6, Wire::little_endian(0xfffffffe, 4), 1).as_int(0) == -2);
  CHECK(of(3, "\xff\x7f", 2).to_ints() == std::vector<std::int64_t>{-1, 127});
  CHECK(of(2, "\xff\x7f", 2).to_ints() == std::vector<std::int64_t>{255, 127});
  CHECK(of(9, std::string("\x01\x00", 2), 2).dtype() == DType::boolean);
  CHECK(of(16, Wire::little_endian(0xc0200000 >> 16, 2), 1).as_double(0) == -2.5);
  // Every finite float16: sign, exponent and fraction by the formula of IEEE 754.
  std::string raw;
  for (std::uint32_t half = 0; half < 65536; ++half) raw += Wire::little_endian(half, 2);
  const Tensor all = of(10, raw, 65536);
  CHECK(all.dtype() == DType::float32);
  int wrong = 0;
  for (std::uint32_t half = 0; half < 65536; ++half) {
    const int exponent = static_cast<int>(half >> 10 & 0x1f);
    const double fraction = half & 0x3ff;
    const double magnitude = exponent == 0 ? std::ldexp(fraction, -24) : std::ldexp(1024 + fraction, exponent - 25);
    if (exponent == 31) {
      wrong += std::isfinite(all.as_double(half)) ? 1 : 0;
    } else if (all.as_double(half) != (half >> 15 != 0 ? -magnitude : magnitude)) {
      ++wrong;
    }
  }
  CHECK(wrong == 0);
}

TEST_CASE("tensors whose data does not fit their shape are malformed", "[onnx][wire]") {
  struct Row {
    std::string proto, code;
    Rejection::Kind kind;
  };
  constexpr auto kMalformed = Rejection::Kind::malformed;
  constexpr auto kUnsupported = Rejection::Kind::unsupported;
  const std::string four = raw_floats({1});
  const std::vector<Row> rows = {
      {tensor("t", 1, {2}, four), "onnx.tensor", kMalformed},                                                 // four of eight bytes
      {tensor("t", 1, {1}, four + four), "onnx.tensor", kMalformed},                                          // eight of four bytes
      {tensor("t", 1, {-1}, ""), "onnx.tensor", kMalformed},                                                  // negative extent
      {tensor("t", 1, {std::int64_t{1} << 40, std::int64_t{1} << 40}, ""), "onnx.tensor", kMalformed},        // product beyond 2^64
      {tensor("t", 1, {0, std::int64_t{1} << 40}, ""), "onnx.tensor", kMalformed},                            // extent beyond 2^31 beside 0
      {Wire().number(1, 1).number(2, 1).text, "onnx.tensor", kMalformed},                                     // no data
      {Wire().number(1, 1).number(2, 1).number(7, 5).text, "onnx.tensor", kMalformed},                        // int64_data of a float
      {Wire().number(1, 1).number(2, 1).bytes(9, four).real(4, 1).text, "onnx.tensor", kMalformed},           // raw and typed
      {Wire().number(1, 1).number(2, 3).number(5, 128).text, "onnx.tensor", kMalformed},                      // int8 out of range
      {tensor("t", 9, {1}, "\x02"), "onnx.tensor", kMalformed},                                               // boolean 2
      {Wire().number(1, 1).number(2, 1).bytes(9, four).bytes(6, "s").text, "onnx.tensor", kMalformed},        // strings beside
      {tensor("t", 8, {1}, ""), "onnx.element_type", kUnsupported},                                           // string
      {Wire().number(1, 1).number(2, 12).number(11, std::int64_t{1} << 32).text, "onnx.tensor", kMalformed},  // uint32 out of range
      {Wire().number(1, 1).number(2, 13).number(11, std::numeric_limits<std::int64_t>::min()).text, "onnx.element_type",
       kUnsupported},                                                                    // uint64 from 2^63 on
      {Wire().number(1, 1).number(2, 13).number(7, 5).text, "onnx.tensor", kMalformed},  // int64_data of a uint64
      {tensor("t", 14, {1}, std::string(8, 'x')), "onnx.element_type", kUnsupported},    // complex64
      {tensor("t", 17, {1}, "x"), "onnx.element_type", kUnsupported},                    // float8
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const Rejection why = tensor_rejection(rows[i].proto);
    INFO(i << ": " << why.to_text());
    CHECK(why.code == rows[i].code);
    CHECK(why.kind == rows[i].kind);
  }
  CHECK(decode_tensor(tensor("t", 1, {0}, "")).size() == 0);  // an empty tensor is none of these
}
