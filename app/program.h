// The means that a program gives to long work: its signals, its line of progress, its limit on memory. Work without a program has
// none of these.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace assay {

struct Program {
  std::function<bool()> stop = [] { return false; };  // asked between steps; true: what is left is not done
  std::function<void(std::string)> on_progress = [](const std::string&) {};
  // Calls the function without the process's limit on memory, since the runtime crashes where an allocation fails. Its need is
  // estimated before.
  std::function<void(const std::function<void()>&)> without_limit = [](const std::function<void()>& run) { run(); };
  std::function<void(std::uint64_t)> limit_memory = nullptr;  // check::LoadOptions
};

}  // namespace assay
