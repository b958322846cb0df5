// Files that are there whole or not at all.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "semantics/outcome.h"

namespace assay::training {

// The parts in order, written under PATH.part, brought to the disk, and renamed to PATH; then the folder is brought to the disk. At any
// moment PATH has its old bytes or the new ones, also after a crash; the rest of a killed run under PATH.part is overwritten by the next.
// Rejection training.write.
Outcome<Done> write_atomically(const std::string& path, std::span<const std::span<const std::byte>> parts);
// Rejection training.read.
[[nodiscard]] Outcome<std::vector<std::byte>> read_whole(const std::string& path);

}  // namespace assay::training
