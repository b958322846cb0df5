// Reading whole files: limits, compression, digests, and what is said when it fails.
#include <zlib.h>

#include "frontends/files.h"
#include "tests/catch.h"
#include "tests/frontends/onnx_builder.h"

namespace {

using namespace assay;
using onnx_test::Folder;

std::string gzipped(const std::string& text) {
  z_stream z{};
  REQUIRE(deflateInit2(&z, 9, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK);
  std::string out(text.size() / 2 + 1000, '\0');
  std::string in = text;
  z.next_in = reinterpret_cast<Bytef*>(in.data());
  z.avail_in = static_cast<uInt>(in.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  REQUIRE(deflate(&z, Z_FINISH) == Z_STREAM_END);
  out.resize(z.total_out);
  deflateEnd(&z);
  return out;
}

std::string text_of(const Outcome<FileContents>& contents) {
  REQUIRE(contents.ok());
  const std::vector<std::byte>& bytes = contents.value().bytes;
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

}  // namespace

TEST_CASE("plain files are read whole, with their digest", "[files]") {
  const Folder folder;
  const Outcome<FileContents> abc = read_file(folder.write("abc", "abc"));
  CHECK(text_of(abc) == "abc");
  CHECK(statement::to_hex(abc.value().sha256) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  CHECK_FALSE(abc.value().compressed);
  CHECK(text_of(read_file(folder.write("empty", ""), {.expanded = 0})).empty());
  const std::string large(3'000'000, 'z');
  CHECK(text_of(read_file(folder.write("large", large))) == large);
}

TEST_CASE("gzip is expanded whatever the name says, member after member", "[files]") {
  const Folder folder;
  const std::string large(5'000'000, 'q');
  const Outcome<FileContents> contents = read_file(folder.write("a.txt", gzipped(large)));
  CHECK(text_of(contents) == large);
  CHECK(contents.value().compressed);
  CHECK(text_of(read_file(folder.write("b", gzipped("one ") + gzipped("two")))) == "one two");
  CHECK(text_of(read_file(folder.write("c", gzipped("")))).empty());
  const std::string stored = gzipped("as it is");
  CHECK(text_of(read_file(folder.write("d", stored), {.expanded = 0})) == stored);
}

TEST_CASE("what cannot be read is refused with its path", "[files]") {
  const Folder folder;
  const std::string whole = gzipped("some text that is long enough to be cut");
  const auto code = [&](const std::string& path, const FileLimits& limits = {}) {
    const Outcome<FileContents> contents = read_file(path, limits);
    REQUIRE_FALSE(contents.ok());
    const bool too_large = contents.rejection().code == "files.size";  // a limit of ours, no fault of the file
    CHECK(contents.rejection().kind == (too_large ? Rejection::Kind::declined : Rejection::Kind::malformed));
    CHECK(contents.rejection().place == path);
    return contents.rejection().code;
  };
  CHECK(code((folder.path() / "absent").string()) == "files.open");
  CHECK(code(folder.path().string()) == "files.read");
  CHECK(code(folder.write("empty", "")) == "files.empty");
  CHECK(code(folder.write("large", "12345"), {.stored = 4}) == "files.size");
  CHECK(read_file(folder.write("fits", "1234"), {.stored = 4}).ok());
  CHECK(code(folder.write("bomb", gzipped(std::string(1000, 'a'))), {.expanded = 999}) == "files.size");
  CHECK(read_file(folder.write("allowed", gzipped(std::string(1000, 'a'))), {.expanded = 1000}).ok());
  for (std::size_t length = 2; length < whole.size(); ++length) CHECK(code(folder.write("cut", whole.substr(0, length))) == "files.gzip");
  std::string bent = whole;
  bent[whole.size() - 6] ^= 1;  // checksum
  CHECK(code(folder.write("bent", bent)) == "files.gzip");
  CHECK(code(folder.write("tail", whole + "trailing bytes")) == "files.gzip");
}

TEST_CASE("names from files are printed as ASCII", "[files]") {
  CHECK(printable("plain_name/1:0") == "plain_name/1:0");
  CHECK(printable(std::string("a\n\x00\xff", 4)) == "a\\x0a\\x00\\xff");
  CHECK(printable(std::string(500, 'a'), 10) == std::string(10, 'a') + "...");
}
