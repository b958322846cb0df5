#include "app/runs/pack.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "app/runs/store.h"
#include "semantics/statement/statement.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMark = "ASSAYPK1";
constexpr std::uint64_t kEntryBytes = 48, kEndBytes = 16;

struct Entry {
  std::string digest;  // as text
  std::uint64_t offset = 0, length = 0;
};

class File {
 public:
  explicit File(const std::string& path) : File(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)) {}
  explicit File(int file) : file_(file) {}
  ~File() {
    if (file_ >= 0) (void)::close(file_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] bool ok() const { return file_ >= 0; }
  [[nodiscard]] int descriptor() const { return file_; }
  [[nodiscard]] std::uint64_t size() const {
    struct stat status {};
    return file_ >= 0 && ::fstat(file_, &status) == 0 && S_ISREG(status.st_mode) && !is_hollow(status)
               ? static_cast<std::uint64_t>(status.st_size)
               : 0;
  }
  [[nodiscard]] bool has(std::uint64_t offset, std::uint64_t length) const { return offset <= size() && length <= size() - offset; }
  // Into another file, by the system: no copy of it in between.
  [[nodiscard]] bool copy(std::uint64_t offset, std::uint64_t length, int into) const {
    auto at = static_cast<off_t>(offset);
    while (length > 0) {
      const ssize_t put = ::sendfile(into, file_, &at, length);
      if (put <= 0) return false;
      length -= static_cast<std::uint64_t>(put);
    }
    return true;
  }
  // Empty where not all of it is there.
  [[nodiscard]] std::string read(std::uint64_t offset, std::uint64_t length) const {
    if (!has(offset, length)) return "";
    std::string content(length, '\0');
    std::size_t done = 0;
    while (done < length) {
      const ssize_t got = ::pread(file_, content.data() + done, length - done, static_cast<off_t>(offset + done));
      if (got <= 0) return "";
      done += static_cast<std::size_t>(got);
    }
    return content;
  }

 private:
  int file_;
};

bool write_all(int file, std::string_view content) {
  while (!content.empty()) {
    const ssize_t put = ::write(file, content.data(), content.size());
    if (put <= 0) return false;
    content.remove_prefix(static_cast<std::size_t>(put));
  }
  return true;
}

void put_u64(std::string& out, std::uint64_t value) {
  for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(value >> (8 * i) & 0xFF));
}

std::uint64_t u64_at(std::string_view bytes, std::size_t at) {
  std::uint64_t value = 0;
  for (std::size_t i = 8; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(bytes[at + i]);
  return value;
}

std::string pack_path(const std::string& folder) { return (fs::path(folder) / "certificates.pack").string(); }

// The index of a pack, entry by entry where it lies: a run may have millions.
class Index {
 public:
  explicit Index(const File& file) : file_(file) {
    const std::uint64_t size = file.size();
    if (size < kMark.size() + kEndBytes) return;
    const std::string end = file.read(size - kEndBytes, kEndBytes);
    if (end.size() != kEndBytes || end.substr(8) != kMark || file.read(0, kMark.size()) != kMark) return;
    const std::uint64_t count = u64_at(end, 0);
    if (count > (size - kEndBytes - kMark.size()) / kEntryBytes) return;
    count_ = count;
    first_ = size - kEndBytes - count * kEntryBytes;
  }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Entry at(std::uint64_t number) const {
    const std::string bytes = file_.read(first_ + number * kEntryBytes, kEntryBytes);
    if (bytes.size() != kEntryBytes) return {};
    statement::Digest digest{};
    std::memcpy(digest.data(), bytes.data(), digest.size());
    return {statement::to_hex(digest), u64_at(bytes, 32), u64_at(bytes, 40)};
  }
  [[nodiscard]] std::optional<Entry> find(const std::string& digest) const {
    std::uint64_t low = 0, high = count_;
    while (low < high) {
      const std::uint64_t middle = low + (high - low) / 2;
      Entry entry = at(middle);
      if (entry.digest == digest) return entry;
      (entry.digest < digest ? low : high) = entry.digest < digest ? middle + 1 : middle;
    }
    return std::nullopt;
  }

 private:
  const File& file_;
  std::uint64_t count_ = 0, first_ = 0;
};

std::string digest_bytes(const std::string& text) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) bytes.push_back(static_cast<char>(std::stoi(text.substr(i, 2), nullptr, 16)));
  return bytes;
}

bool is_certificate(const fs::path& path) {
  const std::string name = path.stem().string();
  return path.extension() == ".assay" && name.size() == 64 && name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string digest_of(const std::string& content) { return statement::to_hex(statement::sha256(std::as_bytes(std::span(content)))); }

Rejection damaged(const std::string& path) {
  return {Rejection::Kind::malformed, "store.pack", path, "a pack with an index", "one that is damaged", "move the file away"};
}

Rejection unwritable(const std::string& path) {
  return {Rejection::Kind::declined,
          "store.write",
          path,
          "a pack that can be written",
          std::strerror(errno == 0 ? ENOSPC : errno),
          "the certificates stay where they were; make room"};
}

}  // namespace

std::optional<KeptCertificate> KeptCertificate::find(const std::string& folder, const std::string& digest) {
  const std::string own = certificate_path(folder, digest);
  std::error_code error;
  if (fs::is_regular_file(own, error)) return KeptCertificate(own, -1);
  const File file(pack_path(folder));
  if (!file.ok()) return std::nullopt;
  const std::optional<Entry> entry = Index(file).find(digest);
  if (!entry || entry->length > kMostPacked || !file.has(entry->offset, entry->length)) return std::nullopt;
  const int memory = ::memfd_create("certificate", MFD_CLOEXEC);
  if (memory < 0) return std::nullopt;
  KeptCertificate kept("/proc/self/fd/" + std::to_string(memory), memory);
  if (!file.copy(entry->offset, entry->length, memory)) return std::nullopt;
  return kept;
}

KeptCertificate::KeptCertificate(KeptCertificate&& other) noexcept
    : path_(std::move(other.path_)), memory_(std::exchange(other.memory_, -1)) {}

KeptCertificate::~KeptCertificate() {
  if (memory_ >= 0) (void)::close(memory_);
}

Outcome<Packed> pack(const std::string& folder) {
  const auto lock = FolderLock::take(folder);
  if (!lock) return lock.rejection();
  const std::string place = pack_path(folder), name = place + ".part";
  const File before(place);
  const Index index(before);
  std::error_code error;
  if (before.ok() && index.count() == 0 && fs::file_size(place, error) > kMark.size() + kEndBytes) return damaged(place);
  std::vector<fs::path> files;
  for (const auto& one : fs::recursive_directory_iterator(fs::path(folder) / "certificates", error))
    if (is_certificate(one.path()) && fs::is_regular_file(one.symlink_status())) files.push_back(one.path());
  Packed all;
  const File out(create_to_write(name));
  errno = 0;
  std::uint64_t at = kMark.size();
  bool written = out.ok() && write_all(out.descriptor(), kMark);
  const auto append = [&](const std::string& content) {
    written = written && write_all(out.descriptor(), content);
    return std::exchange(at, at + content.size());
  };
  // Entries that share their bytes could make of a small pack a large one: those of a pack of ours do not.
  std::vector<Entry> entries;
  std::set<std::string> packed;
  for (std::uint64_t k = 0, kept = 0; k < index.count() && written; ++k) {
    Entry entry = index.at(k);
    const bool is_long = entry.length > kMostPacked && before.has(entry.offset, entry.length);
    const std::string content = is_long ? "" : before.read(entry.offset, entry.length);
    const bool whole = content.size() == entry.length && digest_of(content) == entry.digest;
    all.damaged += whole ? 0 : 1;
    if (!is_long && (!whole || !packed.insert(entry.digest).second)) continue;
    kept += entry.length;
    if (is_long || kept > before.size()) {
      (void)::unlink(name.c_str());
      return damaged(place);
    }
    entry.offset = append(content);
    entries.push_back(std::move(entry));
  }
  std::vector<fs::path> moved;
  for (const fs::path& path : files) {
    if (fs::file_size(path, error) > kMostPacked) continue;
    if (file_digest(path.string()) != path.stem().string()) {
      ++all.damaged;
      continue;
    }
    moved.push_back(path);
    if (!packed.insert(path.stem().string()).second) continue;
    const File file(path.string());
    const std::uint64_t length = file.size();
    entries.push_back({path.stem().string(), append(file.read(0, length)), length});
  }
  std::ranges::sort(entries, {}, &Entry::digest);
  std::string end;
  for (const Entry& entry : entries) {
    end += digest_bytes(entry.digest);
    put_u64(end, entry.offset);
    put_u64(end, entry.length);
  }
  put_u64(end, entries.size());
  append(end + std::string(kMark));
  if (!written || ::fsync(out.descriptor()) != 0 || ::rename(name.c_str(), place.c_str()) != 0) {
    const Rejection why = unwritable(place);
    (void)::unlink(name.c_str());
    return why;
  }
  for (const fs::path& path : moved) {
    fs::remove(path, error);
    (void)::rmdir(path.parent_path().c_str());  // where it was the last one
  }
  all.certificates = entries.size();
  all.bytes = at;
  return all;
}

}  // namespace assay::runs
