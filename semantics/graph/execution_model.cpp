// The spelling of execution models, from one table of fields.
#include "semantics/graph/execution_model.h"

#include <algorithm>
#include <array>
#include <optional>

namespace assay {

namespace {

// A field with a closed list of words; word i spells the value i. `means` explains the field in the message about a
// wrong word.
struct Field {
  std::string_view key, means;
  std::array<std::string_view, 4> words;  // unused ones are empty
  unsigned (*get)(const ExecutionModel&);
  void (*set)(ExecutionModel&, unsigned);
};

template <auto member>
constexpr Field field(std::string_view key, std::array<std::string_view, 4> words, std::string_view means) {
  using Value = std::remove_cvref_t<decltype(std::declval<ExecutionModel>().*member)>;
  return {key, means, words, [](const ExecutionModel& m) { return static_cast<unsigned>(m.*member); },
          [](ExecutionModel& m, unsigned value) { m.*member = static_cast<Value>(value); }};
}

constexpr std::array<std::string_view, 4> kYesNo = {"no", "yes"};
constexpr Field kFormat = field<&ExecutionModel::format>("", {"binary32", "binary64"}, "the format of every float element");
constexpr std::array<Field, 15> kFields = {
    field<&ExecutionModel::rounding>("rounding", {"nearest_even"}, "how every operation rounds"),
    field<&ExecutionModel::flush_operands>("flush_operands", kYesNo, "whether subnormal operands may read as zero"),
    field<&ExecutionModel::flush_results>("flush_results", kYesNo, "whether subnormal results may be zero"),
    field<&ExecutionModel::fused_multiply_add>("fma", kYesNo, "whether a product and a sum may be one operation with one rounding"),
    field<&ExecutionModel::accumulator>("accumulator", {"any_order", "left_to_right", "tree"}, "in which order many terms are added"),
    field<&ExecutionModel::accumulator_format>("accumulator_format", {"same", "binary64"}, "the format in which sums run"),
    field<&ExecutionModel::accumulator_rounding>("accumulator_rounding", {"nearest_even", "toward_zero", "aligned"},
                                                 "how additions in a sum round"),
    field<&ExecutionModel::input_rounding>("inputs", {"exact", "tf32", "bfloat16", "binary16"},
                                           "what factors of matrix products and convolutions are rounded to first"),
    field<&ExecutionModel::storage>("storage", {"same", "bfloat16", "binary16"}, "the format in which results are stored"),
    field<&ExecutionModel::bias_in_product>("bias_in_product", kYesNo, "whether a bias may join the accumulation"),
    field<&ExecutionModel::reciprocal_of_count>("reciprocal_of_count", kYesNo, "whether a mean may multiply with the rounded 1/n"),
    field<&ExecutionModel::softmax>("softmax", {"max_subtracted", "online"}, "how softmax is computed"),
    field<&ExecutionModel::moments>("moments", {"two_pass", "welford", "one_pass", "one_or_two_pass"}, "how variances are computed"),
    field<&ExecutionModel::sigmoid>("sigmoid", {"exponential", "tanh_form"}, "how sigmoid is computed"),
    field<&ExecutionModel::rewrites>("rewrites", {"none", "algebraic"}, "whether sums and products may be rewritten"),
};
// The tree height of a sum of up to 786,432 terms in blocks of 256 to 1024 (docs/contracts/sums.md); used if the text
// says nothing about sums.
constexpr std::uint32_t kUsualHeight = 4096;
constexpr std::string_view kHeight = "tree_height", kTable = "math", kNoTable = "none";

std::optional<unsigned> value_of(const Field& field, std::string_view word) {
  const auto* const at = std::find(field.words.begin(), field.words.end(), word);
  if (word.empty() || at == field.words.end()) return std::nullopt;
  return static_cast<unsigned>(at - field.words.begin());
}

Rejection problem(std::string_view code, std::string required, std::string_view found) {
  Rejection why{Rejection::Kind::malformed, "execution_model.", "execution model",
                std::move(required),        std::string(found), "see docs/contracts/execution-models.md"};
  why.code += code;
  return why;
}

// "fma=no or fma=yes: whether ...".
std::string choices(const Field& field) {
  std::string text;
  for (const std::string_view word : field.words) {
    if (word.empty()) continue;
    text += text.empty() ? "" : " or ";
    ((text += field.key) += '=') += word;
  }
  return (text += ": ") += field.means;
}

std::string keys() {
  std::string text = "a field of an execution model: ";
  for (const Field& field : kFields) (text += field.key) += ", ";
  return ((text += kHeight) += " or ") += kTable;
}

bool is_table_name(std::string_view name) {
  constexpr std::size_t kLongest = 64;
  const auto printable = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '.'; };
  return name.size() <= kLongest && name != kNoTable && std::all_of(name.begin(), name.end(), printable);
}

std::optional<std::uint32_t> height_of(std::string_view word) {
  constexpr std::size_t kMostDigits = 6;
  if (word.empty() || word.size() > kMostDigits) return std::nullopt;
  std::uint32_t value = 0;
  for (const char c : word) {
    if (c < '0' || c > '9') return std::nullopt;
    value = 10 * value + static_cast<std::uint32_t>(c - '0');
  }
  return value;
}

// Reads one "key=word"; nullopt if it is valid.
std::optional<Rejection> read(ExecutionModel& model, std::string_view item) {
  const std::size_t equals = item.find('=');
  const std::string_view key = item.substr(0, equals), word = equals == item.npos ? "" : item.substr(equals + 1);
  if (word.empty() && (key == kTable || key == kHeight))
    return problem("key", std::string(key) + "=" + (key == kTable ? "the name of a table" : "a number"), item);
  if (key == kTable) {
    model.math_table = std::string(word == kNoTable ? std::string_view() : word);
    return std::nullopt;
  }
  if (key == kHeight) {
    const std::optional<std::uint32_t> height = height_of(word);
    if (!height) return problem("height", "a height of at most six digits", item);
    model.tree_height = *height;
    return std::nullopt;
  }
  for (const Field& field : kFields) {
    if (field.key != key) continue;
    const std::optional<unsigned> value = value_of(field, word);
    if (!value) return problem("word", choices(field), item);
    field.set(model, *value);
    return std::nullopt;
  }
  return problem("key", keys(), item);
}

}  // namespace

namespace {

std::string spelled(const ExecutionModel& model, bool defaults) {
  if (model.kind == ExecutionModel::Kind::real) return "real arithmetic";
  static const ExecutionModel kDefault;
  std::string text(kFormat.words[kFormat.get(model)]);
  const auto put = [&text](std::string_view key, std::string_view word) {
    text += ' ';
    text += key;
    text += '=';
    text += word;
  };
  // The accumulator is always written: a spelling without it would get a tree height.
  for (const Field& field : kFields) {
    if (defaults || field.get(model) != field.get(kDefault) || field.key == "accumulator") put(field.key, field.words[field.get(model)]);
  }
  if (defaults || model.tree_height > 0) put(kHeight, std::to_string(model.tree_height));
  if (defaults || !model.math_table.empty()) put(kTable, model.math_table.empty() ? kNoTable : std::string_view(model.math_table));
  return text;
}

}  // namespace

std::string to_string(const ExecutionModel& model) { return spelled(model, true); }
std::string short_spelling(const ExecutionModel& model) { return spelled(model, false); }

Outcome<ExecutionModel> parse_execution_model(std::string_view text) {
  ExecutionModel model;
  if (text == to_string(model)) return model;
  model.kind = ExecutionModel::Kind::floating;
  std::vector<std::string_view> keys;
  for (std::size_t at = 0, item_number = 0; at <= text.size(); ++item_number) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    const std::string_view item = text.substr(at, end - at);
    at = end + 1;
    if (item_number == 0) {
      const std::optional<unsigned> format = value_of(kFormat, item);
      if (!format) return problem("format", "binary32 or binary64 first, or 'real arithmetic'", item);
      kFormat.set(model, *format);
      continue;
    }
    const std::string_view key = item.substr(0, item.find('='));
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) return problem("twice", "each field once", item);
    keys.push_back(key);
    if (const std::optional<Rejection> why = read(model, item)) return *why;
  }
  const auto is_given = [&](std::string_view key) { return std::find(keys.begin(), keys.end(), key) != keys.end(); };
  if (!is_given("accumulator") && !is_given(kHeight)) {
    model.accumulator = ExecutionModel::Accumulator::tree;
    model.tree_height = kUsualHeight;
  }
  if (const std::vector<Rejection> problems = validate(model); !problems.empty()) return problems.front();
  return model;
}

std::vector<Rejection> validate(const ExecutionModel& model) {
  std::vector<Rejection> problems;
  const bool is_tree = model.accumulator == ExecutionModel::Accumulator::tree;
  if (is_tree != (model.tree_height > 0)) {
    problems.push_back(problem("tree", "a tree_height > 0 exactly where the accumulator is a tree", std::to_string(model.tree_height)));
  }
  const bool rounds_anew = model.storage != ExecutionModel::Storage::same || model.input_rounding != ExecutionModel::InputRounding::none;
  if (model.rewrites != ExecutionModel::Rewrites::none && rounds_anew)
    problems.push_back(
        problem("rewrites", "rewrites=none where factors or stored values are rounded to a shorter format", to_string(model)));
  if (!is_table_name(model.math_table)) problems.push_back(problem("math", "a table name of a-z, 0-9, - and .", model.math_table));
  return problems;
}

}  // namespace assay
