// Facts about the running program: the places of its variables, their names, and the source line of an instruction.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

namespace assay::gpu::program {

struct Piece {
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
};
// The calling thread's thread-local variables of the module in which the address is one; such are what __shared__ stands for.
[[nodiscard]] std::optional<Piece> thread_locals(std::uintptr_t address);
// The module's own memory that has the address: constants and variables.
[[nodiscard]] std::optional<Piece> statics(std::uintptr_t address);

struct Variable {
  std::string name;  // "partial", of the function that is named "softmax(...)::partial"
  std::uintptr_t first = 0;
  std::size_t bytes = 0;
};
// The thread-local variable at this offset from the beginning of the program's; none where the program has no table of symbols.
[[nodiscard]] std::optional<Variable> thread_local_at(std::size_t offset);
// The function that begins at this address: "softmax". Empty: not known.
[[nodiscard]] std::string function_at(const void* address);
// "softmax.cu:31", by addr2line where that is installed and the program has lines; else "".
[[nodiscard]] std::string line_of(const void* pc);

}  // namespace assay::gpu::program
