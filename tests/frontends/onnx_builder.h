// A tiny writer of ONNX files for the tests: the wire format by hand, so that broken files are as easy as good ones.
#pragma once

#include <unistd.h>

#include <bit>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

namespace assay::onnx_test {

// Protobuf messages under construction; each call appends one field.
class Wire {
 public:
  static std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>((value & 0x7f) | 0x80);
    return out + static_cast<char>(value);
  }
  Wire& number(std::uint32_t field, std::int64_t value) {
    text += varint(std::uint64_t{field} << 3) + varint(static_cast<std::uint64_t>(value));
    return *this;
  }
  Wire& bytes(std::uint32_t field, const std::string& payload) {
    text += varint(std::uint64_t{field} << 3 | 2) + varint(payload.size()) + payload;
    return *this;
  }
  Wire& real(std::uint32_t field, float value) {
    text += varint(std::uint64_t{field} << 3 | 5) + little_endian(std::bit_cast<std::uint32_t>(value), 4);
    return *this;
  }
  static std::string little_endian(std::uint64_t value, int width) {
    std::string out;
    for (int i = 0; i < width; ++i) out += static_cast<char>(value >> (8 * i) & 0xff);
    return out;
  }
  std::string text;
};

inline std::string raw_floats(const std::vector<float>& values) {
  std::string raw;
  for (const float value : values) raw += Wire::little_endian(std::bit_cast<std::uint32_t>(value), 4);
  return raw;
}
inline std::string raw_ints(const std::vector<std::int64_t>& values) {
  std::string raw;
  for (const std::int64_t value : values) raw += Wire::little_endian(static_cast<std::uint64_t>(value), 8);
  return raw;
}

// TensorProto with raw_data.
inline std::string tensor(const std::string& name, std::int64_t type, const std::vector<std::int64_t>& dims, const std::string& raw) {
  Wire wire;
  for (const std::int64_t dim : dims) wire.number(1, dim);
  return wire.number(2, type).bytes(8, name).bytes(9, raw).text;
}
inline std::string floats(const std::string& name, const std::vector<std::int64_t>& dims, const std::vector<float>& values) {
  return tensor(name, 1, dims, raw_floats(values));
}
inline std::string ints(const std::string& name, const std::vector<std::int64_t>& dims, const std::vector<std::int64_t>& values) {
  return tensor(name, 7, dims, raw_ints(values));
}
inline std::string ints(const std::string& name, const std::vector<std::int64_t>& values) {
  return ints(name, {static_cast<std::int64_t>(values.size())}, values);
}

// AttributeProto.
inline std::string attr(const std::string& name, std::int64_t value) { return Wire().bytes(1, name).number(3, value).number(20, 2).text; }
inline std::string attr(const std::string& name, int value) { return attr(name, std::int64_t{value}); }
inline std::string attr(const std::string& name, float value) { return Wire().bytes(1, name).real(2, value).number(20, 1).text; }
inline std::string attr(const std::string& name, const char* value) { return Wire().bytes(1, name).bytes(4, value).number(20, 3).text; }
inline std::string attr(const std::string& name, const std::vector<std::int64_t>& values) {
  Wire wire;
  wire.bytes(1, name);
  for (const std::int64_t value : values) wire.number(8, value);
  return wire.number(20, 7).text;
}
inline std::string reals_attr(const std::string& name, const std::vector<float>& values) {
  Wire wire;
  wire.bytes(1, name);
  for (const float value : values) wire.real(7, value);
  return wire.number(20, 6).text;
}
inline std::string texts_attr(const std::string& name, const std::vector<std::string>& values) {
  Wire wire;
  wire.bytes(1, name);
  for (const std::string& value : values) wire.bytes(9, value);
  return wire.number(20, 8).text;
}
inline std::string tensor_attr(const std::string& name, const std::string& value) {
  return Wire().bytes(1, name).bytes(5, value).number(20, 4).text;
}

// NodeProto.
inline std::string node(const std::string& op, const std::vector<std::string>& inputs, const std::vector<std::string>& outputs,
                        const std::vector<std::string>& attributes = {}, const std::string& domain = {}) {
  Wire wire;
  for (const std::string& input : inputs) wire.bytes(1, input);
  for (const std::string& output : outputs) wire.bytes(2, output);
  wire.bytes(3, "n_" + (outputs.empty() ? op : outputs.front())).bytes(4, op);
  for (const std::string& attribute : attributes) wire.bytes(5, attribute);
  if (!domain.empty()) wire.bytes(7, domain);
  return wire.text;
}

// ValueInfoProto of a tensor; a dimension is a number or, when its text is not empty, a symbol.
struct Dim {
  Dim(int extent) : value(extent) {}                 // NOLINT(google-explicit-constructor)
  Dim(std::int64_t extent) : value(extent) {}        // NOLINT(google-explicit-constructor)
  Dim(const char* name) : value(0), symbol(name) {}  // NOLINT(google-explicit-constructor)
  std::int64_t value;
  std::string symbol;
};
inline std::string value(const std::string& name, const std::vector<Dim>& dims, std::int64_t type = 1) {
  Wire shape;
  for (const Dim& dim : dims) shape.bytes(1, dim.symbol.empty() ? Wire().number(1, dim.value).text : Wire().bytes(2, dim.symbol).text);
  return Wire().bytes(1, name).bytes(2, Wire().bytes(1, Wire().number(1, type).bytes(2, shape.text).text).text).text;
}
inline std::string untyped(const std::string& name) { return Wire().bytes(1, name).text; }

struct ModelText {
  std::vector<std::string> nodes, initializers, inputs, outputs, infos;
  std::int64_t opset = 13;
  std::int64_t ir = 8;
  std::vector<std::pair<std::string, std::int64_t>> more_opsets = {};

  [[nodiscard]] std::string graph() const {
    Wire wire;
    for (const std::string& one : nodes) wire.bytes(1, one);
    wire.bytes(2, "g");
    for (const std::string& one : initializers) wire.bytes(5, one);
    for (const std::string& one : inputs) wire.bytes(11, one);
    for (const std::string& one : outputs) wire.bytes(12, one);
    for (const std::string& one : infos) wire.bytes(13, one);
    return wire.text;
  }
  [[nodiscard]] std::string bytes() const {
    Wire wire;
    wire.number(1, ir).bytes(2, "test").bytes(7, graph()).bytes(8, Wire().bytes(1, "").number(2, opset).text);
    for (const auto& [domain, version] : more_opsets) wire.bytes(8, Wire().bytes(1, domain).number(2, version).text);
    return wire.text;
  }
};

// A folder of its own, removed at the end of the test.
class Folder {
 public:
  Folder() {
    static int count = 0;
    path_ = std::filesystem::temp_directory_path() / ("assay_onnx_" + std::to_string(::getpid()) + "_" + std::to_string(count++));
    std::filesystem::create_directories(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  std::string write(const std::string& name, const std::string& bytes) const {
    const std::filesystem::path file = path_ / name;
    std::filesystem::create_directories(file.parent_path());
    std::ofstream(file, std::ios::binary) << bytes;
    return file.string();
  }
  [[nodiscard]] std::filesystem::path path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace assay::onnx_test
