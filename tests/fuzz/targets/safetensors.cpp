// safetensors: what is read is written, and read again as the same.
#include "formats/safetensors.h"

#include "tests/fuzz/targets/target.h"

using namespace assay;

namespace {

std::string written(const formats::Safetensors& content) {
  std::string file = formats::safetensors_header(content);
  for (const auto& entry : content.entries) file.append(reinterpret_cast<const char*>(entry.bytes.data()), entry.bytes.size());
  return file;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Bounded bounded;
  const auto read = formats::read_safetensors(fuzz::bytes_of(fuzz::text_of(data, size)));
  if (!read) return 0;
  const std::string file = written(read.value());
  const auto again = formats::read_safetensors(fuzz::bytes_of(file));
  fuzz::expect_ok(again, "what was written can be read");
  const auto &before = read.value().entries, &after = again.value().entries;
  fuzz::expect(before.size() == after.size(), "as many tensors were read as were written");
  for (std::size_t i = 0; i < before.size(); ++i) {
    fuzz::expect(before[i].name == after[i].name && before[i].dtype == after[i].dtype && before[i].shape == after[i].shape &&
                     std::ranges::equal(before[i].bytes, after[i].bytes),
                 "tensor '" + before[i].name + "' was read as it was written");
  }
  fuzz::expect(read.value().metadata == again.value().metadata, "the metadata were read as they were written");
  fuzz::expect(written(again.value()) == file, "one content has one spelling");
  return 0;
}
