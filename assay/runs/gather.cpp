#include "assay/runs/gather.h"

#include <charconv>
#include <filesystem>
#include <optional>
#include <set>
#include <utility>

#include "assay/runs/pack.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

std::pair<std::size_t, std::string> key_of(const Json& result) {
  const std::string eps = text_of(result, "eps");
  return {count_of(result, eps.empty() ? "instance" : "item"), eps};
}

}  // namespace

bool parse_part(const std::string& text, std::size_t& part, std::size_t& parts) {
  const char* const end = text.data() + text.size();
  const auto first = std::from_chars(text.data(), end, part);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '/') return false;
  const auto second = std::from_chars(first.ptr + 1, end, parts);
  if (second.ec != std::errc() || second.ptr != end || part < 1 || part > parts) return false;
  --part;
  return true;
}

bool is_in_part(std::size_t number, const Json& claim) {
  std::size_t part = 0, parts = 1;
  return !parse_part(text_of(claim, "part"), part, parts) || number % parts == part;
}

Outcome<Gathered> gather(const std::string& folder, const std::vector<std::string>& parts) {
  Gathered gathered;
  std::unique_ptr<Store> store;
  std::set<std::pair<std::size_t, std::string>> there;
  for (const std::string& part : parts) {
    auto manifest = read_manifest(part);
    if (!manifest) return manifest.rejection();
    Json whole = manifest.value();
    whole["claim"]["part"] = "";
    if (store == nullptr) {
      auto opened = Store::open(folder, whole, true);
      if (!opened) return opened.rejection();
      store = std::move(opened).value();
      auto read = for_each_result(folder, [&](std::size_t, const Json& result) { there.insert(key_of(result)); });
      if (!read) return read.rejection();
    }
    for (const char* member : {"kind", "claim"}) {
      if (member_of(read_manifest(folder).value(), member) != member_of(whole, member))
        return Rejection{
            Rejection::Kind::malformed, "gather.other_run", part, "a part of the same run", std::string("another ") + member, ""};
    }
    std::optional<Rejection> failure;
    auto read = for_each_result(part, [&](std::size_t, const Json& result) {
      if (failure || result.is_null()) return;
      if (there.contains(key_of(result))) {
        ++gathered.twice;
        return;
      }
      const std::string digest = text_of(result, "certificate");
      if (!digest.empty()) {
        const std::string scratch = store->scratch();
        std::error_code error;
        const auto kept = digest.size() == 64 ? KeptCertificate::find(part, digest) : std::nullopt;
        if (!kept || !fs::copy_file(kept->path(), scratch, error) || file_digest(scratch) != digest) {
          ++gathered.left_out;
          return;
        }
        if (auto stored = store->keep(scratch); !stored) failure = stored.rejection();
      }
      if (failure) return;
      if (auto appended = store->append(result); !appended) failure = appended.rejection();
      there.insert(key_of(result));
      ++gathered.added;
    });
    if (!read) return read.rejection();
    if (failure) return *failure;
  }
  return gathered;
}

}  // namespace assay::runs
