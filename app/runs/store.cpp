#include "app/runs/store.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>
#include <utility>
#include <vector>

#include "formats/json.h"
#include "semantics/printable.h"
#include "semantics/statement/statement.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

constexpr double kFlushSeconds = 1;  // between calls that wait for the disk
// Limits on files that somebody else may have written: no run has longer ones.
constexpr std::uintmax_t kLongestManifest = std::uintmax_t{64} << 20;
constexpr std::size_t kLongestLine = std::size_t{16} << 20;

Rejection unwritable(const std::string& path, int error) {
  return {Rejection::Kind::declined,
          "store.write",
          path,
          "a folder of the run that can be written",
          std::strerror(error),
          "what was written before is kept; make room, then go on with --resume"};
}

constexpr const char* kCopyAgain = "copy the folder again, or start its run again with --resume, which keeps results that pass a check";

Rejection no_run(const std::string& folder, std::string found, const char* advice = kCopyAgain) {
  return {Rejection::Kind::malformed, "store.run", folder, "the folder that `assay robust` or `assay batch` wrote with --run",
          std::move(found),           advice};
}

Rejection hollow_results(const std::string& folder) {
  return no_run(folder, "a results.jsonl that consists of holes: the disk holds next to nothing of it",
                "copy the folder again; or move results.jsonl away and start its run again with --resume");
}

// Of a folder without run.json: whether a run lost it, whether certificates lie there, or nothing of either kind.
Rejection no_manifest(const std::string& folder) {
  std::error_code error;
  if (fs::exists(fs::path(folder) / "results.jsonl", error))
    return no_run(folder, "results.jsonl without run.json, which says what was asked", kCopyAgain);
  const auto is_certificate = [](const fs::directory_entry& one) { return one.path().extension() == ".assay"; };
  const fs::directory_iterator files(folder, error);
  const auto count = error ? 0 : std::count_if(begin(files), end(files), is_certificate);
  if (count == 0) return no_run(folder, "no run.json there", "name the folder that --run named");
  return no_run(folder, "no run.json there, and certificates of no run: " + std::to_string(count),
                "check each with `assay check MODEL PROPERTY CERTIFICATE`, or all with --list FILE, which has such lines");
}

std::string line_of(const Json& result) { return result.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n"; }

constexpr std::size_t kTrimEach = 64;  // bodies of a parallel loop

// Before 2.38 glibc does not use aligned memory again that was freed: a long run of short searches would keep all of it.
void return_free_memory() {
#if defined(__GLIBC__)
  (void)malloc_trim(0);
#endif
}

// A line without its end; of one that is too long only so much that this shows. False where the file ends before the line does.
bool next_line(std::streambuf& file, std::string& line) {
  line.clear();
  for (int c = file.sbumpc(); c != EOF; c = file.sbumpc()) {
    if (c == '\n') return true;
    if (line.size() <= kLongestLine) line.push_back(static_cast<char>(c));
  }
  return false;
}

// Beside its place, then renamed.
Outcome<Done> write_beside(const fs::path& path, std::string_view text) {
  const std::string name = path.string() + ".part";
  const int file = create_to_write(name);
  int error = file < 0 ? errno : 0;
  if (file >= 0) {
    for (errno = 0; !text.empty() && error == 0;) {
      const ssize_t put = ::write(file, text.data(), text.size());
      if (put <= 0) error = errno == 0 ? ENOSPC : errno;
      text.remove_prefix(put > 0 ? static_cast<std::size_t>(put) : 0);
    }
    if (error == 0 && ::fsync(file) != 0) error = errno;
    if (::close(file) != 0 && error == 0) error = errno;
    if (error == 0 && ::rename(name.c_str(), path.c_str()) != 0) error = errno;
    if (error != 0) (void)::unlink(name.c_str());
  }
  if (error != 0) return unwritable(path.string(), error);
  return Done{};
}

// Cuts off the rest of an interrupted write behind the last complete line.
Outcome<Done> drop_torn_line(int file, const std::string& path) {
  const off_t size = ::lseek(file, 0, SEEK_END);
  constexpr off_t kStep = 4096;
  off_t end = size;
  while (end > 0) {
    std::array<char, kStep> buffer{};
    const off_t start = end > kStep ? end - kStep : 0;
    if (::pread(file, buffer.data(), static_cast<std::size_t>(end - start), start) != end - start) return unwritable(path, errno);
    off_t i = end - start;
    while (i > 0 && buffer[static_cast<std::size_t>(i - 1)] != '\n') --i;
    end = start + i;
    if (i > 0) break;
  }
  if (end != size && ::ftruncate(file, end) != 0) return unwritable(path, errno);
  return Done{};
}

std::string shown_member(const std::string& name, const Json& value) {
  return value.is_null() ? "no " + name : name + " " + value.dump().substr(0, 160);
}

Outcome<Done> check_same(const std::string& folder, const Json& manifest) {
  auto before = read_manifest(folder);
  if (!before) return before.rejection();
  for (const char* part : {"schema", "kind", "claim"}) {
    const Json was = member_of(before.value(), part), is = member_of(manifest, part);
    if (was == is) continue;
    std::string name = part;
    Json asked = is, kept = was;
    if (const auto member = is.is_object() && was.is_object() ? first_difference(is, was) : std::nullopt) {
      name = *member;
      asked = member_of(is, name.c_str());
      kept = member_of(was, name.c_str());
    }
    return Rejection{Rejection::Kind::malformed,
                     "store.other_run",
                     folder,
                     "a run with " + shown_member(name, asked) + ", as this command asks",
                     "one with " + shown_member(name, kept) + " in its run.json",
                     "name another folder with --run, or start with the arguments of that run"};
  }
  return Done{};
}

}  // namespace

Outcome<FolderLock> FolderLock::take(const std::string& folder) {
  FolderLock lock(open_to_write((fs::path(folder) / "lock").string(), O_RDWR | O_CREAT));
  if (lock.file_ < 0) return unwritable(folder, errno);
  if (::flock(lock.file_, LOCK_EX | LOCK_NB) == 0) return lock;
  return Rejection{Rejection::Kind::declined,
                   "store.locked",
                   folder,
                   "a folder on which no other program works",
                   "one that is locked",
                   "wait for the other run, or name another folder with --run"};
}

FolderLock::FolderLock(FolderLock&& other) noexcept : file_(std::exchange(other.file_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(file_, other.file_);
  return *this;
}

FolderLock::~FolderLock() {
  if (file_ >= 0) (void)::close(file_);
}

Outcome<std::unique_ptr<Store>> Store::open(const std::string& folder, const Json& manifest, bool resume) {
  std::error_code error;
  const fs::path root(folder);
  fs::create_directories(root, error);
  if (error) return unwritable(folder, error.value());
  std::unique_ptr<Store> store(new Store);
  store->folder_ = folder;
  auto lock = FolderLock::take(folder);
  if (!lock) return lock.rejection();
  store->lock_ = std::move(lock).value();
  const bool exists = is_run(folder);
  if (exists && !resume)
    return Rejection{Rejection::Kind::malformed,
                     "store.exists",
                     folder,
                     "a new folder",
                     "one that holds a run",
                     "go on with it by --resume, or name another folder"};
  if (exists) {
    if (auto same = check_same(folder, manifest); !same) return same.rejection();
  }
  const std::string certificates = (root / "certificates").string(), results = (root / "results.jsonl").string();
  fs::remove_all(root / "scratch", error);
  fs::create_directories(root / "scratch", error);
  if (error) return unwritable(folder, error.value());
  (void)::mkdir(certificates.c_str(), 0755);
  store->certificates_ = ::open(certificates.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (store->certificates_ < 0) return unwritable(certificates, errno);
  if (!exists) {
    if (auto written = write_beside(root / "run.json", manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"); !written)
      return written.rejection();
  }
  store->results_ = open_to_write(results, O_RDWR | O_CREAT | O_APPEND);
  if (store->results_ < 0) return unwritable(results, errno);
  struct stat status {};
  if (::fstat(store->results_, &status) == 0 && is_hollow(status)) return hollow_results(folder);
  if (auto dropped = drop_torn_line(store->results_, results); !dropped) return dropped.rejection();
  return store;
}

Store::~Store() {
  if (certificates_ >= 0) (void)::close(certificates_);
  if (results_ >= 0) {
    (void)::fdatasync(results_);
    (void)::close(results_);
    std::error_code error;
    fs::remove_all(fs::path(folder_) / "scratch", error);
  }
}

Outcome<Done> Store::replace(const std::vector<Json>& results) {
  const std::string path = (fs::path(folder_) / "results.jsonl").string();
  std::string text;
  for (const Json& one : results) text += line_of(one);
  const std::lock_guard lock(mutex_);
  if (auto written = write_beside(path, text); !written) return written;
  (void)::close(results_);
  results_ = open_to_write(path, O_RDWR | O_APPEND);
  return results_ < 0 ? Outcome<Done>(unwritable(path, errno)) : Done{};
}

Outcome<Done> Store::append(const Json& result) {
  const std::string line = line_of(result);
  const std::lock_guard lock(mutex_);
  const off_t before = ::lseek(results_, 0, SEEK_END);
  errno = 0;
  if (::write(results_, line.data(), line.size()) != static_cast<ssize_t>(line.size())) {
    const int error = errno == 0 ? ENOSPC : errno;
    (void)!::ftruncate(results_, before);
    return unwritable((fs::path(folder_) / "results.jsonl").string(), error);
  }
  const auto now = std::chrono::steady_clock::now();
  if (now - flushed_ > std::chrono::duration<double>(kFlushSeconds)) {
    flushed_ = now;
    if (::fdatasync(results_) != 0) return unwritable((fs::path(folder_) / "results.jsonl").string(), errno);
  }
  return Done{};
}

std::string Store::scratch() {
  const std::lock_guard lock(mutex_);
  return (fs::path(folder_) / "scratch" / std::to_string(next_++)).string();
}

Outcome<std::string> Store::keep(const std::string& scratch) {
  const std::string digest = file_digest(scratch);
  if (digest.empty()) return unwritable(scratch, errno);
  const fs::path place = certificate_path(folder_, digest);
  const std::string part = place.parent_path().filename().string();
  (void)::mkdirat(certificates_, part.c_str(), 0755);
  const int parent = ::openat(certificates_, part.c_str(), O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  const bool kept = parent >= 0 && ::renameat(AT_FDCWD, scratch.c_str(), parent, place.filename().c_str()) == 0;
  const int error = errno;
  if (parent >= 0) (void)::close(parent);
  if (kept) return digest;
  (void)::unlink(scratch.c_str());
  return unwritable(place.string(), error);
}

void Store::flush() {
  const std::lock_guard lock(mutex_);
  (void)::fdatasync(results_);
}

bool is_run(const std::string& folder) {
  std::error_code error;
  return fs::is_regular_file(fs::path(folder) / "run.json", error);
}

Outcome<Json> read_manifest(const std::string& folder) {
  if (!is_run(folder)) return no_manifest(folder);
  std::error_code error;
  if (const auto size = fs::file_size(fs::path(folder) / "run.json", error); error || size > kLongestManifest)
    return no_run(folder, "a run.json of more than 64 MiB");
  std::ifstream file(fs::path(folder) / "run.json", std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(file), {});
  Json manifest = formats::parse_json(text);
  if (!manifest.is_object() || !member_of(manifest, "kind").is_string() || !member_of(manifest, "claim").is_object())
    return no_run(
        folder, manifest.is_object() ? "a run.json without \"kind\" or \"claim\"" : "a run.json that is cut off or no JSON",
        "copy the folder again; or move run.json away and start its run again with --resume, which keeps results that pass a check");
  if (const auto twice = formats::repeated_name(text)) return no_run(folder, "a run.json with \"" + printable(*twice) + "\" twice");
  if (formats::has_nul(manifest)) return no_run(folder, "a run.json with a NUL byte in a name or a text");
  return manifest;
}

Outcome<std::size_t> for_each_result(const std::string& folder, const std::function<void(std::size_t, const Json&)>& take) {
  std::error_code error;
  const fs::path path = fs::path(folder) / "results.jsonl";
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return no_run(folder, "a results.jsonl that is no regular file");
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && is_hollow(status)) return hollow_results(folder);
  std::ifstream file(path, std::ios::binary);
  if (!file) return no_run(folder, "run.json without a results.jsonl that can be read");
  std::string line;
  for (std::size_t number = 1; next_line(*file.rdbuf(), line); ++number) {  // the last one without its end: a write was cut off
    const Json result = line.size() > kLongestLine ? Json() : formats::parse_json(line);
    const bool is_sound = result.is_object() && !formats::repeated_name(line) && !formats::has_nul(result);
    take(number, is_sound ? result : Json());
  }
  return line.size();
}

std::string certificate_path(const std::string& folder, const std::string& digest) {
  return (fs::path(folder) / "certificates" / digest.substr(0, 2) / (digest + ".assay")).string();
}

std::string exact_text(const Json& value) { return nlohmann::json(value).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace); }

std::optional<std::string> first_difference(const Json& some, const Json& other) {
  for (const Json* names : {&some, &other}) {
    for (const auto& [name, value] : names->items()) {
      if (!some.contains(name) || !other.contains(name) || exact_text(some[name]) != exact_text(other[name])) return name;
    }
  }
  return std::nullopt;
}

Json member_of(const Json& object, const char* key) { return object.is_object() && object.contains(key) ? object[key] : Json(); }

std::string text_of(const Json& object, const char* key, const std::string& otherwise) {
  const Json member = member_of(object, key);
  return member.is_string() ? member.get<std::string>() : otherwise;
}

std::int64_t whole_of(const Json& object, const char* key, std::int64_t otherwise) {
  const Json member = member_of(object, key);
  return member.is_number_integer() ? member.get<std::int64_t>() : otherwise;
}

std::size_t count_of(const Json& object, const char* key) {
  return static_cast<std::size_t>(std::max<std::int64_t>(0, whole_of(object, key)));
}

double number_of(const Json& object, const char* key) {
  const Json member = member_of(object, key);
  return member.is_number() ? member.get<double>() : 0;
}

bool flag_of(const Json& object, const char* key) { return member_of(object, key) == Json(true); }

constexpr const char* kModelOptions = "model_options";

void add_edits(Json& object, const onnx::Edits& edits) {
  for (const auto& [option, text] : edits.options()) object[kModelOptions].push_back(option + " " + text);
}

onnx::Edits edits_of(const Json& object) {
  onnx::Edits edits;
  for (const std::string& one : texts_of(object, kModelOptions)) {
    const std::size_t blank = one.find(' ');
    if (blank != std::string::npos) (void)edits.add(one.substr(0, blank), one.substr(blank + 1));
  }
  return edits;
}

std::vector<std::string> texts_of(const Json& object, const char* key) {
  std::vector<std::string> list;
  const Json member = member_of(object, key);
  for (std::size_t i = 0; member.is_array() && i < member.size(); ++i)
    list.push_back(member[i].is_string() ? member[i].get<std::string>() : "");
  return list;
}

int open_to_write(const std::string& path, int flags) {
  const int file = ::open(path.c_str(), flags | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0644);
  struct stat status {};
  if (file < 0 || (::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink <= 1)) return file;
  (void)::close(file);
  errno = EMLINK;
  return -1;
}

int create_to_write(const std::string& path) {
  (void)::unlink(path.c_str());
  return open_to_write(path, O_WRONLY | O_CREAT | O_EXCL);
}

bool is_hollow(const struct stat& status) {
  constexpr std::uint64_t kBlock = 512, kMostRatio = 64, kUnsuspected = std::uint64_t{16} << 20;  // as for models
  const auto size = static_cast<std::uint64_t>(status.st_size), held = kBlock * static_cast<std::uint64_t>(status.st_blocks);
  return size > std::max(kUnsuspected, kMostRatio * held);
}

std::string file_digest(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  const bool is_file = file >= 0 && ::fstat(file, &status) == 0 && S_ISREG(status.st_mode) && !is_hollow(status);
  const auto size = static_cast<std::size_t>(status.st_size);
  // Looked at where it lies, since somebody else may have written it: no more memory for a long one.
  void* const bytes = is_file && size > 0 ? ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0) : MAP_FAILED;
  if (file >= 0) (void)::close(file);
  if (bytes == MAP_FAILED) return is_file && size == 0 ? statement::to_hex(statement::sha256({})) : "";
  std::string digest = statement::to_hex(statement::sha256({static_cast<const std::byte*>(bytes), size}));
  (void)::munmap(bytes, size);
  return digest;
}

void for_each_in_parallel(std::size_t count, unsigned jobs, const std::function<bool(std::size_t, unsigned)>& body) {
  std::atomic<std::size_t> next{0};
  std::atomic<bool> ended{false};
  std::mutex mutex;
  std::exception_ptr fault;  // the first one, of whichever thread
  const auto work = [&](unsigned worker) {
    try {
      for (std::size_t i = next++; i < count && !ended; i = next++) {
        if (!body(i, worker)) ended = true;
        if (i % kTrimEach == kTrimEach - 1) return_free_memory();
      }
    } catch (...) {
      ended = true;
      const std::lock_guard lock(mutex);
      if (!fault) fault = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (unsigned worker = 1; worker < std::min<std::size_t>(jobs, count); ++worker) threads.emplace_back(work, worker);
    work(0);
  }
  if (fault) std::rethrow_exception(fault);
}

}  // namespace assay::runs
