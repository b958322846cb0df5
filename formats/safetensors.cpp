#include "formats/safetensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "formats/json.h"

namespace assay::formats {

namespace {

using Json = nlohmann::ordered_json;

static_assert(std::endian::native == std::endian::little, "tensors are little endian in the file");

constexpr std::uint64_t kMaxHeader = 100'000'000;  // bytes, the limit of the reference implementation
constexpr std::size_t kLengthBytes = 8;
constexpr std::size_t kMaxRank = 64;

Rejection malformed(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, std::string("safetensors.") + code,
          std::move(place),           std::move(required),
          std::move(found),           "write the file again with a safetensors library"};
}

// Parses with duplicate keys of one object refused.
Outcome<Json> parse_header(std::string_view text) {
  std::vector<std::set<std::string>> keys;
  std::string duplicate;
  const auto watch = [&](int, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) duplicate = parsed.get<std::string>();
    return true;
  };
  Json json = is_nested_too_deep(text) ? Json(Json::value_t::discarded) : Json::parse(text, watch, false);
  if (!duplicate.empty()) return malformed("duplicate", "header", "each name once", "\"" + duplicate + "\" twice");
  if (!json.is_object()) return malformed("json", "header", "a JSON object", json.is_discarded() ? kNoJson : json.type_name());
  return json;
}

bool read_list(const Json& json, std::size_t most, std::vector<std::int64_t>& result) {
  if (!json.is_array() || json.size() > most) return false;
  for (const Json& one : json) {
    if (!one.is_number_integer() || (one.is_number_unsigned() && one.get<std::uint64_t>() > INT64_MAX)) return false;
    if (one.get<std::int64_t>() < 0) return false;
    result.push_back(one.get<std::int64_t>());
  }
  return true;
}

// Overflow gives a number that no file has.
std::uint64_t bytes_of(std::size_t element, const std::vector<std::int64_t>& shape) {
  std::uint64_t bytes = element;
  for (const std::int64_t extent : shape) {
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(extent), &bytes)) return UINT64_MAX;
  }
  return bytes;
}

Outcome<Safetensors::Entry> read_entry(const std::string& name, const Json& json, std::span<const std::byte> data) {
  const std::string place = "tensor \"" + name + "\"";
  Safetensors::Entry entry{name, {}, {}, {}};
  std::vector<std::int64_t> offsets;
  if (!json.is_object() || !json.contains("dtype") || !json["dtype"].is_string() || !json.contains("shape") ||
      !read_list(json["shape"], kMaxRank, entry.shape) || !json.contains("data_offsets") || !read_list(json["data_offsets"], 2, offsets) ||
      offsets.size() != 2) {
    return malformed("entry", place, "dtype, shape and data_offsets",
                     json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200));
  }
  entry.dtype = json["dtype"].get<std::string>();
  const std::size_t element = element_size(entry.dtype);
  if (element == 0) return malformed("type", place, "a type of the format", "\"" + entry.dtype + "\"");
  const auto begin = static_cast<std::uint64_t>(offsets[0]), end = static_cast<std::uint64_t>(offsets[1]);
  if (begin > end || end > data.size())
    return malformed("offsets", place, "0 <= begin <= end <= " + std::to_string(data.size()), json["data_offsets"].dump());
  if (end - begin != bytes_of(element, entry.shape))
    return malformed("size", place, entry.dtype + " times " + json["shape"].dump() + " bytes", std::to_string(end - begin));
  entry.bytes = data.subspan(begin, end - begin);
  return entry;
}

Outcome<Done> check_cover(const std::vector<Safetensors::Entry>& entries, std::span<const std::byte> data) {
  const std::byte* at = data.data();
  for (const Safetensors::Entry& entry : entries) {
    if (entry.bytes.data() != at)
      return malformed("offsets", "tensor \"" + entry.name + "\"", "bytes right after those of the one before", "a hole or an overlap");
    at += entry.bytes.size();
  }
  if (at != data.data() + data.size())
    return malformed("offsets", "data", "no bytes after the last tensor", std::to_string(data.data() + data.size() - at));
  return Done{};
}

}  // namespace

std::size_t element_size(std::string_view dtype) {
  static const std::map<std::string_view, std::size_t> kSizes = {
      {"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1}, {"I16", 2}, {"U16", 2}, {"F16", 2},
      {"BF16", 2}, {"I32", 4}, {"U32", 4}, {"F32", 4},     {"F64", 8},     {"I64", 8}, {"U64", 8}, {"C64", 8}};
  const auto found = kSizes.find(dtype);
  return found == kSizes.end() ? 0 : found->second;
}

Outcome<Safetensors> read_safetensors(std::span<const std::byte> file) {
  if (file.size() < kLengthBytes) return malformed("length", "file", "at least 8 bytes", std::to_string(file.size()));
  std::uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  if (length > kMaxHeader || length > file.size() - kLengthBytes) {
    return malformed("length", "byte 0",
                     "a header of at most " + std::to_string(std::min<std::uint64_t>(kMaxHeader, file.size() - kLengthBytes)) + " bytes",
                     std::to_string(length));
  }
  auto header = parse_header({reinterpret_cast<const char*>(file.data()) + kLengthBytes, length});
  if (!header) return header.rejection();
  const std::span<const std::byte> data = file.subspan(kLengthBytes + length);
  Safetensors result;
  for (const auto& [name, json] : header.value().items()) {
    if (name != "__metadata__") {
      auto entry = read_entry(name, json, data);
      if (!entry) return entry.rejection();
      result.entries.push_back(std::move(entry).value());
      continue;
    }
    if (!json.is_object()) return malformed("entry", "__metadata__", "an object", json.type_name());
    for (const auto& [key, text] : json.items()) {
      if (!text.is_string()) return malformed("entry", "__metadata__, \"" + key + "\"", "text", text.type_name());
      result.metadata[key] = text.get<std::string>();
    }
  }
  std::ranges::stable_sort(result.entries, [](const auto& a, const auto& b) {
    return std::pair(a.bytes.data(), a.bytes.size()) < std::pair(b.bytes.data(), b.bytes.size());
  });
  if (auto covered = check_cover(result.entries, data); !covered) return covered.rejection();
  return result;
}

std::string safetensors_header(const Safetensors& content) {
  Json json = Json::object();
  if (!content.metadata.empty()) json["__metadata__"] = content.metadata;
  std::uint64_t at = 0;
  for (const Safetensors::Entry& entry : content.entries) {
    json[entry.name] = {{"dtype", entry.dtype}, {"shape", entry.shape}, {"data_offsets", {at, at + entry.bytes.size()}}};
    at += entry.bytes.size();
  }
  std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  text.append((kLengthBytes - text.size() % kLengthBytes) % kLengthBytes, ' ');
  const std::uint64_t length = text.size();
  std::string prefix(kLengthBytes, '\0');
  std::memcpy(prefix.data(), &length, kLengthBytes);
  return prefix + text;
}

}  // namespace assay::formats
