#include "runtime/compiled/device_replay.h"

#include <algorithm>
#include <utility>

namespace assay::runtime::compiled {

namespace {

bool is_refusal_to_record(const Rejection& why) { return why.code == "gpu.graph"; }
// Launches one by one need less memory.
bool is_reason_not_to_record(const Rejection& why) { return is_refusal_to_record(why) || why.code == "gpu.memory"; }

// The same for all copies of an array, and for no other array while one of them lives.
std::weak_ptr<void> identity_of(const Array& array) {
  const auto& distant = array.distant();
  return distant == nullptr ? array.buffer() : std::weak_ptr<void>(distant->memory);
}
bool is_same(const std::weak_ptr<void>& a, const std::weak_ptr<void>& b) {
  return !a.expired() && !a.owner_before(b) && !b.owner_before(a);
}

// Constants, and places for the results of the step.
std::vector<Array> constants_of(const Items& items) {
  std::vector<Array> values(items.items.size());
  for (ItemId id = 0; id < values.size(); ++id) {
    if (items.items[id].constant) values[id] = *items.items[id].constant;
  }
  return values;
}
Outcome<Done> place_results(const DeviceProgram& program, Mirror& device, const DeviceMemory& memory, const Step& step,
                            std::vector<Array>& values) {
  if (is_reshape(program.items, step)) return Done{};
  for (const ItemId result : step.results) {
    auto place = memory.place_for(device, program.items.items[result], program.offset[result]);
    if (!place) return place.rejection();
    values[result] = std::move(place).value();
  }
  return Done{};
}

}  // namespace

void DeviceReplay::meet(const Mirror& device) {
  if (device_.lock() == device.device()) return;
  *this = DeviceReplay();
  device_ = device.device();
}

void DeviceReplay::give_up() {
  state_ = State::refused;
  places_.clear();
  pieces_.clear();
  held_.clear();
}

Outcome<std::vector<Array>> DeviceReplay::run(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs,
                                              const After& after) {
  meet(device);
  if (after) return run_steps(program, device, inputs, after);
  if (state_ == State::ran) {
    const auto done = record(program, device);
    if (!done && !is_reason_not_to_record(done.rejection())) return done.rejection();
    state_ = State::recorded;
    if (!done) give_up();
  }
  if (state_ == State::recorded) {
    auto outputs = run_recorded(program, device, inputs);
    if (outputs || outputs.rejection().code != "gpu.memory") return outputs;
    give_up();
  }
  auto outputs = run_steps(program, device, inputs, after);
  if (outputs && state_ == State::fresh) state_ = State::ran;
  return outputs;
}

Outcome<std::vector<Array>> DeviceReplay::run_steps(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs,
                                                    const After& after) {
  if (auto done = memory_.prepare(device, program.memory); !done) return done.rejection();
  std::vector<Array> values = constants_of(program.items);
  for (std::size_t i = 0; i < inputs.size(); ++i) values[program.items.inputs[i]] = inputs[i];
  for (std::size_t k = 0; k < program.steps.size(); ++k) {
    if (auto done = place_results(program, device, memory_, program.steps[k], values); !done) return done.rejection();
    if (auto done = execute_on(device, program.items, program.steps[k], program.regions[k], values); !done) return done.rejection();
    if (!after) continue;
    if (auto done = after(k, values); !done) return done.rejection();
  }
  std::vector<Array> outputs;
  for (const ItemId id : program.items.outputs) outputs.push_back(values[id]);
  return outputs;
}

// Memory for everything, which stays.
Outcome<Done> DeviceReplay::prepare(const DeviceProgram& program, Mirror& device) {
  if (auto done = memory_.prepare(device, program.memory); !done) return done;
  places_ = constants_of(program.items);
  held_.assign(program.items.inputs.size(), {});
  for (const ItemId id : program.items.inputs) {
    auto place = device.place_for(program.items.items[id].dtype, program.items.items[id].shape);
    if (!place) return place.rejection();
    places_[id] = std::move(place).value();
  }
  for (const Step& step : program.steps) {
    if (auto done = place_results(program, device, memory_, step, places_); !done) return done;
  }
  return Done{};
}

// Steps [first, end) up to the first one that cannot be recorded, whose number is given; as a piece if that is `end`.
Outcome<std::size_t> DeviceReplay::record_steps(const DeviceProgram& program, Mirror& device, std::size_t first, std::size_t end) {
  if (auto done = device.device()->begin_recording(); !done) return done.rejection();
  std::size_t at = first;
  Outcome<Done> done = Done{};
  for (; at < end; ++at) {
    done = execute_on(device, program.items, program.steps[at], program.regions[at], places_);
    if (!done) break;
  }
  auto launches = device.device()->end_recording();
  if (!done && !is_refusal_to_record(done.rejection())) return done.rejection();
  if (!done) return at;
  if (!launches) return launches.rejection();
  pieces_.push_back({std::move(launches).value(), 0});
  return end;
}

Outcome<Done> DeviceReplay::record(const DeviceProgram& program, Mirror& device) {
  if (auto done = prepare(program, device); !done) return done;
  const std::size_t count = program.steps.size();
  for (std::size_t first = 0; first < count;) {
    const auto stop = record_steps(program, device, first, count);
    if (!stop) return stop.rejection();
    if (stop.value() == count) break;
    if (stop.value() > first) {
      if (const auto again = record_steps(program, device, first, stop.value()); !again) return again.rejection();
    }
    pieces_.push_back({nullptr, stop.value()});
    first = stop.value() + 1;
  }
  return Done{};
}

// An input whose elements are there already is not copied.
Outcome<Done> DeviceReplay::take_in(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const std::weak_ptr<void> now = identity_of(inputs[i]);
    if (is_same(held_[i], now)) continue;
    held_[i].reset();
    if (auto done = device.copy(inputs[i], places_[program.items.inputs[i]]); !done) return done;
    held_[i] = now;
  }
  return Done{};
}

Outcome<std::vector<Array>> DeviceReplay::run_recorded(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs) {
  if (auto done = take_in(program, device, inputs); !done) return done.rejection();
  for (const Piece& piece : pieces_) {
    auto done = piece.launches != nullptr
                    ? piece.launches->run()
                    : execute_on(device, program.items, program.steps[piece.step], program.regions[piece.step], places_);
    if (!done) return done.rejection();
  }
  std::vector<Array> outputs;
  for (const ItemId id : program.items.outputs) {
    const auto input = std::ranges::find(program.items.inputs, id);
    if (input != program.items.inputs.end()) {
      outputs.push_back(inputs[static_cast<std::size_t>(input - program.items.inputs.begin())]);
      continue;
    }
    if (program.items.items[id].constant) {
      outputs.push_back(places_[id]);
      continue;
    }
    auto output = device.place_for(places_[id].dtype(), places_[id].shape());
    if (!output) return output.rejection();
    if (auto done = device.copy(places_[id], output.value()); !done) return done.rejection();
    outputs.push_back(std::move(output).value());
  }
  return outputs;
}

}  // namespace assay::runtime::compiled
