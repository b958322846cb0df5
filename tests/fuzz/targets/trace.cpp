// Traces: what is read is written, and read again as the same. The mutator changes the description as text and renews the checksums of the
// tensors, so that what is behind them is reached.
#include "formats/trace.h"

#include <zlib.h>

#include <nlohmann/json.hpp>
#include <random>

#include "tests/fuzz/targets/target.h"

using namespace assay;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

using Json = nlohmann::ordered_json;
constexpr const char* kKey = "assay.trace";

std::string written(const Trace& trace) {
  std::string file;
  formats::write_trace(
      trace, [&file](std::span<const std::byte> bytes) { file.append(reinterpret_cast<const char*>(bytes.data()), bytes.size()); });
  return file;
}

// The trace with its description, a text, or its tensors' bytes changed.
std::string changed(const formats::Safetensors& content, std::minstd_rand& random) {
  formats::Safetensors next = content;
  std::string text = content.metadata.at(kKey), tensors;
  for (const auto& entry : content.entries) tensors.append(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
  if (random() % 4 != 0) {
    const std::size_t size = text.size();
    text.resize(size + 64);
    text.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(text.data()), size, text.size()));
  } else if (!tensors.empty()) {
    tensors.resize(
        std::max(tensors.size(), LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(tensors.data()), tensors.size(), tensors.size())));
  }
  Json json = Json::parse(text, nullptr, false);
  std::size_t at = 0;
  for (auto& entry : next.entries) {
    entry.bytes = fuzz::bytes_of(std::string_view(tensors).substr(at, entry.bytes.size()));
    at += entry.bytes.size();
    if (json.is_object() && json.contains("crc32") && json["crc32"].is_object())
      json["crc32"][entry.name] = ::crc32_z(0, reinterpret_cast<const unsigned char*>(entry.bytes.data()), entry.bytes.size());
  }
  next.metadata[kKey] = json.is_object() ? json.dump(-1, ' ', true, Json::error_handler_t::replace) : text;
  return formats::safetensors_header(next) + tensors;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const std::string file(fuzz::text_of(data, size));
  const auto content = formats::read_safetensors(fuzz::bytes_of(file));
  if (random() % 8 == 0 || !content || !content.value().metadata.contains(kKey)) return LLVMFuzzerMutate(data, size, max_size);
  const std::string next = changed(content.value(), random);
  if (next.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(next.begin(), next.end(), data);
  return next.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  const auto trace = formats::read_trace(fuzz::bytes_of(fuzz::text_of(data, size)));
  if (!trace) return 0;
  const std::string file = written(trace.value());
  const auto again = formats::read_trace(fuzz::bytes_of(file));
  fuzz::expect_ok(again, "a trace that was written can be read");
  fuzz::expect(written(again.value()) == file, "a trace that was written is read as it was");
  return 0;
}
