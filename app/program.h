// What a program lends to long work: its signals, its line of progress, its limit on memory. Work without a program has none of these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace assay {

struct Program {
  std::function<bool()> stop = [] { return false; };  // asked between steps; true: what is left is not done
  std::function<void(std::string)> on_progress = [](const std::string&) {};
  // Calls what it is given without the process's limit on memory: the runtime crashes where it gets none, and what it needs is estimated before.
  std::function<void(const std::function<void()>&)> without_limit = [](const std::function<void()>& run) { run(); };
  std::function<void(std::uint64_t)> limit_memory = nullptr;  // check::LoadOptions
};

}  // namespace assay
