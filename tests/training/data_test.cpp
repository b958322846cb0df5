// Readers of data: what is written is read again, what does not fit is refused by name. Batches: an order that seed and epoch decide.
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <set>

#include "formats/npy.h"
#include "formats/tables.h"
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

std::string text_of(const std::vector<std::byte>& bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }
std::string code(const Rejection& why) { return why.code; }
Ints ints(const Array& array) { return array.to_tensor().to_ints(); }

Dataset counting(std::int64_t count) {
  Ints places(static_cast<std::size_t>(count));
  std::iota(places.begin(), places.end(), 0);
  return {Array::from(Tensor::of_ints({count}, places)), Array::from(Tensor::of_ints({count, 1}, places))};
}

}  // namespace

TEST_CASE("data: npy and npz are read as they were written", "[training]") {
  const Tensor a = Tensor::of_floats({2, 3}, std::vector<float>{1, -2, 3.5, 0, 1e-30F, 7}), b = Tensor::of_ints({}, Ints{-5});
  for (const Tensor& tensor : {a, b, Tensor::of_doubles({0, 4}, {}), Tensor::of_ints({3}, Ints{1, 2, 3})}) {
    const auto again = formats::read_npy(bytes_of(formats::write_npy(tensor)));
    REQUIRE(again.ok());
    CHECK(again.value().dtype() == tensor.dtype());
    CHECK(again.value().shape() == tensor.shape());
    CHECK(std::ranges::equal(again.value().bytes(), tensor.bytes()));
  }
  const std::string zip = formats::write_npz({{"a", a}, {"b", b}});
  const auto read = formats::read_npz(bytes_of(zip));
  REQUIRE(read.ok());
  CHECK(read.value().size() == 2);
  CHECK(read.value().at("a").to_doubles() == a.to_doubles());
  CHECK(formats::read_npz(bytes_of(zip), 100).rejection().code == "npz.memory");
}

TEST_CASE("data: every cut and every bent byte of an archive is refused or read", "[training]") {
  const std::string zip = formats::write_npz({{"a", Tensor::of_floats({3}, std::vector<float>{1, 2, 3})}});
  for (std::size_t length = 0; length < zip.size(); ++length) CHECK(!formats::read_npz(bytes_of(zip.substr(0, length))).ok());
  std::size_t read = 0;
  for (std::size_t at = 0; at < zip.size(); ++at) {
    std::string bent = zip;
    bent[at] = static_cast<char>(bent[at] ^ 0x10);
    const auto result = formats::read_npz(bytes_of(bent));
    if (!result) continue;
    ++read;  // dates, versions and names of the archive, which say nothing about numbers
    CHECK(result.value().begin()->second.to_doubles() == std::vector<double>{1, 2, 3});
  }
  CHECK(read > 0);
}

TEST_CASE("data: npy that is not ours is refused", "[training]") {
  const std::string file = formats::write_npy(Tensor::of_floats({2}, std::vector<float>{1, 2}));
  const auto replaced = [&](const std::string& from, const std::string& to) {
    std::string bent = file;
    bent.replace(bent.find(from), from.size(), to);
    return formats::read_npy(bytes_of(bent));
  };
  CHECK(code(formats::read_npy(bytes_of(file.substr(0, file.size() - 1))).rejection()) == "npy.size");
  CHECK(code(formats::read_npy(bytes_of(file + "x")).rejection()) == "npy.size");
  CHECK(code(replaced("(2, )", "(3, )").rejection()) == "npy.size");
  CHECK(code(replaced("(2, )", "(-2,)").rejection()) == "npy.header");
  CHECK(code(replaced("<f4", "<O8").rejection()) == "npy.type");
  CHECK(code(replaced("NUMPY", "NUMPX").rejection()) == "npy.header");
  CHECK(code(replaced("False", "Maybe").rejection()) == "npy.header");
}

TEST_CASE("data: separated values", "[training]") {
  const auto csv = formats::read_csv("x,\"a, \"\"b\"\"\"\r\n1.5,2\n\n-3e2, 4 \n", true);
  REQUIRE(csv.ok());
  CHECK(csv.value().names == std::vector<std::string>{"x", "a, \"b\""});
  const std::vector<std::size_t> both{1, 0};
  CHECK(formats::numbers_of(csv.value(), both).value().to_doubles() == std::vector<double>{2, 1.5, 4, -300});
  CHECK(formats::read_csv("1,2\n3\n", false).rejection().code == "csv.columns");
  CHECK(formats::read_csv("1,\"2\n3\n", false).rejection().code == "csv.quote");
  CHECK(formats::read_csv("1,\"2\"x\n", false).rejection().code == "csv.quote");
  const std::vector<std::size_t> first{0}, third{2};
  CHECK(formats::numbers_of(formats::read_csv("1\nx\n", false).value(), first).rejection().place == "row 1, column 0");
  CHECK(formats::numbers_of(csv.value(), third).rejection().code == "csv.number");
  CHECK(formats::numbers_of(formats::read_csv("1;\n", false, ';').value(), both).rejection().code == "csv.number");
  const auto again = formats::read_csv(formats::write_csv(csv.value()), true);
  CHECK(again.value().names == csv.value().names);
  CHECK(again.value().rows == csv.value().rows);
}

TEST_CASE("data: IDX and CIFAR", "[training]") {
  const std::string idx("\0\0\x0B\x02\0\0\0\x02\0\0\0\x01\x01\x02\xFF\xFE", 16);
  const auto read = formats::read_idx(bytes_of(idx));
  REQUIRE(read.ok());
  CHECK(read.value().shape() == Shape{2, 1});
  CHECK(read.value().to_ints() == Ints{0x0102, -2});
  CHECK(formats::read_idx(bytes_of(idx.substr(0, 15))).rejection().code == "idx.size");
  CHECK(formats::read_idx(bytes_of(idx.substr(0, 9))).rejection().code == "idx.header");
  CHECK(formats::read_idx(bytes_of(std::string("\0\0\x0A\x01", 4))).rejection().code == "idx.header");
  const Folder folder;
  std::string records;
  for (const char label : {7, 2}) records += label + std::string(3072, static_cast<char>(label * 10));
  const auto cifar = read_cifar({folder.write("a.bin", records)}, Cifar::ten);
  REQUIRE(cifar.ok());
  CHECK(cifar.value()[0].shape() == Shape{2, 3, 32, 32});
  CHECK(ints(cifar.value()[1]) == Ints{7, 2});
  CHECK(std::as_const(cifar.value()[0]).data<std::uint8_t>()[3072] == 20);
  CHECK(read_cifar({folder.write("b.bin", records + "x")}, Cifar::ten).rejection().code == "training.cifar");
  CHECK(read_cifar({folder.write("c.bin", std::string(3073, '\x0B'))}, Cifar::ten).rejection().code == "training.cifar");
  CHECK(read_cifar({folder.path / "none.bin"}, Cifar::ten).rejection().code == "training.read");
}

TEST_CASE("data: folders of images", "[training]") {
  const Folder folder;
  Array image = Array::empty(DType::uint8, {3, 2, 2});
  std::iota(image.data<std::uint8_t>().begin(), image.data<std::uint8_t>().end(), std::uint8_t{1});
  const std::string png = text_of(write_png(image).value());
  const auto again = read_png(bytes_of(png), 3);
  REQUIRE(again.ok());
  CHECK(std::ranges::equal(again.value().data<std::uint8_t>(), std::as_const(image).data<std::uint8_t>()));
  for (std::size_t length = 0; length + 16 < png.size(); length += 7)
    CHECK(read_png(bytes_of(png.substr(0, length)), 3).rejection().code == "training.png");
  folder.write("cats/b.png", png);
  folder.write("cats/a.png", png);
  folder.write("apes/c.png", png);
  folder.write("notes.txt", "no folder");
  const auto found = read_png_folder(folder.path, 3);
  REQUIRE(found.ok());
  CHECK(found.value().classes == std::vector<std::string>{"apes", "cats"});
  CHECK(ints(found.value().data[1]) == Ints{0, 1, 1});
  CHECK(found.value().data[0].shape() == Shape{3, 3, 2, 2});
  CHECK(scaled_images(found.value().data[0], DType::float64).data<double>()[0] == 1.0 / 255);
  folder.write("apes/d.png", text_of(write_png(Array::empty(DType::uint8, {1, 1, 1})).value()));
  CHECK(read_png_folder(folder.path, 3).rejection().code == "training.folder");
  CHECK(read_png_folder(folder.path / "none", 3).rejection().code == "training.folder");
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
