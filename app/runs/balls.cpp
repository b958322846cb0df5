#include "app/runs/balls.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <optional>
#include <utility>

#include "api/check/cost.h"
#include "app/queries/evaluate.h"
#include "frontends/onnx/import.h"
#include "frontends/vnnlib/read.h"

namespace assay::runs {
namespace {

Rejection wrong_option(const char* code, std::string place, std::string required, std::string found, std::string advice = "") {
  return {Rejection::Kind::malformed, std::string("robust.") + code, std::move(place), std::move(required), std::move(found),
          std::move(advice)};
}

std::size_t largest(const std::vector<Interval>& outputs) {
  return static_cast<std::size_t>(std::ranges::max_element(outputs, {}, &Interval::lo) - outputs.begin());
}

// The output that is larger than all others, for certain.
std::optional<std::size_t> winner(const std::vector<Interval>& outputs) {
  const std::size_t best = largest(outputs);
  const auto loses = [&](const Interval& one) { return &one == &outputs[best] || one.hi() < outputs[best].lo(); };
  return std::ranges::all_of(outputs, loses) ? std::optional(best) : std::nullopt;
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (const std::int64_t extent : shape) text += (text.size() > 1 ? ", " : "") + std::to_string(extent);
  return text + "]";
}

std::vector<std::int64_t> without_ones(std::vector<std::int64_t> shape) {
  std::erase(shape, 1);
  return shape;
}

// The number, or one just below (above) that has a short decimal text.
Rational outward(const Rational& value, bool up) {
  constexpr std::size_t kMostCharacters = 43, kDigits = 30;  // 40 digits, a sign, a zero and a point
  static const Rational kUnit = *Rational::parse("1e" + std::to_string(kDigits)), kFew = *Rational::parse("1e18");
  if (abs(value) < kFew && (value * kFew).is_integer()) return value;
  if (const std::string text = value.to_decimal(); text.size() <= kMostCharacters && text.find('/') == std::string::npos) return value;
  return (up ? -floor(-(value * kUnit)) : floor(value * kUnit)) / kUnit;
}

std::string outward_decimal(const Rational& value, bool up) { return outward(value, up).to_decimal(); }

std::string files_digest(const std::string& path) {
  const std::vector<std::string> files = formats::dataset_files(path);
  if (files.size() == 1 && !std::filesystem::is_directory(path)) return file_digest(files[0]);
  std::string all;  // as `sha256sum` lists them
  for (const std::string& file : files) all += file_digest(file) + "  " + std::filesystem::relative(file, path).string() + "\n";
  return statement::to_hex(statement::sha256(std::as_bytes(std::span(all))));
}

// Numbers of an option, one or one per channel.
Outcome<std::vector<Rational>> per_channel(const char* option, const std::vector<std::string>& texts, std::size_t channels) {
  std::vector<Rational> numbers;
  for (const std::string& text : texts) {
    const auto number = Rational::parse(text);
    if (!number) return wrong_option("number", option, "numbers such as 0.5 or 1/2", text);
    numbers.push_back(*number);
  }
  if (numbers.size() > 1 && numbers.size() != channels)
    return wrong_option("channels", option, "one number, or one for each of " + std::to_string(channels) + " channels",
                        std::to_string(numbers.size()));
  return numbers;
}

}  // namespace

std::string undecided_name(std::size_t item, std::string radius) {
  std::ranges::replace(radius, '/', '_');
  return "item" + std::to_string(item) + "-" + radius;
}

Json to_json(const BallSetting& setting) {
  Json claim{{"model", setting.model},
             {"data", setting.data},
             {"labels", setting.labels},
             {"scale", setting.scale},
             {"mean", setting.mean},
             {"std", setting.std},
             {"clip", setting.clip_lo.empty() ? Json() : Json{setting.clip_lo, setting.clip_hi}},
             {"norm", setting.norm},
             {"semantics", setting.semantics}};
  add_edits(claim, setting.edits);
  return claim;
}

BallSetting setting_of(const Json& claim) {
  BallSetting setting;
  setting.model = text_of(claim, "model");
  setting.data = text_of(claim, "data");
  setting.labels = text_of(claim, "labels");
  setting.scale = text_of(claim, "scale");
  setting.semantics = text_of(claim, "semantics");
  setting.norm = text_of(claim, "norm", setting.norm);
  setting.mean = texts_of(claim, "mean");
  setting.std = texts_of(claim, "std");
  setting.edits = edits_of(claim);
  if (const auto clip = texts_of(claim, "clip"); clip.size() == 2) {
    setting.clip_lo = clip[0];
    setting.clip_hi = clip[1];
  }
  return setting;
}

Outcome<Balls> Balls::load(const BallSetting& setting, const check::LoadOptions& options) {
  Balls balls;
  balls.memory_ = check::memory_rule(options.limits);
  if (options.limit_memory) options.limit_memory(balls.memory_.most);
  const std::string path = check::existing(setting.model);
  auto model = onnx::import_model(path, balls.memory_, setting.edits);
  if (!model) return check::in_file(model.rejection(), path);
  auto size = check::check_size(model.value().graph, options.limits, model.value().stored);
  if (!size) return check::in_file(size.rejection(), path);
  balls.bytes_ = size.value();
  balls.stored_ = model.value().stored;
  balls.graph_ = std::move(model.value().graph);
  balls.sources_ = model.value().sources;
  balls.semantics_ = options.semantics.value_or(ExecutionModel{});
  if (auto obstacle = model.value().obstacle(balls.semantics_)) return check::in_file(*obstacle, path);
  balls.norm_ = setting.norm;
  if (setting.norm != "linf" && setting.norm != "l2" && setting.norm != "l1")
    return wrong_option("norm", "--norm", "linf, l2 or l1", setting.norm);
  if (setting.norm != "linf" && balls.semantics_.kind == ExecutionModel::Kind::floating)
    return wrong_option("norm", "--norm " + setting.norm, "real arithmetic", "a floating semantics",
                        "distances have no rounding of their own");
  for (const std::string& note : model.value().notes) balls.notes_.push_back("model: " + note);
  auto data = formats::read_dataset({setting.data, setting.labels, true});
  if (!data) return data.rejection();
  balls.data_ = std::move(data).value();
  for (const std::string& note : balls.data_.notes) balls.notes_.push_back("data: " + note);
  if (balls.data_.labels.empty())
    balls.notes_.push_back("labels: none were given, so the label of an item is the class that the model gives it");
  if (auto fits = balls.fit(); !fits) return fits.rejection();
  if (auto numbers = balls.read_numbers(setting); !numbers) return numbers.rejection();
  balls.kernel_options_.exact = options.exact;
  balls.network_ = logic::Network::open(balls.graph_, balls.semantics_, balls.kernel_options_);
  balls.digests_["model"] = statement::to_hex(balls.sources_.front().sha256);
  for (std::size_t i = 1; i < balls.sources_.size() && balls.sources_[i].role == "external data"; ++i)
    balls.digests_["external data"].push_back(statement::to_hex(balls.sources_[i].sha256));
  balls.digests_["graph"] = statement::to_hex(statement::graph_digest(balls.graph_));
  balls.digests_["data"] = files_digest(setting.data);
  std::error_code error;
  const std::vector<std::string> label_files = setting.labels.empty() ? std::vector<std::string>() : formats::dataset_files(setting.labels);
  if (!label_files.empty() && std::filesystem::exists(label_files.front(), error)) balls.digests_["labels"] = files_digest(setting.labels);
  return balls;
}

Outcome<Done> Balls::fit() {
  if (graph_.inputs.size() != 1 || graph_.outputs.size() != 1)
    return Rejection{Rejection::Kind::unsupported,
                     "robust.model",
                     sources_.front().name,
                     "a model with one input and one output",
                     std::to_string(graph_.inputs.size()) + " and " + std::to_string(graph_.outputs.size()),
                     "write properties instead: assay batch"};
  const Node& input = graph_.node(graph_.inputs[0]);
  for (const auto extent : input.shape) input_shape_.push_back(static_cast<std::int64_t>(extent));
  classes_ = graph_.size(graph_.outputs[0]);
  if (!is_float(input.dtype) || classes_ < 2)
    return wrong_option("model", sources_.front().name, "a float input and at least two scores", std::to_string(classes_) + " scores");
  const std::size_t count = graph_.size(graph_.inputs[0]);
  const std::vector<std::int64_t> item = data_.items.item_shape();
  if (data_.items.item_size() != count)
    return wrong_option("shape", "data", "items of " + std::to_string(count) + " numbers, for an input " + shape_text(input_shape_),
                        "items " + shape_text(item));
  constexpr std::uint64_t kTextOfInput = 75;  // bytes in a property
  stored_ += kTextOfInput * count;
  order_.resize(count);
  std::iota(order_.begin(), order_.end(), std::size_t{0});
  const auto core = input_shape_.size() == 4 ? std::vector<std::int64_t>(input_shape_.begin() + 1, input_shape_.end()) : input_shape_;
  if (core.size() == 3) {
    channels_ = static_cast<std::size_t>(core[0]);
    inside_ = count / channels_;
  } else {
    channels_ = count;
    inside_ = 1;
  }
  const bool colours_last =
      item.size() == 3 && core.size() == 3 && item != core && core[0] == item[2] && core[1] == item[0] && core[2] == item[1];
  if (colours_last && channels_ > 1) {
    for (std::size_t i = 0; i < count; ++i) order_[i] = i % inside_ * channels_ + i / inside_;
    notes_.push_back("data: items are " + shape_text(item) + ", the input " + shape_text(input_shape_) +
                     ": channels were moved to the front");
  } else if (item.size() > 1 && without_ones(item) != without_ones(input_shape_)) {
    notes_.push_back("data: items are " + shape_text(item) + ", the input " + shape_text(input_shape_) +
                     ": taken in the order of their elements");
  }
  for (std::size_t i = 0; i < data_.labels.size(); ++i) {
    if (data_.labels[i] < static_cast<std::int64_t>(classes_)) continue;
    return wrong_option("label", "item " + std::to_string(i), "a label below " + std::to_string(classes_) + ", the number of scores",
                        std::to_string(data_.labels[i]));
  }
  return Done{};
}

Outcome<Done> Balls::read_numbers(const BallSetting& setting) {
  const auto type = data_.items.type;
  std::string scale = setting.scale;
  if (scale.empty()) {
    scale = type == formats::ElementType::uint8 ? "1/255" : type == formats::ElementType::uint16 ? "1/65535" : "1";
    if (scale != "1") notes_.push_back("data: numbers are " + std::string(formats::name_of(type)) + " and were multiplied by " + scale);
  }
  const auto factor = Rational::parse(scale);
  if (!factor || factor->sign() <= 0) return wrong_option("number", "--scale", "a number above 0, such as 1/255", scale);
  scale_ = *factor;
  auto mean = per_channel("--mean", setting.mean, channels_), deviation = per_channel("--std", setting.std, channels_);
  if (!mean) return mean.rejection();
  if (!deviation) return deviation.rejection();
  mean_ = std::move(mean).value();
  std_ = std::move(deviation).value();
  for (const Rational& one : std_) {
    if (one.sign() <= 0) return wrong_option("number", "--std", "numbers above 0", one.to_string());
  }
  if (!setting.clip_lo.empty()) {
    clip_lo_ = Rational::parse(setting.clip_lo);
    clip_hi_ = Rational::parse(setting.clip_hi);
    if (!clip_lo_ || !clip_hi_ || *clip_lo_ > *clip_hi_)
      return wrong_option("number", "--clip", "two numbers in order, such as 0,1", setting.clip_lo + "," + setting.clip_hi);
  }
  return Done{};
}

Rational Balls::pixel(std::size_t item, std::size_t coordinate) const {
  const auto number = Rational::from_double(data_.items.number(item * order_.size() + order_[coordinate]));
  return number ? *number * scale_ : Rational();
}

Rational Balls::normalised(const Rational& pixel, std::size_t coordinate) const {
  const std::size_t channel = coordinate / inside_;
  Rational value = pixel;
  if (!mean_.empty()) value = value - mean_[mean_.size() == 1 ? 0 : channel];
  if (!std_.empty()) value = value / std_[std_.size() == 1 ? 0 : channel];
  return value;
}

std::vector<Rational> Balls::input(std::size_t item) const {
  std::vector<Rational> values;
  for (std::size_t i = 0; i < order_.size(); ++i) values.push_back(normalised(pixel(item, i), i));
  return values;
}

Outcome<Balls::Scores> Balls::scores(std::size_t item) const {
  queries::EvaluationRequest request;
  std::vector<Interval>& values = request.inputs[graph_.input_names[0]];
  std::vector<Rational>& exact = request.points[graph_.input_names[0]] = input(item);
  for (const Rational& value : exact) values.emplace_back(value.double_down(), value.double_up());
  const auto is_enough = [](const queries::Evaluation& one) { return winner(one.outputs[0].values) || queries::is_narrow(one); };
  auto evaluated = queries::evaluate_sets(graph_, request, is_enough);
  if (!evaluated) return evaluated.rejection();
  const std::vector<Interval>& outputs = evaluated.value().outputs[0].values;
  const std::optional<std::size_t> clear = winner(outputs);
  const std::size_t best = clear.value_or(largest(outputs));
  Scores scores;
  scores.predicted = clear ? static_cast<std::int64_t>(best) : -1;
  const std::size_t subject = has_labels() ? static_cast<std::size_t>(label(item)) : best;
  double other = -HUGE_VAL;
  for (std::size_t k = 0; k < outputs.size(); ++k) other = k == subject ? other : std::max(other, outputs[k].midpoint());
  scores.margin = outputs[subject].midpoint() - other;
  return scores;
}

bool Instance::contains(std::span<const Rational> point) const {
  Rational off;
  for (std::size_t i = 0; i < point.size(); ++i) {
    if (!(point[i] >= lo[i] && point[i] <= hi[i])) return false;
    if (norm == "linf") continue;
    const Rational one = scale[i] * (point[i] - centre[i]);
    off += norm == "l2" ? one * one : abs(one);
  }
  return off <= (norm == "l2" ? radius * radius : radius);
}

// The row of an l2 ball, in decimals that hold all of it. Middles are rounded, and the radius grows by the move; weights are
// rounded down.
std::string Balls::ball_text(const Instance& instance) {
  std::string text;
  Rational radius = instance.radius;
  for (std::size_t i = 0; i < instance.centre.size(); ++i) {
    const Rational &scale = instance.scale[i], &centre = instance.centre[i];
    const std::string middle = outward_decimal(centre, false), weight = outward_decimal(scale * scale, false);
    radius += abs(scale) * (centre - *Rational::parse(middle));
    const std::string off = centre.sign() == 0 ? " X_" + std::to_string(i) : " (- X_" + std::to_string(i) + " " + middle + ")";
    text += " (*" + (weight == "1" ? "" : " " + weight) + off + off + ")";
  }
  return "(assert (<= (+" + text + " 0) " + outward_decimal(radius * radius, true) + "))\n";
}

std::string Balls::property(const Instance& instance, std::int64_t label) const {
  std::string text, bounds, unsafe;
  for (std::size_t i = 0; i < instance.lo.size(); ++i) {
    const std::string name = "X_" + std::to_string(i);
    text += "(declare-const " + name + " Real)\n";
    bounds += "(assert (>= " + name + " " + outward_decimal(instance.lo[i], false) + "))\n(assert (<= " + name + " " +
              outward_decimal(instance.hi[i], true) + "))\n";
  }
  for (std::size_t k = 0; k < classes_; ++k) {
    text += "(declare-const Y_" + std::to_string(k) + " Real)\n";
    if (static_cast<std::int64_t>(k) != label) unsafe += " (and (>= Y_" + std::to_string(k) + " Y_" + std::to_string(label) + "))";
  }
  if (instance.norm == "l2") bounds += ball_text(instance);
  return text + bounds + "(assert (or" + unsafe + "))\n";
}

std::vector<std::string> Balls::write_property(const Instance& instance, std::int64_t label, const std::string& folder,
                                               const std::string& name) const {
  const bool whole = instance.norm == "l1";
  const std::string path = (std::filesystem::path(folder) / (name + (whole ? ".statement" : ".vnnlib"))).string();
  const std::vector<std::byte> bytes = whole ? statement::statement_bytes(instance.problem->statement()) : std::vector<std::byte>();
  (void)std::remove(path.c_str());  // instead of what a link of this name leads to
  errno = 0;
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if ((file << (whole ? "" : property(instance, label))).flush()) return {};
  return {path + ": " + std::strerror(errno == 0 ? EIO : errno)};
}

std::vector<std::string> Balls::write_undecided(std::size_t item, std::int64_t label, const Rational& eps, const std::string& radius,
                                                const std::string& folder) const {
  auto one = instance(item, label, eps);
  if (!one) return {"item " + std::to_string(item) + ": " + one.rejection().to_text()};
  return write_property(one.value(), label, folder, undecided_name(item, radius));
}

// The property that the reader makes of the text of an instance that is its box, made without the text.
statement::Property Balls::box_property(const Instance& instance, std::int64_t label) const {
  const auto box = std::make_shared<statement::InputBox>();
  for (const Rational& end : instance.lo) box->lo.push_back(outward(end, false));
  for (const Rational& end : instance.hi) box->hi.push_back(outward(end, true));
  statement::Property property;
  for (std::size_t k = 0; k < classes_; ++k) {
    if (static_cast<std::int64_t>(k) == label) continue;
    const auto score = [](std::size_t one) { return statement::Variable{statement::Variable::Side::output, 0, one}; };
    const statement::Row ahead{{{-1, score(k)}, {1, score(static_cast<std::size_t>(label))}}, 0, false};
    property.cases.push_back({box, {ahead}});
  }
  return property;
}

// The row of an l1 ball, about a further output |x - middle|. Middles are rounded to the input's type, and the radius grows by
// the move.
Outcome<Done> Balls::add_ball(const Instance& instance, Graph& graph, statement::Property& property) {
  const NodeId x = graph.inputs[0];
  const auto [type, shape] = std::pair(graph.node(x).dtype, graph.node(x).shape);
  std::vector<double> middles;
  statement::Row row{{}, instance.radius};
  for (std::size_t i = 0; i < instance.centre.size(); ++i) {
    const double nearest = Interval(instance.centre[i]).midpoint();
    middles.push_back(type == DType::float32 ? static_cast<double>(static_cast<float>(nearest)) : nearest);
    const auto middle = Rational::from_double(middles.back());
    if (!middle) return wrong_option("number", "--mean, --std", "inputs that the model's type holds", std::to_string(nearest));
    row.bound += instance.scale[i] * abs(instance.centre[i] - *middle);
    row.terms.push_back({instance.scale[i], {statement::Variable::Side::output, static_cast<std::uint32_t>(graph.outputs.size()), i}});
  }
  const std::vector<float> floats(middles.begin(), middles.end());
  const NodeId constant =
      graph.append_constant(type == DType::float32 ? Tensor::of_floats(shape, floats) : Tensor::of_doubles(shape, middles));
  auto off = graph.append(Op::sub, {x, constant});
  if (!off) return off.rejection();
  auto size = graph.append(Op::abs, {off.value()});
  if (!size) return size.rejection();
  graph.mark_output(size.value(), std::string(statement::kProductsName) + "magnitudes");
  for (statement::Case& one : property.cases) one.rows.insert(one.rows.begin(), row);
  return Done{};
}

Rational Balls::outside_clip(const Rational& pixel) const {
  if (clip_lo_ && pixel < *clip_lo_) return *clip_lo_ - pixel;
  return clip_hi_ && pixel > *clip_hi_ ? pixel - *clip_hi_ : Rational();
}

bool Balls::is_in_clip(std::size_t item) const {
  for (std::size_t i = 0; i < order_.size(); ++i) {
    if (outside_clip(pixel(item, i)).sign() != 0) return false;
  }
  return true;
}

// The distance of the item from the range of --clip, in the norm of the ball, is at most the radius.
Outcome<Done> Balls::meets_clip(std::size_t item, const Rational& eps) const {
  Rational distance, farthest;  // of l2: its square
  std::size_t where = 0;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Rational outside = outside_clip(pixel(item, i));
    if (outside > farthest) {
      farthest = outside;
      where = i;
    }
    if (outside.sign() != 0) distance = norm_ == "linf" ? farthest : distance + (norm_ == "l2" ? outside * outside : outside);
  }
  if (distance <= (norm_ == "l2" ? eps * eps : eps)) return Done{};
  return wrong_option("clip", "item " + std::to_string(item), "numbers within the radius of --clip", pixel(item, where).to_decimal(),
                      "numbers and --clip are in one unit after --scale: correct it, or leave --clip out");
}

Outcome<Done> Balls::has_points(std::size_t item, std::int64_t label, const Rational& eps) const {
  if (semantics_.kind != ExecutionModel::Kind::floating) return meets_clip(item, eps);
  auto one = instance(item, label, eps);  // whose box may lie between two numbers of the format
  if (!one) return one.rejection();
  for (std::size_t group = 0; group < one.value().problem->group_count(); ++group) {
    if (!one.value().problem->group_is_empty(group)) return Done{};
  }
  return Rejection{
      Rejection::Kind::rejected, "robust.empty", "item " + std::to_string(item), "a ball that holds a number of the format", "none", ""};
}

Outcome<Instance> Balls::instance(std::size_t item, std::int64_t label, const Rational& eps) const {
  Instance result;
  result.norm = norm_;
  result.radius = eps;
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const double stored = data_.items.number(item * order_.size() + order_[i]);
    if (!std::isfinite(stored)) return wrong_option("number", "item " + std::to_string(item), "finite numbers", std::to_string(stored));
  }
  if (auto meets = meets_clip(item, eps); !meets) return meets.rejection();
  for (std::size_t i = 0; i < order_.size(); ++i) {
    const Rational centre = pixel(item, i);
    Rational lo = centre - eps, hi = centre + eps;
    if (clip_lo_) lo = min(max(lo, *clip_lo_), *clip_hi_);
    if (clip_hi_) hi = max(min(hi, *clip_hi_), *clip_lo_);
    result.lo.push_back(normalised(lo, i));
    result.hi.push_back(normalised(hi, i));
    result.mid.push_back(normalised(min(max(centre, lo), hi), i));
    if (norm_ == "linf") continue;
    result.centre.push_back(normalised(centre, i));
    result.scale.push_back(std_.empty() ? Rational(1) : std_[std_.size() == 1 ? 0 : i / inside_]);
  }
  if (norm_ == "linf") {
    if (!*network_) return network_->rejection();
    auto problem = logic::Problem::open(network_->value(), box_property(result, label), sources_);
    if (!problem) return problem.rejection();
    result.problem = std::move(problem).value();
    return result;
  }
  statement::Statement statement{graph_, {}, semantics_, sources_};
  if (norm_ == "l1") {
    statement.property = box_property(result, label);
    if (auto added = add_ball(result, statement.graph, statement.property); !added) return added.rejection();
  } else {
    const std::array<vnnlib::NetworkShape, 1> networks{{{"", &graph_}}};
    auto read =
        vnnlib::read_property_text(property(result, label), "item " + std::to_string(item), networks, vnnlib::Polynomials::state, memory_);
    if (!read) return read.rejection();
    if (read.value().graph) statement.graph = *std::move(read.value().graph);
    statement.property = std::move(read.value().property);
    statement.sources.push_back(read.value().source);
  }
  auto problem = logic::Problem::open(std::move(statement), kernel_options_);
  if (!problem) return problem.rejection();
  result.problem = std::move(problem).value();
  return result;
}

}  // namespace assay::runs
