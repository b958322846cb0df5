// Trace files: what is written is read, and nothing else is taken for a trace.
#include <nlohmann/json.hpp>

#include "formats/half.h"
#include "tests/audit/run.h"

using namespace assay;
using namespace assay::test;

namespace {

using Json = nlohmann::ordered_json;

std::string code_of(const std::vector<std::byte>& file) {
  const auto trace = formats::read_trace(file);
  return trace ? "" : trace.rejection().code;
}

// A file with this header and so many bytes of data.
std::vector<std::byte> file_with(const std::string& header, std::size_t data) {
  std::vector<std::byte> file(8 + header.size() + data);
  const std::uint64_t length = header.size();
  std::memcpy(file.data(), &length, 8);
  std::memcpy(file.data() + 8, header.data(), header.size());
  return file;
}

// The file with its description changed.
template <class F>
std::vector<std::byte> edited(const std::vector<std::byte>& file, const F& edit) {
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  Json header = Json::parse(reinterpret_cast<const char*>(file.data()) + 8, reinterpret_cast<const char*>(file.data()) + 8 + length);
  Json trace = Json::parse(header["__metadata__"]["assay.trace"].get<std::string>());
  edit(trace);
  header["__metadata__"]["assay.trace"] = trace.dump();
  std::vector<std::byte> result = file_with(header.dump(), 0);
  result.insert(result.end(), file.begin() + static_cast<std::ptrdiff_t>(8 + length), file.end());
  return result;
}

}  // namespace

TEST_CASE("trace files: written and read again, a trace is the same", "[formats]") {
  const Trace trace = training_step().run.trace;
  const std::vector<std::byte> file = file_of(trace);
  const auto read = formats::read_trace(file);
  if (!read) FAIL(read.rejection().to_text());
  const Trace& again = read.value();
  REQUIRE(again.tensors.size() == trace.tensors.size());
  for (std::size_t i = 0; i < trace.tensors.size(); ++i) {
    CHECK(again.tensors[i].name == trace.tensors[i].name);
    CHECK(again.tensors[i].origin == trace.tensors[i].origin);
    CHECK(std::ranges::equal(again.tensors[i].value.bytes(), trace.tensors[i].value.bytes()));
  }
  REQUIRE(again.regions.size() == trace.regions.size());
  for (std::size_t r = 0; r < trace.regions.size(); ++r) {
    CHECK(canonical_bytes(again.regions[r].graph) == canonical_bytes(trace.regions[r].graph));
    CHECK(again.regions[r].model == trace.regions[r].model);
    CHECK(again.regions[r].operands == trace.regions[r].operands);
    CHECK(again.regions[r].results == trace.regions[r].results);
  }
  CHECK(again.vjps.size() == trace.vjps.size());
  CHECK(again.gradients[0].of == trace.gradients[0].of);
  CHECK(file_of(again) == file);
}

TEST_CASE("trace files: every flipped bit of the data is noticed, and no cut file is a trace", "[formats]") {
  const std::vector<std::byte> file = file_of(training_step().run.trace);
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), 8);
  for (std::size_t at = 8 + length; at < file.size(); ++at) {
    std::vector<std::byte> flipped = file;
    flipped[at] ^= std::byte{static_cast<unsigned char>(1U << at % 8)};
    CHECK(code_of(flipped) == "trace.checksum");
  }
  for (std::size_t size = 0; size < file.size(); size += 7)
    CHECK_FALSE(code_of({file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)}).empty());
  std::size_t refused = 0;
  for (std::size_t at = 0; at < 8 + length; ++at) {  // never a crash; most flips of the header are refused
    std::vector<std::byte> flipped = file;
    flipped[at] ^= std::byte{1};
    refused += code_of(flipped).empty() ? 0 : 1;
  }
  CHECK(refused > length / 2);
}

TEST_CASE("trace files: headers that are no safetensors", "[formats]") {
  const std::string entry = R"({"dtype":"F32","shape":[2],"data_offsets":[0,8]})";
  struct Bad {
    std::string header;
    std::size_t data;
    const char* code;
  };
  const Bad table[] = {
      {"[]", 0, "safetensors.json"},
      {"{", 0, "safetensors.json"},
      {R"({"a":)" + entry + R"(,"a":)" + entry + "}", 8, "safetensors.duplicate"},
      {R"({"a":3})", 0, "safetensors.entry"},
      {R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})", 8, "safetensors.entry"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "safetensors.entry"},
      {R"({"a":{"dtype":"F31","shape":[2],"data_offsets":[0,8]}})", 8, "safetensors.type"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8, "safetensors.size"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})", 8, "safetensors.size"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,16]}})", 8, "safetensors.offsets"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "safetensors.offsets"},
      {R"({"a":)" + entry + "}", 12, "safetensors.offsets"},
      {R"({"a":)" + entry + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})", 12, "safetensors.offsets"},
      {R"({"a":)" + entry + R"(,"b":{"dtype":"F32","shape":[2],"data_offsets":[12,20]}})", 20, "safetensors.offsets"},
      {R"({"__metadata__":{"x":1}})", 0, "safetensors.entry"},
      {R"({"a":)" + entry + "}", 8, "trace.json"},
      {R"({"__metadata__":{"assay.trace":"{}"}})", 0, "trace.version"},
      {R"({"__metadata__":{"assay.trace":"{\"version\":2}"}})", 0, "trace.version"},
      {R"({"__metadata__":{"assay.trace":"{\"version\":1}"},"a":)" + entry + "}", 8, "trace.checksum"},
      {R"({"__metadata__":{"assay.trace":"{\"version\":1}"},"a":{"dtype":"F8_E5M2","shape":[4],"data_offsets":[0,4]}})", 4, "trace.type"},
      {R"({"__metadata__":{"assay.trace":"{\"version\":1}"},"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,2]}})", 2,
       "safetensors.size"},
      {R"({"__metadata__":{"assay.trace":"{\"version\":1}"},"a":{"dtype":"F16","shape":[2],"data_offsets":[0,4]}})", 4, "trace.checksum"},
  };
  for (const Bad& bad : table) {
    INFO(bad.header);
    CHECK(code_of(file_with(bad.header, bad.data)) == bad.code);
  }
}

TEST_CASE("trace files: descriptions that say nothing, or something else", "[formats]") {
  const std::vector<std::byte> file = file_of(training_step().run.trace);
  struct Bad {
    const char* code;
    void (*edit)(Json&);
  };
  const Bad table[] = {
      {"trace.field", [](Json& t) { t.erase("regions"); }},
      {"trace.name", [](Json& t) { t["inputs"].push_back("nobody"); }},
      {"trace.name", [](Json& t) { t["regions"][0]["operands"][0] = 3; }},
      {"trace.field", [](Json& t) { t["regions"][0]["results"] = Json::array(); }},
      {"trace.field", [](Json& t) { t["regions"][0].erase("model"); }},
      {"trace.op", [](Json& t) { t["regions"][0]["nodes"][0]["op"] = "gemmm"; }},
      {"trace.op", [](Json& t) { t["regions"][0]["nodes"][0]["op"] = "input"; }},
      {"trace.attribute", [](Json& t) { t["regions"][0]["nodes"][0]["attributes"]["transposed"] = true; }},
      {"trace.attribute", [](Json& t) { t["regions"][0]["nodes"][0]["attributes"]["alpha"] = "1"; }},
      {"trace.attribute", [](Json& t) { t["regions"][0]["nodes"][0]["attributes"]["alpha"] = nullptr; }},
      {"trace.field", [](Json& t) { t["regions"][0]["nodes"][0]["operands"][0] = 3; }},
      {"trace.field", [](Json& t) { t["regions"][0]["nodes"][0]["operands"][0] = -1; }},
      {"trace.field", [](Json& t) { t["regions"][0]["outputs"] = {99}; }},
      {"trace.field",
       [](Json& t) {
         t["vjps"][0]["cotangents"] = {{"x", "t3"}};
       }},
      {"trace.field", [](Json& t) { t["vjps"][0].erase("of"); }},
      {"trace.name", [](Json& t) { t["gradients"][0]["seed"] = "nobody"; }},
  };
  for (const Bad& bad : table) {
    INFO("row " << &bad - table);
    CHECK(code_of(edited(file, bad.edit)) == bad.code);
  }
  const auto bad_shapes =
      formats::read_trace(edited(file, [](Json& t) { t["regions"][0]["nodes"][0]["attributes"]["transpose_a"] = true; }));
  REQUIRE_FALSE(bad_shapes.ok());
  CHECK(bad_shapes.rejection().place.find("region 0 (gemm), node 0") == 0);
}

TEST_CASE("trace files: a declared surrogate is written, read and checked", "[formats]") {
  Step step = training_step();
  Trace trace = step.run.trace;
  Graph surrogate;
  const NodeId x = surrogate.append_input(DType::float32, {3, 2}, "x");
  surrogate.mark_output(surrogate.append(Op::clip, {x}, ClipAttributes{-1, 1}).value(), "y");
  for (Trace::Vjp& vjp : trace.vjps) {
    if (vjp.cotangent == step.h_bar) vjp.surrogate = surrogate;
  }
  const std::vector<std::byte> file = file_of(trace);
  const auto read = formats::read_trace(file);
  if (!read) FAIL(read.rejection().to_text());
  std::size_t found = 0;
  for (const Trace::Vjp& vjp : read.value().vjps) {
    if (!vjp.surrogate) continue;
    ++found;
    CHECK(canonical_bytes(*vjp.surrogate) == canonical_bytes(surrogate));
  }
  CHECK(found == 1);
  CHECK(file_of(read.value()) == file);
  const auto with = [&](const Json& declared) {
    return code_of(edited(file, [&](Json& json) { json["vjps"][0]["surrogate"] = declared; }));
  };
  CHECK(with(3) == "trace.field");
  CHECK(with(Json::object()) == "trace.field");
  CHECK(with({{"nodes", Json::array()}, {"outputs", {7}}}) == "trace.field");
  CHECK(with({{"nodes", {{{"op", "no such op"}, {"operands", {0}}}}}}) == "trace.op");
  CHECK(with({{"nodes", Json::array()}}).empty());  // the identity; whether it fits is a question of continuity
  CHECK(code_of(edited(file, [&](Json& json) {
          json["vjps"][0]["of"] = 99;
          json["vjps"][0]["surrogate"] = {{"nodes", Json::array()}};
        })) == "trace.field");
}

TEST_CASE("trace files: a declared convention is written, read and checked", "[formats]") {
  Trace trace = training_step().run.trace;
  trace.vjps[0].convention = trace.vjps[0].cotangents;
  const std::vector<std::byte> file = file_of(trace);
  const auto read = formats::read_trace(file);
  if (!read) FAIL(read.rejection().to_text());
  CHECK(read.value().vjps[0].convention == trace.vjps[0].cotangents);
  CHECK(read.value().vjps[1].convention.empty());
  CHECK(file_of(read.value()) == file);
  const auto with = [&](const Json& declared) {
    return code_of(edited(file, [&](Json& json) { json["vjps"][0]["convention"] = declared; }));
  };
  CHECK(with(3) == "trace.field");
  CHECK(with({{"x", "y"}}) == "trace.field");
  CHECK(!with({{"0", "no such tensor"}}).empty());
}

TEST_CASE("trace files: opaque operations are written and read", "[formats]") {
  Trace trace = training_step().run.trace;
  trace.opaque = {{"lib::solve", {trace.regions[0].results[0]}}};
  const std::vector<std::byte> file = file_of(trace);
  const auto read = formats::read_trace(file);
  if (!read) FAIL(read.rejection().to_text());
  REQUIRE(read.value().opaque.size() == 1);
  CHECK(read.value().opaque[0].name == "lib::solve");
  CHECK(read.value().opaque[0].results == trace.opaque[0].results);
  CHECK(file_of(read.value()) == file);
  const auto with = [&](const Json& opaque) { return code_of(edited(file, [&](Json& json) { json["opaque"] = opaque; })); };
  CHECK(with(Json::array()).empty());
  CHECK(with(3) == "trace.field");
  CHECK(with({3}) == "trace.field");
  CHECK(with({{{"name", "f"}}}) == "trace.field");
  CHECK(with({{{"name", 3}, {"results", Json::array()}}}) == "trace.field");
  CHECK(with({{{"name", "f"}, {"results", Json::array()}}}) == "trace.field");
  CHECK(with({{{"name", "f"}, {"results", {"no such tensor"}}}}) == "trace.name");
}

TEST_CASE("trace files: tensors in 16 bits are the float32 that they are, and come back bit for bit", "[formats]") {
  const auto storage = GENERATE(ExecutionModel::Storage::bfloat16, ExecutionModel::Storage::binary16);
  std::vector<float> every;
  for (unsigned bits = 0; bits < 1U << 16; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    every.push_back(storage == ExecutionModel::Storage::bfloat16 ? formats::of_bfloat16(half) : formats::of_float16(half));
    REQUIRE((storage == ExecutionModel::Storage::bfloat16 ? formats::bfloat16_of(every.back()) : formats::float16_of(every.back())) ==
            half);
  }
  Trace trace;
  trace.tensors.push_back({"x", Trace::Origin::input, Tensor::of_floats({256, 256}, every), storage});
  trace.tensors.push_back({"nothing", Trace::Origin::input, Tensor::of_floats({0, 3}, {}), storage});
  const std::vector<std::byte> file = file_of(trace);
  CHECK(file.size() < (1U << 17) + 1000);  // two bytes for each
  const auto read = formats::read_trace(file);
  if (!read) FAIL(read.rejection().to_text());
  const Trace::Entry& again = read.value().tensors[0];
  CHECK(again.storage == storage);
  CHECK(std::ranges::equal(again.value.bytes(), trace.tensors[0].value.bytes()));
  CHECK(read.value().tensors[1].storage == storage);
  CHECK(file_of(read.value()) == file);
}

TEST_CASE("a tensor that is stored in 16 bits holds numbers of its format, and is judged by it", "[audit]") {
  Graph graph;
  graph.mark_output(graph.append(Op::scale, {graph.append_input(DType::float32, {1}, "x")}, ScaleAttributes{1.0 / 3}).value(), "y");
  const auto trace_with = [&](float result, ExecutionModel::Storage storage) {
    Trace trace;
    trace.tensors.push_back({"x", Trace::Origin::input, Tensor::of_floats({1}, std::vector<float>{1})});
    trace.tensors.push_back({"y", Trace::Origin::result, Tensor::of_floats({1}, std::vector<float>{result}), storage});
    trace.regions.push_back({"third", graph, {}, {0}, {1}});
    trace.regions[0].model.kind = ExecutionModel::Kind::floating;
    trace.outputs = {1};
    return trace;
  };
  const auto storage = ExecutionModel::Storage::bfloat16;
  const float right = 0x1.56p-2F, full = 1.0F / 3;
  CHECK(audit::check_continuity(trace_with(right, storage)).ok());
  CHECK(audit::audit_region(trace_with(right, storage), 0).value().total().passed == 1);
  CHECK(audit::check_continuity(trace_with(full, storage)).rejection().code == "audit.storage");
  CHECK(audit::audit_region(trace_with(full, ExecutionModel::Storage::same), 0).value().total().passed == 1);
  CHECK(audit::audit_region(trace_with(right, ExecutionModel::Storage::same), 0).value().total().failed == 1);
  const auto off = audit::audit_region(trace_with(right - 0x1p-9F, storage), 0);
  CHECK(off.value().total().failed == 1);
  CHECK(off.value().first->steps == 1);
  Trace integers = trace_with(right, storage);
  integers.tensors[0] = {"x", Trace::Origin::input, Tensor::of_ints({1}, std::vector<std::int64_t>{1}), storage};
  CHECK(audit::check_continuity(integers).rejection().code == "audit.storage");
}
