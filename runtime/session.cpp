#include "runtime/session.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <string>

#include "runtime/kernels/kernels.h"
#include "runtime/misuse.h"
#include "runtime/tape_emitter.h"
#include "runtime/threads.h"
#include "semantics/demand.h"

namespace assay::runtime {

namespace {

// A number of bfloat16 is a float whose lower half is 0: half a unit is added there, less one where the upper half is even, and the carry
// does the rest, up to infinity. A NaN stays one.
float nearest_bfloat16(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  if (std::isnan(x)) return std::bit_cast<float>((bits & 0xffff0000U) | 0x400000U);
  return std::bit_cast<float>((bits + 0x7fffU + (bits >> 16 & 1U)) & 0xffff0000U);
}

Rejection not_a_parameter(const char* what) {
  return misuse("parameter", what, "a parameter of this session", "a value that is none", "make it with parameter()");
}

}  // namespace

const Array& Value::array() const {
  static const Array kNothing;
  return session_ != nullptr && session_->owns(*this) ? session_->tape_[ref_].value : kNothing;
}

double Value::item() const {
  const Array& a = array();
  if (a.size() != 1 || !session_->fetched(a)) return std::numeric_limits<double>::quiet_NaN();
  return a.dtype() == DType::float32 ? a.data<float>()[0] : a.to_tensor().as_double(0);
}

std::vector<double> Value::to_doubles() const {
  const Array& a = array();
  if (a.size() > 0 && !session_->fetched(a)) return std::vector<double>(a.size(), std::numeric_limits<double>::quiet_NaN());
  return a.to_tensor().to_doubles();
}

bool Session::fetched(const Array& array) {
  auto done = array.fetch();
  if (!done) (void)refuse(done.rejection());
  return done.ok();
}

Session::Session(const SessionOptions& options) : options_(options), random_(options.seed) {
  demand(is_float(options.dtype), "Session: float32 or float64");
  demand(options.device == nullptr || options.dtype == DType::float32, "Session: a device computes float32");
  const bool is_plain = !options.bfloat16 && options.reference == Reference::none;
  demand(is_plain || (options.device == nullptr && options.backend == Backend::eager),
         "Session: simulated numbers are the CPU's, and eager");
  demand(!options.bfloat16 || options.dtype == DType::float32, "Session: bfloat16 is rounded from float32");
  fixed_.fill(kNone);
  if (options_.device != nullptr) mirror_.emplace(options_.device);
  set_thread_count(options.threads);
}

Ref Session::leaf(Array value, std::string_view name) {
  if (observer_ != nullptr && !fetched(value)) return kNone;
  const Ref ref = tape_.push(stored(std::move(value)));
  if (observer_ != nullptr) observer_->given(ref, tape_[ref].value, name);
  return ref;
}

Array Session::stored(Array value) const {
  if (!options_.bfloat16 || value.dtype() != DType::float32) return value;
  Array result = Array::empty(DType::float32, value.shape());
  std::ranges::transform(std::as_const(value).data<float>(), result.data<float>().begin(), nearest_bfloat16);
  return result;
}

Value Session::parameter(std::string name, Array value) {
  if (observer_ != nullptr && !fetched(value)) return failed();
  const Ref ref = keep(stored(std::move(value)), {std::move(name), true, options_.requires_grad});
  if (observer_ != nullptr) observer_->given(ref, tape_[ref].value, kept_name(ref));
  return value_of(ref);
}

Value Session::input(Array value, std::string_view name) { return this->name(value_of(leaf(std::move(value), name)), name); }

Ref Session::keep(Array value, Kept how) {
  kept_.push_back(std::move(how));
  return tape_.keep(std::move(value));
}

std::vector<Value> Session::parameters() {
  std::vector<Value> values;
  for (Ref k = 0; k < tape_.kept_size(); ++k) {
    if (kept_[k].is_parameter) values.push_back(value_of(kFirstKept + k));
  }
  return values;
}

Outcome<Done> Session::set_requires_grad(const Value& parameter, bool wanted) {
  if (!is_parameter(parameter)) return not_a_parameter("set_requires_grad");
  kept_[parameter.ref_ - kFirstKept].requires_grad = wanted;
  return Done{};
}

bool Session::requires_grad(const Value& parameter) const {
  return is_parameter(parameter) && kept_[parameter.ref_ - kFirstKept].requires_grad;
}

Value Session::name(const Value& value, std::string_view name) {
  if (!name.empty() && owns(value)) names_.emplace_back(name, value.ref_);
  return value;
}

std::optional<Value> Session::find(std::string_view name) {
  for (auto one = names_.rbegin(); one != names_.rend(); ++one) {
    if (one->first == name) return value_of(one->second);
  }
  for (Ref k = tape_.kept_size(); k-- > 0;) {
    if (kept_[k].is_parameter && kept_[k].name == name) return value_of(kFirstKept + k);
  }
  return std::nullopt;
}

Value Session::number(double value, DType dtype) { return value_of(kept_number(value, dtype)); }

// Numbers come back in every step: the first few hundred are made once.
Ref Session::kept_number(double value, DType dtype) {
  constexpr std::size_t kMostNumbers = 256;
  for (const KeptNumber& known : numbers_) {
    if (known.value == value && known.dtype == dtype && std::signbit(known.value) == std::signbit(value)) return known.ref;
  }
  const auto narrow = static_cast<float>(value);
  Array array =
      Array::from(dtype == DType::float64 ? Tensor::of_doubles({}, std::span(&value, 1)) : Tensor::of_floats({}, std::span(&narrow, 1)));
  if (numbers_.size() >= kMostNumbers) return leaf(std::move(array), {});
  const Ref ref = keep(stored(std::move(array)));
  numbers_.push_back({value, dtype, ref});
  if (observer_ != nullptr) observer_->given(ref, tape_[ref].value, {});
  return ref;
}

Outcome<Done> Session::assign(const Value& parameter, Array value) {
  if (!is_parameter(parameter)) return not_a_parameter("assign");
  Entry& entry = tape_[parameter.ref_];
  if (value.dtype() != entry.value.dtype() || value.shape() != entry.value.shape()) {
    return misuse("parameter", "assign to '" + name_of(parameter) + "'", type_of(entry.value), type_of(value),
                  "a parameter keeps its type and shape");
  }
  if (observer_ != nullptr && !fetched(value)) return refusal();
  entry.value = stored(std::move(value));
  entry.changed_at = tape_.size();
  if (observer_ != nullptr) observer_->given(parameter.ref_, entry.value, name_of(parameter));
  return Done{};
}

bool Session::owns(const Value& value) const {
  return value.session_ == this && value.ref_ != kNone && tape_.has(value.ref_) && tape_[value.ref_].serial == value.serial_;
}

bool Session::refs_of(std::span<const Value> values, const char* what, std::vector<Ref>& refs) {
  refs.clear();
  for (const Value& value : values) {
    if (!owns(value)) {
      if (value.session_ != this || value.ok()) {  // a failed value has said why already
        refuse(misuse("value", std::string(what) + ", operand " + std::to_string(refs.size()), "a value of this session's tape",
                      value.session_ == this ? "one that was cleared" : "one of another session, or of none",
                      "make values after clear(), and with the session that uses them"));
      }
      return false;
    }
    refs.push_back(value.ref_);
  }
  return true;
}

Value Session::refuse(Rejection why) {
  if (!failure_) failure_ = std::move(why);
  return failed();
}

Rejection Session::refusal() {
  if (failure_) return *failure_;
  return misuse("value", "a failed value", "a value that was computed", "none", "look at failure() before clear()");
}

Value Session::apply(Op op, std::span<const Value> operands, Attributes attributes) {
  std::array<Ref, 8> few{};
  std::vector<Ref> many;
  std::span<Ref> refs(few.data(), std::min(operands.size(), few.size()));
  if (operands.size() > few.size()) {
    many.resize(operands.size());
    refs = many;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) {
    if (!owns(operands[i])) {
      std::vector<Ref> unused;
      (void)refs_of(operands, op_row(op).name.data(), unused);
      return failed();
    }
    refs[i] = operands[i].ref_;
  }
  return value_of(execute(op, refs, std::move(attributes)));
}

Value Session::detach(const Value& value) {
  std::vector<Ref> ref;
  if (!refs_of(std::span(&value, 1), "detach", ref)) return failed();
  const Ref copy = leaf(Array(tape_[ref[0]].value), "detached");
  if (copy != kNone && recording_) {
    tape_[copy].kind = Entry::Kind::detached;
    tape_.set_operands(tape_[copy], ref);
  }
  return value_of(copy);
}

// The type that the op gives: at once for elementwise float ops on equal shapes, else as a graph would infer it.
bool Session::infer_result(Op op, std::span<const Ref> operands, const Attributes& attributes, DType& dtype, Shape& shape) {
  const OpRow& row = op_row(op);
  const bool plain = (op >= Op::add && op <= Op::neg) || op == Op::mul || op == Op::div || op == Op::relu || op == Op::sigmoid ||
                     op == Op::tanh || op == Op::exp || op == Op::sign;
  if (plain && attributes.index() == row.attributes && operands.size() == static_cast<std::size_t>(row.arity_min)) {
    const Array& first = tape_[operands[0]].value;
    const Array& last = tape_[operands[operands.size() - 1]].value;
    if (is_float(first.dtype()) && last.dtype() == first.dtype() && last.shape() == first.shape()) {
      dtype = first.dtype();
      shape = first.shape();
      return true;
    }
  }
  scratch_ids_.resize(operands.size());
  if (scratch_.nodes.size() < operands.size()) scratch_.nodes.resize(operands.size());
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Array& array = tape_[operands[i]].value;
    scratch_ids_[i] = static_cast<NodeId>(i);
    scratch_.nodes[i].dtype = array.dtype();
    scratch_.nodes[i].shape = array.shape();
  }
  Outcome<ResultType> found = infer(scratch_, op, scratch_ids_, attributes);
  if (!found) {
    refuse(found.rejection());
    return false;
  }
  dtype = found.value().dtype;
  shape = std::move(found.value().shape);
  return true;
}

Outcome<Array> Session::computed(Op op, const Attributes& attributes, std::span<const Array* const> operands, DType dtype, Shape shape) {
  if (op == Op::reshape) return operands[0]->reshaped(std::move(shape));
  if (mirror_) return mirror_->run(op, attributes, operands, dtype, std::move(shape));
  for (const Array* operand : operands) {  // from another session's device: kernels read them from several threads
    if (auto done = operand->fetch(); !done) return done.rejection();
  }
  if (op == Op::slice) {
    const Array& whole = *operands[0];
    if (const auto first = first_of_part(std::get<SliceAttributes>(attributes), whole.shape(), dtype); first)
      return whole.part(*first, std::move(shape));
  }
  Array result = Array::empty(dtype, std::move(shape));
  if (auto done = run(op, attributes, operands, result); !done) return done.rejection();
  return stored(std::move(result));
}

Ref Session::execute(Op op, std::span<const Ref> operands, Attributes attributes) {
  DType dtype{};
  Shape shape;
  for (const Ref operand : operands) {
    if (operand == kNone) return kNone;
  }
  if (!infer_result(op, operands, attributes, dtype, shape)) return kNone;
  std::array<const Array*, 8> few{};
  std::vector<const Array*> many;
  std::span<const Array*> contents(few.data(), std::min(operands.size(), few.size()));
  if (operands.size() > few.size()) {
    many.resize(operands.size());
    contents = many;
  }
  for (std::size_t i = 0; i < operands.size(); ++i) contents[i] = &tape_[operands[i]].value;
  Outcome<Array> result = computed(op, attributes, contents, dtype, std::move(shape));
  if (!result) {
    refuse(result.rejection());
    return kNone;
  }
  if (observer_ != nullptr) {  // it reads what ran
    for (const Array* content : contents) {
      if (!fetched(*content)) return kNone;
    }
    if (!fetched(result.value())) return kNone;
  }
  const Ref ref = tape_.push(std::move(result).value());
  Entry& entry = tape_[ref];
  if (observer_ != nullptr) observer_->ran(op, attributes, operands, contents, ref, entry.value, role_);
  if (!recording_) {
    entry.kind = Entry::Kind::unrecorded;
    return ref;
  }
  entry.kind = Entry::Kind::op;
  entry.op = op;
  entry.attributes = std::move(attributes);
  tape_.set_operands(entry, operands);
  return ref;
}

// Draws here if the device cannot: no bit depends on the place.
Array Session::drawn(Drawing drawing) {
  const RandomKey key = next_key();
  Outcome<Array> there = mirror_ ? mirror_->draw(key, drawing) : Array();
  Array array = mirror_ && there ? std::move(there).value() : runtime::drawn(key, drawing);
  if (drawings_ != nullptr) drawings_->push_back({std::move(drawing), array});
  return array;
}

void Session::forget(Ref first) {
  tape_.truncate(first);
  std::erase_if(names_, [first](const auto& one) { return one.second >= first && one.second < kFirstKept; });
  std::erase_if(together_, [first](const Together& one) { return one.end > first; });
  std::erase_if(hooks_, [first](const HookEntry& hook) { return hook.ref >= first && hook.ref < kFirstKept; });
  if (observer_ != nullptr) observer_->forgotten(first);
}

void Session::clear() {
  forget(0);
  for (Ref k = 0; k < tape_.kept_size(); ++k) tape_[kFirstKept + k].changed_at = 0;
  checkpoints_.clear();
  failure_.reset();
  if (mirror_) mirror_->sweep();
}

std::size_t Session::on_gradient(const Value& value, Hook hook) {
  std::vector<Ref> ref;
  const std::size_t number = hook_count_++;
  if (refs_of(std::span(&value, 1), "on_gradient", ref)) hooks_.push_back({number, ref[0], std::move(hook)});
  return number;
}

void Session::remove_hook(std::size_t number) {
  std::erase_if(hooks_, [number](const HookEntry& hook) { return hook.number == number; });
}

// The function's entries are forgotten; values that they read from outside become the operands of one entry.
Value Session::checkpoint(Loss f, std::vector<Value> values) {
  std::vector<Ref> read;
  if (!refs_of(values, "checkpoint", read)) return failed();
  const Ref start = tape_.size();
  const std::size_t inner = checkpoints_.size();
  const std::uint64_t drawn = drawn_;
  const Value inside = f(values);
  std::vector<Ref> result;
  if (!refs_of(std::span(&inside, 1), "checkpoint, result", result)) return failed();
  if (!recording_ || result[0] < start || result[0] >= kFirstKept) return inside;
  for (Ref ref = start; ref < tape_.size(); ++ref) {
    for (const Ref operand : tape_.operands(tape_[ref])) {
      if (operand < start || operand >= kFirstKept) read.push_back(operand);
    }
  }
  std::ranges::sort(read);
  read.erase(std::unique(read.begin(), read.end()), read.end());
  Array content = tape_[result[0]].value;
  forget(start);
  checkpoints_.resize(inner);
  const Ref ref = leaf(std::move(content), "checkpoint");
  if (ref == kNone) return failed();
  Entry& entry = tape_[ref];
  entry.kind = Entry::Kind::checkpoint;
  entry.checkpoint = static_cast<std::uint32_t>(checkpoints_.size());
  tape_.set_operands(entry, read);
  checkpoints_.push_back({std::move(f), std::move(values), drawn});
  return value_of(ref);
}

}  // namespace assay::runtime
