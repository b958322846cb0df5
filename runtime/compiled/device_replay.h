// Replays of a program on a device. The first one runs its steps one by one, as a replay with an observer does. In the next one
// the device keeps the launches of the steps, on memory of the program's own. From then on a replay copies its inputs there, runs
// the launches in one go, and copies the results out. A step that looks at its operands before it launches runs by itself,
// between the launches kept before and after it. Private to this folder.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "runtime/compiled/device_steps.h"
#include "runtime/compiled/items.h"
#include "runtime/compiled/region.h"
#include "runtime/compiled/steps.h"

namespace assay::runtime::compiled {

// The program that is replayed.
struct DeviceProgram {
  const Items& items;
  const std::vector<Step>& steps;
  const std::vector<ProgramRegion>& regions;  // of the steps
  const std::vector<std::size_t>& offset;     // of intermediate values in one piece of memory, or kNowhere
  std::size_t memory;                         // bytes of that
};

class DeviceReplay {
 public:
  // `after`, if there is one, is called after each step with all values, as far as they are known.
  using After = std::function<Outcome<Done>(std::size_t step, const std::vector<Array>& values)>;
  Outcome<std::vector<Array>> run(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs, const After& after);

 private:
  // Launches, or the number of a step that runs by itself.
  struct Piece {
    std::shared_ptr<Launches> launches;
    std::size_t step = 0;
  };
  enum class State : std::uint8_t { fresh, ran, recorded, refused };

  void meet(const Mirror& device);
  void give_up();  // launches run one by one from here on
  Outcome<std::vector<Array>> run_steps(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs, const After& after);
  Outcome<Done> prepare(const DeviceProgram& program, Mirror& device);
  Outcome<Done> record(const DeviceProgram& program, Mirror& device);
  Outcome<std::size_t> record_steps(const DeviceProgram& program, Mirror& device, std::size_t first, std::size_t end);
  Outcome<Done> take_in(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs);
  Outcome<std::vector<Array>> run_recorded(const DeviceProgram& program, Mirror& device, std::span<const Array> inputs);

  std::weak_ptr<Device> device_;
  State state_ = State::fresh;
  DeviceMemory memory_;
  std::vector<Array> places_;  // of all values, where the launches are recorded
  std::vector<Piece> pieces_;
  std::vector<std::weak_ptr<void>> held_;  // whose elements the place of each input has
};

}  // namespace assay::runtime::compiled
