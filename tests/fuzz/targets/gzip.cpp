// Files that may be compressed: the reader of bytes behind every front end. The mutator changes compressed data before and after expansion.
#include <zlib.h>

#include <random>

#include "frontends/files.h"
#include "tests/fuzz/targets/target.h"

using namespace assay;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

constexpr FileLimits kLimits{std::uint64_t{1} << 20, std::uint64_t{1} << 24};

std::string compressed(std::string_view bytes) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;  // window bits, with a gzip header
  fuzz::expect(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) == Z_OK, "zlib has memory");
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));  // zlib only reads there
  stream.avail_in = static_cast<uInt>(bytes.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  fuzz::expect(deflate(&stream, Z_FINISH) == Z_STREAM_END, "zlib compresses");
  out.resize(stream.total_out);
  (void)deflateEnd(&stream);
  return out;
}

const fuzz::InputFile& input() {
  static const fuzz::InputFile kFile;
  return kFile;
}

std::string_view text_of(const FileContents& contents) {
  return {reinterpret_cast<const char*>(contents.bytes.data()), contents.bytes.size()};
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 2 == 0) return LLVMFuzzerMutate(data, size, max_size);
  const auto read = read_file(input().put(fuzz::text_of(data, size)), kLimits);
  if (!read || read.value().bytes.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::string bytes(text_of(read.value()));
  const std::size_t before = bytes.size();
  bytes.resize(before + 64);
  bytes.resize(LLVMFuzzerMutate(reinterpret_cast<std::uint8_t*>(bytes.data()), before, bytes.size()));
  std::string file = compressed(bytes);
  if (random() % 4 == 0) file += compressed(std::string_view(bytes).substr(bytes.size() / 2));  // two members
  if (file.size() > max_size) return LLVMFuzzerMutate(data, size, max_size);
  std::copy(file.begin(), file.end(), data);
  return file.size();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  const std::string_view stored = fuzz::text_of(data, size);
  const auto read = read_file(input().put(stored), kLimits);
  if (!read) return 0;
  const FileContents& contents = read.value();
  fuzz::expect(contents.stored == size && contents.sha256 == statement::sha256(fuzz::bytes_of(stored)),
               "size and digest are those of the file");
  fuzz::expect(contents.bytes.size() <= kLimits.expanded, "no more is expanded than the limit");
  fuzz::expect(contents.compressed || text_of(contents) == stored, "what is not compressed is given as it is");
  const std::string expanded(text_of(contents));
  if (!contents.compressed || expanded.size() > (std::size_t{1} << 16) || expanded.empty()) return 0;
  const auto again = read_file(input().put(compressed(expanded)), kLimits);
  fuzz::expect_ok(again, "what was compressed again can be read");
  fuzz::expect(text_of(again.value()) == expanded, "compressed again and expanded, the bytes are the same");
  return 0;
}
