// The device of a stream: every op by the kernels of gpu/kernels.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gpu/chain.h"
#include "gpu/dispatch.h"
#include "gpu/kernels/random.h"
#include "gpu/kernels/squares.h"
#include "gpu/stream.h"

namespace assay::gpu {

template <class Driver>
class StreamDevice final : public runtime::Device {
 public:
  StreamDevice(ExecutionModel model, std::shared_ptr<Stream<Driver>> stream) : model_(std::move(model)), stream_(std::move(stream)) {}

  [[nodiscard]] std::string name() const override { return stream_->name(); }
  [[nodiscard]] const ExecutionModel& model() const override { return model_; }
  [[nodiscard]] runtime::Traffic traffic() const override { return stream_->traffic(); }
  [[nodiscard]] Outcome<std::shared_ptr<void>> allocate(std::size_t bytes) override { return stream_->allocate(bytes); }
  [[nodiscard]] Outcome<Done> copy_in(std::span<const std::byte> from, const std::shared_ptr<void>& to) override {
    return stream_->copy_in(from, to.get());
  }
  [[nodiscard]] Outcome<Done> copy_out(const std::shared_ptr<void>& from, std::span<std::byte> to) override {
    return stream_->copy_out(from.get(), to);
  }
  [[nodiscard]] Outcome<Done> copy(const std::shared_ptr<void>& from, const std::shared_ptr<void>& to, std::size_t bytes) override {
    return stream_->copy(from.get(), to.get(), bytes);
  }
  [[nodiscard]] Outcome<Done> run(Op op, const Attributes& attributes, std::span<const runtime::DeviceArray> operands,
                                  runtime::DeviceArray& result) override {
    StreamQueue<Driver> queue(stream_);
    keep(operands);
    keep({&result, 1});
    return run_on(queue, op, attributes, operands, result, model_.input_rounding);
  }
  [[nodiscard]] Outcome<Done> run_pass(const Graph& graph, std::span<const runtime::DeviceArray> operands,
                                       std::span<const runtime::DeviceArray> results) override {
    StreamQueue<Driver> queue(stream_);
    keep(operands);
    keep(results);
    std::vector<Operand> views;
    std::vector<View<float>> to;
    for (const runtime::DeviceArray& one : operands) {
      if (one.dtype != DType::float32) return refused(Op::input, one.dtype);
      views.push_back({{one.memory.get(), element_count(*one.shape), one.dtype}, one.shape});
    }
    for (const runtime::DeviceArray& one : results) to.push_back({static_cast<float*>(one.memory.get()), element_count(*one.shape)});
    return run_chain(queue, graph, views, to);
  }
  [[nodiscard]] Outcome<Done> begin_recording() override { return stream_->begin_recording(); }
  [[nodiscard]] Outcome<std::shared_ptr<runtime::Launches>> end_recording() override { return stream_->end_recording(); }
  [[nodiscard]] Outcome<Done> draw(const runtime::RandomKey& key, const runtime::Drawing& drawing,
                                   const runtime::DeviceArray& result) override {
    StreamQueue<Driver> queue(stream_);
    return run_random(queue, key, drawing, result.memory.get(), element_count(*result.shape));
  }
  [[nodiscard]] Outcome<double> sum_of_squares(std::span<const runtime::DeviceArray> arrays) override {
    StreamQueue<Driver> queue(stream_);
    std::vector<View<const float>> views;
    for (const runtime::DeviceArray& one : arrays) {
      if (one.dtype != DType::float32) return refused(Op::mul, one.dtype);
      views.push_back({static_cast<const float*>(one.memory.get()), element_count(*one.shape)});
    }
    return run_squares(queue, views);
  }

 private:
  void keep(std::span<const runtime::DeviceArray> arrays) {
    for (const runtime::DeviceArray& one : arrays) stream_->keep(one.memory);
  }

  ExecutionModel model_;
  std::shared_ptr<Stream<Driver>> stream_;
};

}  // namespace assay::gpu
