// The folder of a run has its request, the results so far, and the certificates.
//
//   run.json           the manifest: what is claimed about what, by digests; options; versions
//   results.jsonl      one line per result, appended when it is known
//   certificates/      by the SHA-256 of their bytes: ab/abcdef....assay; or in certificates.pack (pack.h)
//   lock, scratch/     of the program that works on the folder
//
// A result's certificate is in its place before its line is appended with one write. A run that is killed at any moment therefore
// misses at most the results in work, and an incomplete last line is dropped. One program works on a folder at a time. Somebody
// else may have prepared the folder, so nothing is written through links in it, and only regular files are read.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "frontends/onnx/edits.h"
#include "semantics/outcome.h"

namespace assay::runs {

using Json = nlohmann::ordered_json;

// Of the folder of a run, for one program at a time.
class FolderLock {
 public:
  // Code store.locked, or store.write.
  [[nodiscard]] static Outcome<FolderLock> take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(int file) : file_(file) {}
  int file_ = -1;
};

class Store {
 public:
  // A new run in a folder that is not there or empty, or with `resume` the one that it holds, whose manifest must have the same "schema",
  // "kind" and "claim". Codes store.*; `declined` where another program holds the lock or nothing can be written.
  [[nodiscard]] static Outcome<std::unique_ptr<Store>> open(const std::string& folder, const Json& manifest, bool resume);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // Instead of all lines so far, these, in one step.
  [[nodiscard]] Outcome<Done> replace(const std::vector<Json>& results);
  // From any thread. A line that could not be written whole is taken back; nothing that was written before is lost.
  [[nodiscard]] Outcome<Done> append(const Json& result);
  // The name of a file to write a certificate to; keep() moves it to its place and gives its digest.
  [[nodiscard]] std::string scratch();
  [[nodiscard]] Outcome<std::string> keep(const std::string& scratch);
  // The times since the last results reached the disk; called at the end, and now and then by append.
  void flush();

 private:
  Store() = default;
  std::string folder_;
  std::optional<FolderLock> lock_;
  int results_ = -1, certificates_ = -1;  // descriptors: of the file, of the folder
  std::mutex mutex_;
  std::uint64_t next_ = 0;
  std::chrono::steady_clock::time_point flushed_{};
};

// Of a run's folder; `malformed` where there is none.
[[nodiscard]] Outcome<Json> read_manifest(const std::string& folder);
// Every complete line in order; `take` gets the line's number and the result, or null where the line is damaged. Returns the bytes
// of a last line that has no end.
[[nodiscard]] Outcome<std::size_t> for_each_result(const std::string& folder, const std::function<void(std::size_t, const Json&)>& take);
[[nodiscard]] std::string certificate_path(const std::string& folder, const std::string& digest);
[[nodiscard]] bool is_run(const std::string& folder);

// Members of an object from another writer, with a default where they are not there or of another type.
[[nodiscard]] std::string text_of(const Json& object, const char* key, const std::string& otherwise = "");
[[nodiscard]] std::int64_t whole_of(const Json& object, const char* key, std::int64_t otherwise = 0);
[[nodiscard]] std::size_t count_of(const Json& object, const char* key);  // from 0
[[nodiscard]] double number_of(const Json& object, const char* key);
[[nodiscard]] bool flag_of(const Json& object, const char* key);
[[nodiscard]] Json member_of(const Json& object, const char* key);  // null where there is none
// The value as one text, whatever the order of its members.
[[nodiscard]] std::string exact_text(const Json& value);
// The name of a member that is not the same in both objects, in value and type; none where there is none.
[[nodiscard]] std::optional<std::string> first_difference(const Json& some, const Json& other);
[[nodiscard]] std::vector<std::string> texts_of(const Json& object, const char* key);
// The options of a model in a claim, a split or a report; nothing where there are none. What is no option is left out when they are read.
void add_edits(Json& object, const onnx::Edits& edits);
[[nodiscard]] onnx::Edits edits_of(const Json& object);

// A file for a program that writes it: never a link, a pipe or what has a second name elsewhere. The descriptor; -1 with errno.
[[nodiscard]] int open_to_write(const std::string& path, int flags);
// The same, of a new file in the place of whatever stands there.
[[nodiscard]] int create_to_write(const std::string& path);

// Returns true for a long file of which the disk holds next to nothing: it consists of holes, and is not worth reading.
[[nodiscard]] bool is_hollow(const struct stat& status);

// SHA-256 of a regular file as text; empty where it cannot be read, or is hollow.
[[nodiscard]] std::string file_digest(const std::string& path);

// Calls the body with each number below `count`, in order of their starts, on so many threads, until it returns false. Its
// exceptions are rethrown here.
void for_each_in_parallel(std::size_t count, unsigned jobs, const std::function<bool(std::size_t number, unsigned worker)>& body);

}  // namespace assay::runs
