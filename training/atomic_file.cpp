#include "training/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace assay::training {

namespace {

Rejection failed(const char* code, const std::string& path, const char* doing) {
  return {Rejection::Kind::malformed,
          std::string("training.") + code,
          path,
          doing,
          std::strerror(errno),
          "see whether the folder exists and has room"};
}

// Closed when it goes.
class File {
 public:
  explicit File(int number) : number_(number) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (number_ >= 0) (void)::close(number_);
  }
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] bool close() { return ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

bool write_all(int file, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Outcome<Done> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts) {
  const std::string beside = path + ".part";
  constexpr mode_t kMode = 0666;  // less what the process masks
  File file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode));
  if (file.number() < 0) return failed("write", beside, "a file that can be written");
  for (const auto part : parts) {
    if (!write_all(file.number(), part)) return failed("write", beside, "room for the file");
  }
  if (::fsync(file.number()) != 0 || !file.close()) return failed("write", beside, "a file that reaches the disk");
  if (std::rename(beside.c_str(), path.c_str()) != 0) return failed("write", path, "a name that can be given");
  const std::size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const File directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.number() < 0 || ::fsync(directory.number()) != 0) return failed("write", folder, "a folder that reaches the disk");
  return Done{};
}

Outcome<std::vector<std::byte>> read_whole(const std::string& path) {
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  struct stat status {};
  if (file.number() < 0 || ::fstat(file.number(), &status) != 0) return failed("read", path, "a file that can be read");
  if (!S_ISREG(status.st_mode)) {
    errno = EINVAL;
    return failed("read", path, "a regular file");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (at < bytes.size()) {
    const ssize_t count = ::read(file.number(), bytes.data() + at, bytes.size() - at);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return failed("read", path, "bytes that can be read");
    if (count == 0) break;
    at += static_cast<std::size_t>(count);
  }
  bytes.resize(at);
  return bytes;
}

}  // namespace assay::training
