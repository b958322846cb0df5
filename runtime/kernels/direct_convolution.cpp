// Convolutions by oneDNN's direct kernels, pinned: no Winograd, plain float32. Images go through one at a time, in the kernels' blocked
// layout, which a cache holds; weight gradients by pieces of the batch, added up in order.
#include <map>
#include <memory>
#include <mutex>
#include <oneapi/dnnl/dnnl.hpp>
#include <optional>
#include <string>
#include <unordered_map>

#include "runtime/buffers.h"
#include "runtime/kernels/convolution.h"
#include "runtime/kernels/onednn.h"
#include "runtime/kernels/strides.h"
#include "runtime/threads.h"

namespace assay::runtime {

namespace {

using dnnl::memory;
using Dims = memory::dims;

enum class Kind : std::uint8_t { forward, data, weights };

const dnnl::engine& cpu() {
  static const dnnl::engine kCpu(dnnl::engine::kind::cpu, 0);
  return kCpu;
}

// A tensor in a plain layout with any strides.
memory::desc plain(const Dims& dims, const Dims& strides) { return {dims, memory::data_type::f32, strides}; }
memory::desc free_choice(const Dims& dims) { return {dims, memory::data_type::f32, memory::format_tag::any}; }
Dims row_major(const Dims& dims) {
  Dims strides(dims.size(), 1);
  for (std::size_t axis = dims.size(); axis-- > 1;) strides[axis - 1] = strides[axis] * dims[axis];
  return strides;
}

// One side of a primitive: the caller's layout, the kernel's layout, and the way between them.
struct Side {
  memory::desc outer, inner;
  dnnl::reorder change;
  bool changes = false;
  Side() = default;
  Side(const memory::desc& caller, const memory::desc& kernel, bool is_result) : outer(caller), inner(kernel), changes(caller != kernel) {
    if (!changes) return;
    const memory::desc &from = is_result ? inner : outer, &to = is_result ? outer : inner;
    change = dnnl::reorder(dnnl::reorder::primitive_desc(cpu(), from, cpu(), to));
  }
  [[nodiscard]] std::size_t scratch() const { return changes ? inner.get_size() / sizeof(float) + 1 : 0; }
};

// The convolution: dims of x (fine), w and y (coarse), and the strides that the caller stores them with.
struct Problem {
  Kind kind;
  bool has_bias;
  Dims x, w, y, x_strides, w_strides, y_strides;
  Dims stride, dilation, pad_begin, pad_end;
  [[nodiscard]] std::vector<std::int64_t> key() const {
    std::vector<std::int64_t> all = {static_cast<std::int64_t>(kind), has_bias ? 1 : 0};
    for (const Dims* part : {&x, &w, &y, &x_strides, &w_strides, &y_strides, &stride, &dilation, &pad_begin, &pad_end}) {
      all.push_back(static_cast<std::int64_t>(part->size()));
      all.insert(all.end(), part->begin(), part->end());
    }
    return all;
  }
};

class Kernel {
 public:
  explicit Kernel(const Problem& p);
  [[nodiscard]] bool is_usable() const { return usable_; }
  // x, w and y as the caller stores them; for `data` x is the result, for `weights` w. A prepared w is in the kernel's layout.
  void execute(float* x, float* w, bool w_is_prepared, const float* bias, float* y) const;
  [[nodiscard]] std::size_t prepared_size() const { return w_.scratch(); }
  void prepare(const float* w, float* prepared) const;

 private:
  void move(const Side& side, float* outer, float* inner, bool outward, dnnl::stream& stream) const;
  Kind kind_;
  bool usable_ = false, has_bias_;
  Side x_, w_, y_;
  memory::desc bias_, scratchpad_;
  dnnl::primitive primitive_;
};

Kernel::Kernel(const Problem& p) : kind_(p.kind), has_bias_(p.has_bias) {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  attributes.set_fpmath_mode(dnnl::fpmath_mode::strict);
  const auto algorithm = dnnl::algorithm::convolution_direct;
  const memory::desc x = free_choice(p.x), w = free_choice(p.w), y = free_choice(p.y);
  const Dims channels = {p.y[1]};
  if (has_bias_) bias_ = memory::desc(channels, memory::data_type::f32, memory::format_tag::a);
  const auto adopt = [&](const auto& description, const memory::desc& of_x, const memory::desc& of_w, const memory::desc& of_y,
                         auto primitive) {
    if (std::string(description.impl_info_str()).find("ref") != std::string::npos) return;  // a loop for checking, not for speed
    x_ = Side(plain(p.x, p.x_strides), of_x, kind_ == Kind::data);
    w_ = Side(plain(p.w, p.w_strides), of_w, kind_ == Kind::weights);
    y_ = Side(plain(p.y, p.y_strides), of_y, kind_ == Kind::forward);
    scratchpad_ = description.scratchpad_desc();
    primitive_ = primitive;
    usable_ = true;
  };
  const auto described = [&]() -> std::optional<dnnl::convolution_forward::desc> {
    const auto training = dnnl::prop_kind::forward_training;
    try {
      if (!has_bias_) return dnnl::convolution_forward::desc(training, algorithm, x, w, y, p.stride, p.dilation, p.pad_begin, p.pad_end);
      return dnnl::convolution_forward::desc(training, algorithm, x, w, bias_, y, p.stride, p.dilation, p.pad_begin, p.pad_end);
    } catch (const dnnl::error&) {  // a geometry that the library does not take, such as a last pad far below 0
      return std::nullopt;
    }
  };
  const auto forward = described();
  if (!forward) return;
  const dnnl::convolution_forward::primitive_desc hint(*forward, attributes, cpu(), true);
  if (!hint) return;
  if (kind_ == Kind::forward) {
    adopt(hint, hint.src_desc(), hint.weights_desc(), hint.dst_desc(), dnnl::convolution_forward(hint));
  } else if (kind_ == Kind::data) {
    const dnnl::convolution_backward_data::primitive_desc back({algorithm, x, w, y, p.stride, p.dilation, p.pad_begin, p.pad_end},
                                                               attributes, cpu(), hint, true);
    if (back) adopt(back, back.diff_src_desc(), back.weights_desc(), back.diff_dst_desc(), dnnl::convolution_backward_data(back));
  } else {
    const dnnl::convolution_backward_weights::primitive_desc back({algorithm, x, w, y, p.stride, p.dilation, p.pad_begin, p.pad_end},
                                                                  attributes, cpu(), hint, true);
    if (back) adopt(back, back.src_desc(), back.diff_weights_desc(), back.diff_dst_desc(), dnnl::convolution_backward_weights(back));
  }
}

void Kernel::move(const Side& side, float* outer, float* inner, bool outward, dnnl::stream& stream) const {
  memory from(outward ? side.inner : side.outer, cpu(), outward ? inner : outer),
      to(outward ? side.outer : side.inner, cpu(), outward ? outer : inner);
  dnnl::reorder(side.change).execute(stream, {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}});
}

void Kernel::prepare(const float* w, float* prepared) const {
  const OneThread one;
  dnnl::stream stream(cpu());
  move(w_, const_cast<float*>(w), prepared, false, stream);  // NOLINT: oneDNN's memory has no const
}

void Kernel::execute(float* x, float* w, bool w_is_prepared, const float* bias, float* y) const {
  const OneThread one;
  thread_local dnnl::stream stream(cpu());
  const bool own_w = w_.changes && !w_is_prepared;
  const Scratch<float> x_blocks(x_.scratch()), w_blocks(own_w ? w_.scratch() : 0), y_blocks(y_.scratch());
  const Scratch<std::byte> pad(scratchpad_.get_size());
  float* const x_inner = x_.changes ? x_blocks.data() : x;
  float* const w_inner = own_w ? w_blocks.data() : w;
  float* const y_inner = y_.changes ? y_blocks.data() : y;
  if (x_.changes && kind_ != Kind::data) move(x_, x, x_inner, false, stream);
  if (own_w && kind_ != Kind::weights) move(w_, w, w_inner, false, stream);
  if (y_.changes && kind_ != Kind::forward) move(y_, y, y_inner, false, stream);
  const memory mx(x_.inner, cpu(), x_inner), mw(w_.inner, cpu(), w_inner), my(y_.inner, cpu(), y_inner),
      scratch(scratchpad_, cpu(), pad.data());
  std::unordered_map<int, memory> arguments = {{DNNL_ARG_SCRATCHPAD, scratch}};
  arguments.emplace(kind_ == Kind::data ? DNNL_ARG_DIFF_SRC : DNNL_ARG_SRC, mx);
  arguments.emplace(kind_ == Kind::weights ? DNNL_ARG_DIFF_WEIGHTS : DNNL_ARG_WEIGHTS, mw);
  arguments.emplace(kind_ == Kind::forward ? DNNL_ARG_DST : DNNL_ARG_DIFF_DST, my);
  if (has_bias_) arguments.emplace(DNNL_ARG_BIAS, memory(bias_, cpu(), const_cast<float*>(bias)));  // NOLINT: read only
  primitive_.execute(stream, arguments);
  if (x_.changes && kind_ == Kind::data) move(x_, x, x_inner, true, stream);
  if (own_w && kind_ == Kind::weights) move(w_, w, w_inner, true, stream);
  if (y_.changes && kind_ == Kind::forward) move(y_, y, y_inner, true, stream);
}

// Kernels are made once per problem.
std::shared_ptr<const Kernel> kernel_for(const Problem& problem) {
  static std::mutex mutex;
  static std::map<std::vector<std::int64_t>, std::shared_ptr<const Kernel>> kernels;
  const std::lock_guard lock(mutex);
  std::shared_ptr<const Kernel>& kernel = kernels[problem.key()];
  if (!kernel) {
    const OneThread one;
    kernel = std::make_shared<const Kernel>(problem);
  }
  return kernel;
}

// The geometry along the axes, with the padding at the end that makes oneDNN's extents agree.
void put_axes(const Convolution& c, Problem& p) {
  for (const WindowAxis& axis : c.axes) {
    p.stride.push_back(axis.stride);
    p.dilation.push_back(axis.dilation - 1);
    p.pad_begin.push_back(axis.pad);
    p.pad_end.push_back((axis.result - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1 - axis.operand - axis.pad);
    p.x.push_back(axis.operand);
    p.w.push_back(axis.kernel);
    p.y.push_back(axis.result);
  }
}

Problem per_image(const Convolution& c, Kind kind, bool has_bias) {
  const auto groups = static_cast<std::int64_t>(c.groups), coarse = static_cast<std::int64_t>(c.coarse_channels),
             fine = static_cast<std::int64_t>(c.fine_channels);
  Problem p{kind, has_bias, {1, groups * fine}, {coarse, fine}, {1, groups * coarse}, {}, {}, {}, {}, {}, {}, {}};
  if (groups > 1) p.w.insert(p.w.begin(), groups);
  put_axes(c, p);
  p.x_strides = row_major(p.x);
  p.w_strides = row_major(p.w);
  p.y_strides = row_major(p.y);
  return p;
}

bool run_images(const Call& call, const Convolution& c) {
  const bool forward = call.op == Op::conv;
  const bool has_bias = call.operands.size() == 3;
  const std::shared_ptr<const Kernel> kernel = kernel_for(per_image(c, forward ? Kind::forward : Kind::data, forward && has_bias));
  if (!kernel->is_usable()) return false;
  const std::size_t coarse = c.groups * c.coarse_channels * c.coarse_size, fine = c.groups * c.fine_channels * c.fine_size;
  auto* const operand = const_cast<float*>(call.operand(0).data<float>().data());  // NOLINT: oneDNN's memory has no const
  auto* const weights = const_cast<float*>(call.operand(1).data<float>().data());  // NOLINT
  const float* const bias = has_bias ? call.operand(2).data<float>().data() : nullptr;
  float* const result = call.result.data<float>().data();
  const Scratch<float> prepared(kernel->prepared_size());
  const bool prepares = kernel->prepared_size() > 0;
  if (prepares) kernel->prepare(weights, prepared.data());
  parallel_for(c.images, [&](std::size_t image) {
    float* const x = forward ? operand + image * fine : result + image * fine;
    float* const y = forward ? result + image * coarse : operand + image * coarse;
    kernel->execute(x, prepares ? prepared.data() : weights, prepares, bias, y);
    if (forward || !has_bias) return;
    for (std::size_t i = 0; i < fine; ++i) x[i] += bias[i / c.fine_size];
  });
  return true;
}

// A conv whose kernel is larger than its result is the gradient of another one in the weights: images are that one's input channels and
// channels its batch. y'[a, b, k] = sum over n and o of x'[a, n, o s + k r] w'[b, n, o], s this conv's dilation, r its stride.
struct WeightGradient {
  Convolution c;  // the conv: images = inputs, coarse channels = outputs, fine channels = batch
  std::int64_t x_image, x_channel, y_image, y_channel, w_output, w_input;  // distances of neighbours, in elements

  [[nodiscard]] std::int64_t batch() const { return static_cast<std::int64_t>(c.fine_channels); }
  [[nodiscard]] std::int64_t piece() const { return (batch() + kPieces - 1) / kPieces; }
  [[nodiscard]] std::int64_t pieces() const { return (batch() + piece() - 1) / piece(); }
  [[nodiscard]] std::int64_t last_piece() const { return batch() - (pieces() - 1) * piece(); }
  [[nodiscard]] std::shared_ptr<const Kernel> kernel(std::int64_t count) const {
    const auto inputs = static_cast<std::int64_t>(c.images), outputs = static_cast<std::int64_t>(c.coarse_channels);
    Problem p{Kind::weights, false, {count, inputs}, {outputs, inputs}, {count, outputs}, {}, {}, {}, {}, {}, {}, {}};
    Convolution turned = c;
    for (WindowAxis& axis : turned.axes) {
      std::swap(axis.stride, axis.dilation);
      std::swap(axis.kernel, axis.result);
    }
    put_axes(turned, p);
    p.x_strides = row_major(p.x);
    p.w_strides = row_major(p.w);
    p.y_strides = row_major(p.y);
    p.x_strides[0] = x_image;
    p.x_strides[1] = x_channel;
    p.y_strides[0] = y_image;
    p.y_strides[1] = y_channel;
    p.w_strides[0] = w_output;
    p.w_strides[1] = w_input;
    return kernel_for(p);
  }
  [[nodiscard]] bool is_usable() const { return batch() > 0 && kernel(piece())->is_usable() && kernel(last_piece())->is_usable(); }
  void run(const float* x, const float* y, float* result, std::size_t size) const;

 private:
  static constexpr std::int64_t kPieces = 4;  // of the batch: tasks, whose results are added in order
};

void WeightGradient::run(const float* x, const float* y, float* result, std::size_t size) const {
  const std::shared_ptr<const Kernel> one = kernel(piece()), last = kernel(last_piece());
  const auto count = static_cast<std::size_t>(pieces());
  const Scratch<float> parts(size * (count - 1));
  parallel_for(count, [&](std::size_t i) {
    const std::int64_t first = static_cast<std::int64_t>(i) * piece();
    float* const to = i == 0 ? result : parts.data() + (i - 1) * size;
    auto* const from_x = const_cast<float*>(x + first * x_image);  // NOLINT: oneDNN's memory has no const
    auto* const from_y = const_cast<float*>(y + first * y_image);  // NOLINT
    (i + 1 == count ? last : one)->execute(from_x, to, false, nullptr, from_y);
  });
  for (std::size_t i = 1; i < count; ++i) {
    const float* const part = parts.data() + (i - 1) * size;
    for (std::size_t k = 0; k < size; ++k) result[k] += part[k];
  }
}

bool run_weight_gradient(const Call& call, const Convolution& c) {
  const auto fine = static_cast<std::int64_t>(c.fine_size), kernel = static_cast<std::int64_t>(c.kernel_size),
             coarse = static_cast<std::int64_t>(c.coarse_size), batch = static_cast<std::int64_t>(c.fine_channels);
  const WeightGradient gradient{
      c, fine, batch * fine, kernel, batch * kernel, coarse, static_cast<std::int64_t>(c.coarse_channels) * coarse};
  if (!gradient.is_usable()) return false;
  gradient.run(call.operand(0).data<float>().data(), call.operand(1).data<float>().data(), call.result.data<float>().data(),
               call.result.size());
  return true;
}

// The same of tensors whose axes were not exchanged.
WeightGradient plain_gradient(const WindowAttributes& w, const Shape& x, const Shape& g, const Shape& result) {
  WeightGradient gradient{};
  Convolution& c = gradient.c;
  c.images = static_cast<std::size_t>(x[1]);
  c.groups = 1;
  c.coarse_channels = static_cast<std::size_t>(g[1]);
  c.fine_channels = static_cast<std::size_t>(x[0]);
  for (std::size_t axis = 0; axis + 2 < x.size(); ++axis) {
    c.axes.emplace_back(w, axis, x[axis + 2], result[axis + 2]);
    c.fine_size *= static_cast<std::size_t>(x[axis + 2]);
    c.kernel_size *= static_cast<std::size_t>(g[axis + 2]);
    c.coarse_size *= static_cast<std::size_t>(result[axis + 2]);
  }
  gradient.x_channel = static_cast<std::int64_t>(c.fine_size);
  gradient.x_image = x[1] * gradient.x_channel;
  gradient.y_channel = static_cast<std::int64_t>(c.kernel_size);
  gradient.y_image = g[1] * gradient.y_channel;
  gradient.w_input = static_cast<std::int64_t>(c.coarse_size);
  gradient.w_output = x[1] * gradient.w_input;
  return gradient;
}

}  // namespace

bool has_weight_gradient(const WindowAttributes& w, const Shape& x, const Shape& g, const Shape& result) {
  return x.size() <= 5 && w.groups == 1 && element_count(x) > 0 && plain_gradient(w, x, g, result).is_usable();
}

void weight_gradient(const WindowAttributes& w, const Array& x, const Array& g, Array& result) {
  plain_gradient(w, x.shape(), g.shape(), result.shape())
      .run(x.data<float>().data(), g.data<float>().data(), result.data<float>().data(), result.size());
}

bool convolve_directly(const Call& call, const Convolution& c) {
  if (c.axes.size() > 3) return false;
  const bool is_gradient = call.op == Op::conv && c.kernel_size >= 2 * c.coarse_size && c.groups == 1 && call.operands.size() == 2;
  return is_gradient ? run_weight_gradient(call, c) : run_images(call, c);
}

}  // namespace assay::runtime
