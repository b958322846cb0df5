// Output files are replaced atomically. A program writes under another name in the same folder and renames the complete file. The
// file that was there before stays until then; a run that fails or is ended leaves nothing behind.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "semantics/outcome.h"

namespace assay::files {

// A file that takes its place when it is complete. A device, a pipe or anything else that is no regular file is written directly.
class Replacement {
 public:
  explicit Replacement(const std::string& path);
  ~Replacement();  // removes what did not take its place
  Replacement(const Replacement&) = delete;
  Replacement& operator=(const Replacement&) = delete;

  // The name of the file to open and write. It is empty where no file could be made in the folder; errno then says why.
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool take_place();  // false: errno says why

 private:
  std::string place_, name_;
};

// Says, by errno, why the file could not be written.
[[nodiscard]] Rejection unwritten_file(const char* code, const std::string& path);

// Writes the parts that `fill` hands over, or the text. Returns nothing if the file is complete, else the reason why it could not
// be written.
using Sink = std::function<void(std::span<const std::byte>)>;
[[nodiscard]] std::optional<std::string> write_file(const std::string& path, const std::function<void(const Sink&)>& fill);
[[nodiscard]] std::optional<std::string> write_file(const std::string& path, std::string_view text);

// For a program that ends at once, while files are still being written: removes these.
void remove_unfinished_files();

}  // namespace assay::files
