// The tables of an ELF program, as far as words about faults need them.
#include "gpu/program.h"

#include <cxxabi.h>
#include <elf.h>
#include <link.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string_view>
#include <vector>

namespace assay::gpu::program {

namespace {

using Phdr = ElfW(Phdr);

bool holds(std::uintptr_t first, std::size_t bytes, std::uintptr_t address) { return address >= first && address - first < bytes; }

struct Query {
  std::uintptr_t address = 0;
  std::optional<Piece> found;
};

int find_thread_locals(dl_phdr_info* info, std::size_t, void* data) {
  auto& query = *static_cast<Query*>(data);
  const auto first = reinterpret_cast<std::uintptr_t>(info->dlpi_tls_data);
  for (int i = 0; first != 0 && i < info->dlpi_phnum; ++i) {
    const Phdr& header = info->dlpi_phdr[i];
    if (header.p_type == PT_TLS && holds(first, header.p_memsz, query.address)) query.found = Piece{first, header.p_memsz};
  }
  return query.found ? 1 : 0;
}

int find_statics(dl_phdr_info* info, std::size_t, void* data) {
  auto& query = *static_cast<Query*>(data);
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const Phdr& header = info->dlpi_phdr[i];
    const std::uintptr_t first = info->dlpi_addr + header.p_vaddr;
    if (header.p_type == PT_LOAD && holds(first, header.p_memsz, query.address)) query.found = Piece{first, header.p_memsz};
  }
  return query.found ? 1 : 0;
}

// The first module is the program.
int find_base(dl_phdr_info* info, std::size_t, void* data) {
  *static_cast<std::uintptr_t*>(data) = info->dlpi_addr;
  return 1;
}

std::string short_name(const char* symbol) {
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(abi::__cxa_demangle(symbol, nullptr, nullptr, &status), std::free);
  std::string name = status == 0 ? plain.get() : symbol;
  if (name.starts_with("void ")) name.erase(0, 5);  // the prefix of a template
  return name;
}

// "softmax(float const*, ...)::partial" -> "partial"
std::string last_part(const std::string& name) {
  const std::size_t at = name.rfind("::");
  return at == std::string::npos ? name : name.substr(at + 2);
}

// "(anonymous namespace)::softmax<4>(float const*, ...)" -> "softmax"
std::string bare(std::string name) {
  constexpr std::string_view kNobody = "(anonymous namespace)::";
  for (std::size_t at = name.find(kNobody); at != std::string::npos; at = name.find(kNobody)) name.erase(at, kNobody.size());
  return name.substr(0, name.find_first_of("<("));
}

struct Symbols {
  std::map<std::uintptr_t, Variable> thread_locals;
  std::map<std::uintptr_t, std::string> functions;
  std::uintptr_t base = 0;
};

template <class T>
bool read_at(std::ifstream& file, std::size_t offset, std::vector<T>& into) {
  file.seekg(static_cast<std::streamoff>(offset));
  file.read(reinterpret_cast<char*>(into.data()), static_cast<std::streamsize>(into.size() * sizeof(T)));
  return file.good();
}

Symbols read_symbols() {
  Symbols symbols;
  dl_iterate_phdr(find_base, &symbols.base);
  std::ifstream file("/proc/self/exe", std::ios::binary);
  std::vector<ElfW(Ehdr)> header(1);
  if (!file || !read_at(file, 0, header) || std::memcmp(header[0].e_ident, ELFMAG, SELFMAG) != 0) return symbols;
  std::vector<ElfW(Shdr)> sections(header[0].e_shnum);
  if (sections.empty() || !read_at(file, header[0].e_shoff, sections)) return symbols;
  for (const ElfW(Shdr) & section : sections) {
    if (section.sh_type != SHT_SYMTAB || section.sh_link >= sections.size()) continue;
    std::vector<ElfW(Sym)> table(section.sh_size / sizeof(ElfW(Sym)));
    std::vector<char> names(sections[section.sh_link].sh_size + 1, '\0');
    if (!read_at(file, section.sh_offset, table)) continue;
    file.seekg(static_cast<std::streamoff>(sections[section.sh_link].sh_offset));
    file.read(names.data(), static_cast<std::streamsize>(names.size() - 1));
    for (const ElfW(Sym) & symbol : table) {
      if (symbol.st_name >= names.size() || symbol.st_shndx == SHN_UNDEF) continue;
      const char* const name = names.data() + symbol.st_name;
      const unsigned type = symbol.st_info & 0xfU;
      if (type == STT_TLS) symbols.thread_locals[symbol.st_value] = {name, symbol.st_value, symbol.st_size};
      if (type == STT_FUNC) symbols.functions[symbols.base + symbol.st_value] = name;
    }
  }
  return symbols;
}

const Symbols& symbols() {
  static const Symbols read = read_symbols();
  return read;
}

}  // namespace

std::optional<Piece> thread_locals(std::uintptr_t address) {
  Query query{address, {}};
  dl_iterate_phdr(find_thread_locals, &query);
  return query.found;
}

std::optional<Piece> statics(std::uintptr_t address) {
  Query query{address, {}};
  dl_iterate_phdr(find_statics, &query);
  return query.found;
}

std::optional<Variable> thread_local_at(std::size_t offset) {
  const auto& all = symbols().thread_locals;
  auto next = all.upper_bound(offset);
  if (next == all.begin()) return std::nullopt;
  Variable found = std::prev(next)->second;
  if (!holds(found.first, found.bytes, offset)) return std::nullopt;
  found.name = last_part(short_name(found.name.c_str()));
  return found;
}

std::string function_at(const void* address) {
  const auto found = symbols().functions.find(reinterpret_cast<std::uintptr_t>(address));
  return found == symbols().functions.end() ? "" : bare(short_name(found->second.c_str()));
}

std::string line_of(const void* pc) {
  static std::map<const void*, std::string> known;
  if (const auto found = known.find(pc); found != known.end()) return found->second;
  std::string& line = known[pc];
  const std::uintptr_t offset = reinterpret_cast<std::uintptr_t>(pc) - symbols().base - 1;  // the call, not what follows it
  std::array<char, 160> command{};
  std::snprintf(command.data(), command.size(), "addr2line -s -i -e /proc/%d/exe 0x%zx 2>/dev/null", static_cast<int>(getpid()),
                static_cast<std::size_t>(offset));
  std::FILE* const pipe = popen(command.data(), "r");
  if (pipe == nullptr) return line;
  // The innermost of the inlined functions that is not one of CUDA's words.
  std::array<char, 512> text{};
  while (line.empty() && std::fgets(text.data(), text.size(), pipe) != nullptr) {
    line = text.data();
    line = line.substr(0, line.find_first_of(" \n"));  // "softmax.cu:31 (discriminator 2)"
    if (line.find('?') != std::string::npos || line.starts_with("cuda_runtime.h") || line.starts_with("cuda_fp16.h")) line.clear();
  }
  pclose(pipe);
  return line;
}

}  // namespace assay::gpu::program
