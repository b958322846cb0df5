// Readers of data: what is written is read again, what does not fit is refused by name. Batches: an order that seed and epoch decide.
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "formats/datasets/csv_rows.h"
#include "formats/datasets/dataset.h"
#include "tests/catch.h"
#include "training/data/loader.h"
#include "training/data/sources.h"

namespace assay::test {
namespace {

using namespace training;
using Ints = std::vector<std::int64_t>;

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

// A folder that goes with the test.
struct Folder {
  std::filesystem::path path = std::filesystem::temp_directory_path() / ("assay_data_" + std::to_string(getpid()));
  Folder() { std::filesystem::create_directories(path); }
  ~Folder() { std::filesystem::remove_all(path); }
  std::string write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories((path / name).parent_path());
    std::ofstream(path / name, std::ios::binary) << text;
    return (path / name).string();
  }
};

// A zip archive of one file, as it is (APPNOTE 6.3).
std::string stored(const std::string& name, const std::string& data) {
  std::string zip, common(4, '\0');
  const auto put = [](std::string& out, std::uint64_t value, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) out += static_cast<char>(value >> 8 * i & 0xff);
  };
  put(common, 0x00210000, 4);  // 1 January 1980
  put(common, crc32(0, reinterpret_cast<const Bytef*>(data.data()), static_cast<uInt>(data.size())), 4);
  for (int twice = 0; twice < 2; ++twice) put(common, data.size(), 4);
  put(common, name.size(), 4);  // and nothing extra
  const auto version = [&](int times) {
    for (int i = 0; i < times; ++i) put(zip, 20, 2);
  };
  put(zip, 0x04034b50, 4);
  version(1);
  zip += common + name + data;
  const std::size_t list = zip.size();
  put(zip, 0x02014b50, 4);
  version(2);
  zip += common + std::string(14, '\0') + name;
  const std::size_t size = zip.size() - list;
  put(zip, 0x06054b50, 4);
  put(zip, 0, 4);
  put(zip, 0x10001, 4);  // one entry on this disk, one in all
  put(zip, size, 4);
  put(zip, list, 4);
  put(zip, 0, 2);
  return zip;
}

std::string code(const Rejection& why) { return why.code; }
Ints ints(const Array& array) { return array.to_tensor().to_ints(); }

Dataset counting(std::int64_t count) {
  Ints places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return {Array::from(Tensor::of_ints({count}, places)), Array::from(Tensor::of_ints({count, 1}, places))};
}

}  // namespace

TEST_CASE("data: arrays are read as they were written", "[training]") {
  using formats::DataArray, formats::ElementType;
  const Folder folder;
  const auto bytes = [](const auto& values) {
    const auto raw = std::as_bytes(std::span(values));
    return std::vector<std::byte>(raw.begin(), raw.end());
  };
  const std::vector<float> floats{1, -2, 3.5, 0, 1e-30F, 7};
  const Ints whole{-5};
  const std::vector<std::uint16_t> halves{0x3c00, 0xc100, 0x0001};
  const auto read = [&](const DataArray& array) { return read_arrays(folder.write("a.npy", formats::npy_bytes(array))).value().at(""); };
  const Array a = read({"", ElementType::float32, {2, 3}, bytes(floats)});
  CHECK(a.shape() == Shape{2, 3});
  CHECK(std::ranges::equal(a.data<float>(), floats));
  CHECK(ints(read({"", ElementType::int64, {}, bytes(whole)})) == whole);
  CHECK(read({"", ElementType::float64, {0, 4}, {}}).shape() == Shape{0, 4});
  const Array h = read({"", ElementType::float16, {3}, bytes(halves)});
  CHECK(h.to_tensor().to_doubles() == std::vector<double>{1, -2.5, 0x1p-24});
}

TEST_CASE("data: every cut and every bent byte of an archive is refused or read", "[training]") {
  const std::vector<float> three{1, 2, 3};
  const auto raw = std::as_bytes(std::span(three));
  const std::string zip = stored("a.npy", formats::npy_bytes({"", formats::ElementType::float32, {3}, {raw.begin(), raw.end()}}));
  const auto arrays = [](const std::string& file) { return formats::read_arrays(bytes_of(file), "a.npz"); };
  REQUIRE(arrays(zip).ok());
  CHECK(arrays(zip).value()[0].name == "a");
  for (std::size_t length = 0; length < zip.size(); ++length) CHECK(!arrays(zip.substr(0, length)).ok());
  std::size_t read = 0;
  for (std::size_t at = 0; at < zip.size(); ++at) {
    std::string bent = zip;
    bent[at] = static_cast<char>(bent[at] ^ 0x10);
    const auto result = arrays(bent);
    if (!result) continue;
    ++read;  // dates, versions and names of the archive, which say nothing about numbers
    CHECK(std::ranges::equal(result.value().at(0).bytes, raw));
  }
  CHECK(read > 0);
}

TEST_CASE("data: npy that is not ours is refused", "[training]") {
  const std::string file = formats::npy_bytes({"", formats::ElementType::float32, {2}, std::vector<std::byte>(8)});
  const auto why = [](const std::string& text) { return code(formats::read_arrays(bytes_of(text), "a.npy").rejection()); };
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string bent = file;
    return why(bent.replace(bent.find(from), from.size(), to));
  };
  CHECK(why(file.substr(0, file.size() - 1)) == "dataset.npy");
  CHECK(why(file + "x") == "dataset.npy");
  CHECK(replaced("(2,)", "(3,)") == "dataset.npy");
  CHECK(replaced("(2,)", "(-2)") == "dataset.npy");
  CHECK(replaced("<f4", "<O8") == "dataset.npy");
  CHECK(replaced("NUMPY", "NUMPX") == "dataset.csv");  // taken for a table, which it is not
  CHECK(replaced("False", "Maybe") == "dataset.npy");
}

TEST_CASE("data: rows of separated values", "[training]") {
  using Rows = std::vector<std::vector<std::string>>;
  const auto rows = [](std::string_view text, std::optional<char> separator = std::nullopt) {
    Rows all;
    const auto read = formats::for_each_row(text, separator, [&](std::size_t, std::span<const std::string> fields) -> Outcome<Done> {
      all.emplace_back(fields.begin(), fields.end());
      return Done{};
    });
    return read ? all : Rows{{read.rejection().code, read.rejection().place}};
  };
  CHECK(rows("x,\"a, \"\"b\"\"\"\r\n1.5,2\n\n-3e2, 4 \n") == Rows{{"x", "a, \"b\""}, {"1.5", "2"}, {"-3e2", "4"}});
  CHECK(rows("\xef\xbb\xbf# a word\n1;2,5\n", ';') == Rows{{"1", "2,5"}});
  CHECK(rows("1;2\n 3\t4\n5  6 \r\n,\n") == Rows{{"1", "2"}, {"3", "4"}, {"5", "6"}, {"", ""}});
  CHECK(rows("\"1\" \"2 3\"\n") == Rows{{"1", "2 3"}});
  CHECK(rows("a,b\n1,\"2\n3\n") == Rows{{"csv.quote", "line 2"}});
  CHECK(rows("1,\"2\"x\n") == Rows{{"csv.quote", "line 1"}});
  CHECK(rows("\"a\nb\",c\n\"", ',') == Rows{{"csv.quote", "line 3"}});
}

TEST_CASE("data: tables of numbers", "[training]") {
  const Folder folder;
  const auto arrays = [&](const std::string& text) { return read_arrays(folder.write("a.csv", text)); };
  CHECK(arrays("1.5,2\n-3e2,4\n").value().at("items").to_tensor().to_doubles() == std::vector<double>{1.5, 2, -300, 4});
  const auto named = arrays("x label y\n1 7 2\n");
  CHECK(named.value().at("items").to_tensor().to_doubles() == std::vector<double>{1, 2});
  CHECK(named.value().at("labels").to_tensor().to_doubles() == std::vector<double>{7});
  CHECK(code(arrays("1,2\n3\n").rejection()) == "dataset.csv");
  CHECK(arrays("1\nx\n").rejection().place.ends_with("line 2, field 1"));
  CHECK(code(arrays("1,\"2\n").rejection()) == "dataset.csv");
}

TEST_CASE("data: IDX and CIFAR", "[training]") {
  const Folder folder;
  const std::string idx("\0\0\x0B\x02\0\0\0\x02\0\0\0\x01\x01\x02\xFF\xFE", 16);
  const auto read = read_arrays(folder.write("a.idx", idx));
  REQUIRE(read.ok());
  CHECK(read.value().at("").shape() == Shape{2, 1});
  CHECK(ints(read.value().at("")) == Ints{0x0102, -2});
  CHECK(code(read_arrays(folder.write("a.idx", idx.substr(0, 15))).rejection()) == "dataset.idx");
  CHECK(code(read_arrays(folder.write("a.idx", idx.substr(0, 9))).rejection()) == "dataset.idx");
  std::string records, hundred;
  for (const char label : {7, 2}) records += label + std::string(3072, static_cast<char>(label * 10));
  for (const char label : {7, 2}) hundred += std::string{label, static_cast<char>(label * 10)} + std::string(3072, label);
  const std::string path = folder.write("a.bin", records);
  const auto cifar = read_samples({path, path});
  REQUIRE(cifar.ok());
  CHECK(cifar.value().data[0].shape() == Shape{4, 3, 32, 32});
  CHECK(ints(cifar.value().data[1]) == Ints{7, 2, 7, 2});
  CHECK(std::as_const(cifar.value().data[0]).data<std::uint8_t>()[3072] == 20);
  const std::string fine = folder.write("c.bin", hundred);
  CHECK(ints(read_samples({fine}).value().data[1]) == Ints{70, 20});
  CHECK(ints(read_arrays(fine).value().at("coarse_labels")) == Ints{7, 2});
  CHECK(code(read_samples({path, folder.write("b.idx", idx)}).rejection()) == "dataset.items");
  CHECK(code(read_samples({folder.write("b.bin", records + "x")}).rejection()) == "dataset.csv");
  CHECK(code(read_samples({folder.write("c.bin", std::string(3073, '\x0B'))}).rejection()) == "dataset.cifar");
  CHECK(code(read_samples({folder.path / "none.bin"}).rejection()) == "dataset.open");
}

TEST_CASE("data: folders of images", "[training]") {
  const Folder folder;
  std::vector<std::uint8_t> pixels(2 * 2 * 3);
  std::iota(pixels.begin(), pixels.end(), std::uint8_t{1});
  const std::string png = formats::png_bytes(2, 2, 3, pixels);
  const auto again = formats::read_arrays(bytes_of(png), "a.png");
  REQUIRE(again.ok());
  CHECK(std::ranges::equal(again.value()[0].bytes, std::as_bytes(std::span(pixels))));
  for (std::size_t length = 8; length < png.size(); length += 7)
    CHECK(code(formats::read_arrays(bytes_of(png.substr(0, length)), "a.png").rejection()) == "dataset.png");
  folder.write("cats/b.png", png);
  folder.write("cats/a.png", png);
  folder.write("apes/c.png", png);
  folder.write("notes.txt", "no folder");
  const auto found = read_samples({folder.path});
  REQUIRE(found.ok());
  CHECK(found.value().classes == std::vector<std::string>{"apes", "cats"});
  CHECK(ints(found.value().data[1]) == Ints{0, 1, 1});
  CHECK(found.value().data[0].shape() == Shape{3, 2, 2, 3});
  const Array images = channels_first(found.value().data[0]);
  CHECK(images.shape() == Shape{3, 3, 2, 2});
  CHECK(std::as_const(images).data<std::uint8_t>()[1] == 4);  // the red of the second pixel
  CHECK(scaled_images(images, DType::float64).data<double>()[0] == 1.0 / 255);
  folder.write("apes/d.png", formats::png_bytes(1, 1, 1, std::vector<std::uint8_t>{9}));
  CHECK(code(read_samples({folder.path}).rejection()) == "dataset.folder");
  CHECK(code(read_samples({folder.path / "none"}).rejection()) == "dataset.open");
}

TEST_CASE("data: characters and windows", "[training]") {
  const Characters characters("hello");
  CHECK(characters.count() == 4);  // e h l o
  CHECK(characters.encode("hole") == Ints{1, 3, 2, 0});
  CHECK(characters.decode(Ints{1, 3, 2, 0}) == "hole");
  const Dataset windows = windows_of(characters.encode("hello"), 2, 2);
  CHECK(ints(windows[0]) == Ints{1, 0, 2, 2});
  CHECK(ints(windows[1]) == Ints{0, 2, 2, 3});
}

TEST_CASE("data: batches are a function of seed and epoch, with and without a thread", "[training]") {
  const auto order = [](std::uint64_t seed, std::size_t prefetch, std::size_t batches) {
    Loader loader(counting(10),
                  {.batch = 3, .seed = seed, .prefetch = prefetch, .transform = [](std::vector<Array> batch, const RandomKey& key) {
                     batch[1] = runtime::uniform(key, DType::float32, {3});
                     return batch;
                   }});
    std::vector<double> all;
    for (std::size_t k = 0; k < batches; ++k) {
      for (const Array& array : loader.next()) {
        for (const double x : array.to_tensor().to_doubles()) all.push_back(x);
      }
    }
    return all;
  };
  CHECK(order(1, 0, 9) == order(1, 3, 9));
  CHECK(order(1, 1, 9) == order(1, 5, 9));
  CHECK(order(1, 2, 3) != order(2, 2, 3));
  Loader loader(counting(10), {.batch = 3, .seed = 1});
  CHECK(loader.batches() == 3);
  std::set<std::int64_t> seen;
  for (int k = 0; k < 3; ++k) {
    const std::vector<Array> batch = loader.next();
    CHECK(ints(batch[0]) == ints(batch[1]));  // samples stay together
    for (const std::int64_t one : ints(batch[0])) CHECK(seen.insert(one).second);
  }
  CHECK(loader.position() == Loader::Position{1, 0});
  Loader whole(counting(10), {.batch = 3, .shuffle = false, .drop_last = false});
  CHECK(whole.batches() == 4);
  for (int k = 0; k < 3; ++k) (void)whole.next();
  CHECK(ints(whole.next()[0]) == Ints{9});
}

TEST_CASE("data: a loader goes on from any position", "[training]") {
  for (const std::size_t prefetch : {std::size_t{0}, std::size_t{2}}) {
    Loader loader(counting(20), {.batch = 4, .seed = 3, .prefetch = prefetch});
    std::vector<Loader::Position> positions;
    std::vector<Ints> batches;
    for (int k = 0; k < 12; ++k) {
      positions.push_back(loader.position());
      batches.push_back(ints(loader.next()[0]));
    }
    for (std::size_t k = batches.size(); k-- > 0;) {
      loader.seek(positions[k]);
      CHECK(ints(loader.next()[0]) == batches[k]);
    }
    CHECK(!loader.has({0, 5}));
  }
}

TEST_CASE("data: a set is divided without loss", "[training]") {
  const Parts parts = divided(counting(10), 0.7, 4);
  Ints all = ints(parts.first[0]);
  CHECK(all.size() == 7);
  for (const std::int64_t one : ints(parts.rest[1])) all.push_back(one);
  std::ranges::sort(all);
  CHECK(all == ints(counting(10)[0]));
}

}  // namespace assay::test
