#include "app/queries/file_kind.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <memory>
#include <string_view>

#include "api/check/cost.h"
#include "api/check/load.h"
#include "certificates/format/format.h"
#include "frontends/files.h"

namespace assay::queries {
namespace {

using namespace std::string_view_literals;
using check::existing;

constexpr std::size_t kHead = 4096;  // bytes that are looked at

std::string head_of(const std::string& path) {
  if (is_named_pipe(path)) return "";
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"), &std::fclose);
  std::string head(kHead, '\0');
  head.resize(file ? std::fread(head.data(), 1, head.size(), file.get()) : 0);
  if (!head.starts_with("\x1f\x8b"sv)) return head;
  const auto expanded = read_file(path);
  if (!expanded) return "";
  const auto& bytes = expanded.value().bytes;
  return {reinterpret_cast<const char*>(bytes.data()), std::min(bytes.size(), kHead)};
}

// A zip archive: what PyTorch saves holds a data.pkl, what NumPy saves a file of arrays.
FileKind kind_of_zip(std::string_view head) {
  constexpr std::size_t kName = 30;  // offset of the first entry's name
  const std::string_view name = head.substr(std::min(kName, head.size()), 256);
  if (name.find(".npy") != std::string_view::npos) return FileKind::npz;
  return name.find("/data.pkl") != std::string_view::npos || name.find("/version") != std::string_view::npos ||
                 name.find("/.format_version") != std::string_view::npos || name.find("/.data/") != std::string_view::npos
             ? FileKind::torch
             : FileKind::unknown;
}

// The first field of a ModelProto is its version in most files; then names and the graph follow.
bool opens_like_onnx(std::string_view head) {
  if (head.size() < 4) return false;
  const auto first = static_cast<unsigned char>(head[0]), version = static_cast<unsigned char>(head[1]);
  return first == 0x08 && version >= 1 && version < 32 && "\x12\x1a\x22\x28\x32\x3a\x42"sv.find(head[2]) != std::string_view::npos;
}

FileKind kind_of_head(std::string_view head) {
  constexpr std::size_t kLength = 8;  // bytes of the length of a safetensors header
  if (head.starts_with(certificate::kMagic)) return FileKind::certificate;
  if (head.starts_with("PK\x03\x04"sv)) return kind_of_zip(head);
  if (head.starts_with("\x93NUMPY"sv)) return FileKind::npy;
  if (head.starts_with("\x89HDF\r\n"sv)) return FileKind::hdf5;
  if (head.starts_with("\x80\x02\x8a\x0al\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19"sv)) return FileKind::torch;  // before version 1.6
  if (head.size() > kLength && head[kLength] == '{' && head[kLength - 1] == '\0')
    return head.find("\"assay.trace\"") != std::string_view::npos ? FileKind::trace : FileKind::safetensors;
  if (head.substr(0, 64).find("assay statement file"sv) == kLength) return FileKind::statement;
  if (opens_like_onnx(head)) return FileKind::onnx;
  for (const char c : head) {
    if (std::isspace(static_cast<unsigned char>(c)) != 0) continue;
    return c == ';' || c == '(' ? FileKind::vnnlib : c == '{' || c == '[' ? FileKind::json : FileKind::unknown;
  }
  return FileKind::unknown;
}

struct Description {
  const char* name;
  const char* advice;  // in a place where something else is needed
};

// In the order of FileKind.
constexpr std::array<Description, 12> kDescriptions{{
    {"something else", ""},
    {"an ONNX model", "the model goes where MODEL.onnx stands in the command's help; `assay inspect FILE` shows what it holds"},
    {"a VNN-LIB property", "the property goes where PROPERTY.vnnlib stands in the command's help"},
    {"a certificate", "assay-check MODEL.onnx PROPERTY.vnnlib CERTIFICATE checks it, `assay inspect FILE` shows it"},
    {"a trace of a run", "`assay audit FILE` and `assay gradcheck FILE` judge it, `assay inspect FILE` shows it"},
    {"a safetensors file of weights, without a program", "export the model with torch.onnx.export"},
    {"a file saved by PyTorch (torch.save or torch.jit.save)", "load it in PyTorch and export it with torch.onnx.export"},
    {"a NumPy archive (.npz)", "`assay robust MODEL.onnx FILE` certifies the items of a data set; `assay eval` takes values as JSON"},
    {"a NumPy array (.npy)", "`assay robust MODEL.onnx FILE` certifies the items of a data set; `assay eval` takes values as JSON"},
    {"an HDF5 file, such as Keras writes", "export the model as ONNX, for example with tf2onnx"},
    {"JSON", ""},
    {"a statement file", "assay-check STATEMENT CERTIFICATE decides on it, `assay inspect FILE` shows it"},
}};

const Description& description(FileKind kind) { return kDescriptions[static_cast<std::size_t>(kind)]; }

}  // namespace

FileKind kind_of_file(const std::string& path) { return kind_of_head(head_of(path)); }

Rejection recognised(Rejection why, const std::string& path, FileKind wanted) {
  if (why.kind != Rejection::Kind::malformed || why.code == "files.open") return why;
  const FileKind found = kind_of_file(path);
  if (found == FileKind::unknown || found == wanted) return why;
  return {Rejection::Kind::malformed, "files.kind", path, description(wanted).name, description(found).name, description(found).advice};
}

Rejection recognised_input(const Rejection& why, const std::string& model, const std::string& property) {
  if (why.place.starts_with(existing(property)) && !why.code.starts_with("onnx."))
    return recognised(why, existing(property), FileKind::vnnlib);
  return why.place.starts_with(existing(model)) ? recognised(why, existing(model), FileKind::onnx) : why;
}

Rejection beyond_memory(const std::string& place) {
  return {Rejection::Kind::declined,
          "gate.memory",
          place,
          "no more memory than --memory allows, or than there is",
          "a step that asks for more",
          "allow more with --memory, judge a part with `assay audit --sample N`, or use fewer --jobs"};
}

Rejection unread(const Rejection& why, const std::string& path) { return why.code == "files.memory" ? beyond_memory(path) : why; }

Outcome<onnx::Model> import_model_file(const std::string& path, const check::Limits& limits) {
  auto model = onnx::import_model(path, check::memory_rule(limits), limits.edits);
  if (!model) return recognised(check::in_file(model.rejection(), path), path, FileKind::onnx);
  return model;
}

Outcome<check::Loaded> load_files(const std::string& model, const std::string& property, const check::LoadOptions& options) {
  auto loaded = check::load_problem(model, property, options);
  if (!loaded) return recognised_input(loaded.rejection(), model, property);
  return loaded;
}

}  // namespace assay::queries
