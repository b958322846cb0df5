#include "app/files/output_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

namespace assay::files {
namespace {

// The names in use. Leaked, so that a thread may still ask for them while the program ends.
struct Unfinished {
  std::mutex mutex;
  std::set<std::string> names;
};

Unfinished& unfinished() {
  static auto* const kUnfinished = new Unfinished;
  return *kUnfinished;
}

// The file that a chain of symbolic links ends in; the path itself where nothing is there yet.
std::string resolved(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path.c_str(), nullptr), &std::free);
  return target ? std::string(target.get()) : path;
}

// /dev/stdout may be redirected to a regular file, which is open already and must not be exchanged.
bool is_written_directly(const std::string& path) {
  struct stat status {};
  return path.starts_with("/dev/") || path.starts_with("/proc/") || (stat(path.c_str(), &status) == 0 && !S_ISREG(status.st_mode));
}

}  // namespace

Replacement::Replacement(const std::string& path) {
  constexpr int kTries = 100;  // names that may be taken by runs that were killed
  if (path.empty() || is_written_directly(path)) {
    place_ = name_ = path;
    return;
  }
  place_ = resolved(path);
  for (int i = 0; i < kTries; ++i) {
    const std::string name = place_ + ".part" + std::to_string(getpid()) + (i == 0 ? "" : "." + std::to_string(i));
    std::FILE* file = std::fopen(name.c_str(), "wbx");  // x: fails if the file exists
    if (file == nullptr && errno == EEXIST) continue;
    if (file == nullptr) return;
    struct stat before {};
    if (stat(place_.c_str(), &before) == 0) (void)fchmod(fileno(file), before.st_mode & 07777);
    (void)std::fclose(file);
    const std::lock_guard lock(unfinished().mutex);
    name_ = *unfinished().names.insert(name).first;
    return;
  }
}

Replacement::~Replacement() {
  if (name_.empty() || name_ == place_) return;
  const std::lock_guard lock(unfinished().mutex);
  if (unfinished().names.erase(name_) > 0) (void)std::remove(name_.c_str());
}

bool Replacement::take_place() {
  if (name_ == place_) return true;
  const std::lock_guard lock(unfinished().mutex);
  if (std::rename(name_.c_str(), place_.c_str()) != 0) return false;
  unfinished().names.erase(name_);
  return true;
}

Rejection unwritten_file(const char* code, const std::string& path) {
  return {Rejection::Kind::declined, code, path, "a file that can be written", std::strerror(errno), "check path, permissions and space"};
}

std::optional<std::string> write_file(const std::string& path, const std::function<void(const Sink&)>& fill) {
  Replacement replacement(path);
  std::FILE* file = replacement.name().empty() ? nullptr : std::fopen(replacement.name().c_str(), "wb");
  int error = file == nullptr ? errno : 0;
  if (file != nullptr) {
    fill([&](std::span<const std::byte> part) {
      if (error == 0 && std::fwrite(part.data(), 1, part.size(), file) != part.size()) error = errno;
    });
    if (std::fclose(file) != 0 && error == 0) error = errno;
    if (error == 0 && !replacement.take_place()) error = errno;
  }
  return error == 0 ? std::nullopt : std::optional<std::string>(std::strerror(error));
}

std::optional<std::string> write_file(const std::string& path, std::string_view text) {
  return write_file(path, [text](const Sink& sink) { sink(std::as_bytes(std::span(text))); });
}

void remove_unfinished_files() {
  const std::lock_guard lock(unfinished().mutex);
  for (const std::string& name : unfinished().names) (void)std::remove(name.c_str());
  unfinished().names.clear();
}

}  // namespace assay::files
