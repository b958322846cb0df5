// The steps of a replay on a device. Private to this folder.
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "runtime/compiled/items.h"
#include "runtime/compiled/region.h"
#include "runtime/compiled/steps.h"
#include "runtime/device.h"

namespace assay::runtime::compiled {

inline constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// One piece of a device's memory for all intermediate values of a program.
class DeviceMemory {
 public:
  Outcome<Done> prepare(Mirror& device, std::size_t bytes);
  // In the piece, or on its own for what leaves with the caller.
  Outcome<Array> place_for(Mirror& device, const Item& item, std::size_t offset) const;

 private:
  std::weak_ptr<Device> device_;
  std::shared_ptr<void> memory_;
};

// Runs the step, whose results are places of the device. A pass that is too long for one runs op by op.
Outcome<Done> execute_on(Mirror& device, const Items& items, const Step& step, const ProgramRegion& region, std::vector<Array>& values);

}  // namespace assay::runtime::compiled
