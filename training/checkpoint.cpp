#include "training/checkpoint.h"

#include <zlib.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>
#include <utility>
#include <vector>

#include "formats/safetensors.h"
#include "training/atomic_file.h"

namespace assay::training {

namespace {

constexpr const char* kFormat = "assay checkpoint 1";
constexpr const char* kNote = "note ";  // before the names of notes

Rejection no_checkpoint(const char* code, std::string place, std::string required, std::string found) {
  return {Rejection::Kind::malformed, std::string("checkpoint.") + code,
          std::move(place),           std::move(required),
          std::move(found),           "resume with the program and the options that wrote the checkpoint"};
}

const char* word_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "F32";
    case DType::float64:
      return "F64";
    case DType::int64:
      return "I64";
    case DType::int32:
      return "I32";
    case DType::int16:
      return "I16";
    case DType::int8:
      return "I8";
    case DType::uint64:
      return "U64";
    case DType::uint32:
      return "U32";
    case DType::uint16:
      return "U16";
    case DType::uint8:
      return "U8";
    case DType::boolean:
      return "BOOL";
    case DType::complex64:
      return "C64";
  }
  return "";
}

// A file in the making: entries point into arrays that it keeps.
class Writing {
 public:
  Outcome<Done> add(std::string name, const Array& array) {
    if (auto here = array.fetch(); !here) return here.rejection();
    kept_.push_back(array);
    content_.entries.push_back({std::move(name), word_of(array.dtype()), array.shape(), {kept_.back().raw(), kept_.back().bytes()}});
    return Done{};
  }
  std::map<std::string, std::string>& metadata() { return content_.metadata; }
  Outcome<Done> write(const std::string& path, bool with_sum) {
    if (with_sum) {
      uLong sum = crc32_z(0, nullptr, 0);
      for (const auto& entry : content_.entries) sum = crc32_z(sum, reinterpret_cast<const Bytef*>(entry.bytes.data()), entry.bytes.size());
      content_.metadata["crc32"] = std::to_string(sum);
    }
    const std::string header = formats::safetensors_header(content_);
    std::vector<std::span<const std::byte>> parts{std::as_bytes(std::span(header))};
    for (const auto& entry : content_.entries) parts.push_back(entry.bytes);
    return write_atomically(path, parts);
  }

 private:
  std::vector<Array> kept_;
  formats::Safetensors content_;
};

// A file that was read: tensors are taken by name, and none is left over.
class Reading {
 public:
  explicit Reading(const formats::Safetensors& content) : content_(content) {
    for (const auto& entry : content.entries) left_.insert(entry.name);
  }
  Outcome<Array> take(const std::string& name, DType dtype, const Shape& shape) {
    const auto found = std::ranges::find(content_.entries, name, &formats::Safetensors::Entry::name);
    const std::string wanted = word_of(dtype) + to_string(shape);
    if (found == content_.entries.end()) return no_checkpoint("tensor", name, wanted, "no such tensor");
    if (found->dtype != word_of(dtype) || found->shape != shape)
      return no_checkpoint("tensor", name, wanted, found->dtype + to_string(found->shape));
    left_.erase(name);
    Array array = Array::empty(dtype, shape);
    if (array.bytes() > 0) std::memcpy(array.raw(), found->bytes.data(), array.bytes());
    return array;
  }
  [[nodiscard]] const formats::Safetensors::Entry* find(const std::string& name) const {
    const auto found = std::ranges::find(content_.entries, name, &formats::Safetensors::Entry::name);
    return found == content_.entries.end() ? nullptr : &*found;
  }
  [[nodiscard]] Outcome<Done> end() const {
    if (left_.empty()) return Done{};
    return no_checkpoint("tensor", *left_.begin(), "tensors that the run has", "one that it has not");
  }
  [[nodiscard]] Outcome<std::uint64_t> number(const char* name) const {
    const auto found = content_.metadata.find(name);
    std::uint64_t value = 0;
    const std::string text = found == content_.metadata.end() ? "nothing" : found->second;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
      return no_checkpoint("format", name, "a whole number", "\"" + text + "\"");
    return value;
  }

 private:
  const formats::Safetensors& content_;
  std::set<std::string> left_;
};

Outcome<Done> check_sum(const formats::Safetensors& content, const Reading& reading) {
  const auto wanted = reading.number("crc32");
  if (!wanted) return wanted.rejection();
  uLong sum = crc32_z(0, nullptr, 0);
  for (const auto& entry : content.entries) sum = crc32_z(sum, reinterpret_cast<const Bytef*>(entry.bytes.data()), entry.bytes.size());
  if (sum == wanted.value()) return Done{};
  return no_checkpoint("crc", "tensors", std::to_string(wanted.value()), std::to_string(sum));
}

// The content of a checkpoint, read and compared before anything is put in place.
struct Contents {
  std::vector<Array> model;
  OptimiserState optimiser;
  std::vector<double> norms;
  std::uint64_t keys = 0;
  Loader::Position position;
};

Outcome<Done> take_model(Reading& reading, const Model& model, const std::string& before, std::vector<Array>& arrays) {
  for (const Model::Entry& entry : model.entries()) {
    auto array = reading.take(before + entry.name, entry.value.dtype(), entry.value.shape());
    if (!array) return array.rejection();
    arrays.push_back(std::move(array).value());
  }
  return Done{};
}

// The lists of the optimiser that is there, one array per parameter once it has made a step.
Outcome<Done> take_optimiser(Reading& reading, const std::string& kind, Optimiser& optimiser, OptimiserState& state) {
  const auto steps = reading.number("steps");
  if (!steps) return steps.rejection();
  const auto now = optimiser.state();
  if (!now) return now.rejection();
  state = {kind, steps.value(), {}};
  for (const auto& [list, ignored] : now.value().kept) {
    std::vector<Array>& arrays = state.kept[list];
    for (std::size_t k = 0; steps.value() > 0 && k < optimiser.parameters().size(); ++k) {
      auto array =
          reading.take("optimiser/" + list + "/" + std::to_string(k), optimiser.parameters()[k].dtype(), optimiser.state_shape(list, k));
      if (!array) return array.rejection();
      arrays.push_back(std::move(array).value());
    }
  }
  return Done{};
}

Outcome<Done> take_position(const Reading& reading, const Checkpointed& what, Contents& contents) {
  const auto seed = reading.number("seed"), keys = reading.number("keys");
  if (!seed) return seed.rejection();
  if (!keys) return keys.rejection();
  const std::uint64_t own = what.trainer->model().session().options().seed;
  if (seed.value() != own) return no_checkpoint("seed", "seed", std::to_string(own), std::to_string(seed.value()));
  contents.keys = keys.value();
  if (what.loader == nullptr) return Done{};
  const auto epoch = reading.number("epoch"), batch = reading.number("batch"), order = reading.number("loader seed");
  for (const auto* one : {&epoch, &batch, &order}) {
    if (!*one) return one->rejection();
  }
  contents.position = {epoch.value(), batch.value()};
  if (order.value() != what.loader->options().seed) {
    return no_checkpoint("seed", "loader seed", std::to_string(what.loader->options().seed), std::to_string(order.value()));
  }
  if (what.loader->has(contents.position)) return Done{};
  return no_checkpoint("position", "batch", "less than " + std::to_string(what.loader->batches()), std::to_string(batch.value()));
}

Outcome<Contents> take_all(const formats::Safetensors& content, const Checkpointed& what) {
  Reading reading(content);
  const auto format = content.metadata.find("format"), kind = content.metadata.find("optimiser");
  if (format == content.metadata.end() || format->second != kFormat || kind == content.metadata.end()) {
    return no_checkpoint("format", "metadata", kFormat, format == content.metadata.end() ? "no format" : format->second);
  }
  if (auto same = check_sum(content, reading); !same) return same.rejection();
  Contents contents;
  if (auto done = take_model(reading, what.trainer->model(), "model/", contents.model); !done) return done.rejection();
  Optimiser& optimiser = what.trainer->optimiser();
  if (kind->second != optimiser.kind()) {
    return Rejection{Rejection::Kind::malformed,    "optimise.state", "kind",
                     std::string(optimiser.kind()), kind->second,     "resume with the optimiser that wrote the checkpoint"};
  }
  if (auto done = take_optimiser(reading, kind->second, optimiser, contents.optimiser); !done) return done.rejection();
  if (const auto* norms = reading.find("clip/norms"); norms != nullptr && what.trainer->percentile_clip() != nullptr) {
    const Shape shape{norms->shape.empty() ? -1 : norms->shape[0]};
    const auto array = reading.take("clip/norms", DType::float64, shape);
    if (!array) return array.rejection();
    const auto seen = array.value().data<double>();
    contents.norms.assign(seen.begin(), seen.end());
  }
  if (auto done = take_position(reading, what, contents); !done) return done.rejection();
  if (auto done = reading.end(); !done) return done.rejection();
  return contents;
}

Outcome<Done> put_in_place(const Contents& contents, const Checkpointed& what) {
  Model& model = what.trainer->model();
  model.session().clear();
  if (auto done = what.trainer->optimiser().restore(contents.optimiser); !done) return done;
  for (std::size_t k = 0; k < contents.model.size(); ++k) {
    if (auto done = model.session().assign(model.entries()[k].value, contents.model[k]); !done) return done;
  }
  if (what.trainer->percentile_clip() != nullptr) what.trainer->percentile_clip()->restore(contents.norms);
  model.session().set_keys_drawn(contents.keys);
  if (what.loader != nullptr) what.loader->seek(contents.position);
  return Done{};
}

}  // namespace

Outcome<Done> save_checkpoint(const std::string& path, const Checkpointed& what) {
  Writing writing;
  Model& model = what.trainer->model();
  for (const Model::Entry& entry : model.entries()) {
    if (auto done = writing.add("model/" + entry.name, entry.value.array()); !done) return done;
  }
  const auto state = what.trainer->optimiser().state();
  if (!state) return state.rejection();
  for (const auto& [list, arrays] : state.value().kept) {
    for (std::size_t k = 0; k < arrays.size(); ++k) {
      if (auto done = writing.add("optimiser/" + list + "/" + std::to_string(k), arrays[k]); !done) return done;
    }
  }
  if (PercentileClip* clip = what.trainer->percentile_clip(); clip != nullptr) {
    const auto count = static_cast<std::int64_t>(clip->seen().size());
    if (auto done = writing.add("clip/norms", Array::from(Tensor::of_doubles({count}, clip->seen()))); !done) return done;
  }
  writing.metadata() = {{"format", kFormat},
                        {"optimiser", state.value().kind},
                        {"steps", std::to_string(state.value().steps)},
                        {"seed", std::to_string(model.session().options().seed)},
                        {"keys", std::to_string(model.session().keys_drawn())}};
  if (what.loader != nullptr) {
    writing.metadata()["epoch"] = std::to_string(what.loader->position().epoch);
    writing.metadata()["batch"] = std::to_string(what.loader->position().batch);
    writing.metadata()["loader seed"] = std::to_string(what.loader->options().seed);
  }
  for (const auto& [name, text] : what.notes) writing.metadata()[kNote + name] = text;
  return writing.write(path, true);
}

Outcome<std::map<std::string, std::string>> load_checkpoint(const std::string& path, const Checkpointed& what) {
  const auto bytes = read_whole(path);
  if (!bytes) return bytes.rejection();
  const auto content = formats::read_safetensors(bytes.value());
  if (!content) return content.rejection();
  const auto contents = take_all(content.value(), what);
  if (!contents) return contents.rejection();
  if (auto done = put_in_place(contents.value(), what); !done) return done.rejection();
  std::map<std::string, std::string> notes;
  for (const auto& [name, text] : content.value().metadata) {
    if (name.starts_with(kNote)) notes[name.substr(std::strlen(kNote))] = text;
  }
  return notes;
}

Outcome<Done> save_parameters(const std::string& path, const Model& model) {
  Writing writing;
  for (const Model::Entry& entry : model.entries()) {
    if (auto done = writing.add(entry.name, entry.value.array()); !done) return done;
  }
  return writing.write(path, false);
}

Outcome<Done> load_parameters(const std::string& path, Model& model) {
  const auto bytes = read_whole(path);
  if (!bytes) return bytes.rejection();
  const auto content = formats::read_safetensors(bytes.value());
  if (!content) return content.rejection();
  Reading reading(content.value());
  std::vector<Array> arrays;
  if (auto done = take_model(reading, model, "", arrays); !done) return done;
  if (auto done = reading.end(); !done) return done;
  for (std::size_t k = 0; k < arrays.size(); ++k) {
    if (auto done = model.session().assign(model.entries()[k].value, arrays[k]); !done) return done;
  }
  return Done{};
}

}  // namespace assay::training
