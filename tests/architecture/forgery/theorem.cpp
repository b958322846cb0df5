// Outside the kernel a Theorem can be held, copied and asked, never made.
#include <vector>

#include "kernel/logic/api.h"

namespace k = assay::logic;

bool ask(const k::Theorem& given) {
  k::Theorem copy = given;
  return copy.vacuous();
}

#ifdef FORGE_DEFAULT
k::Theorem forged;
#endif
#ifdef FORGE_BRACES
k::Theorem forge() { return {}; }
#endif
#ifdef FORGE_FIELD
void forge(k::Theorem& given) { given.content_ = nullptr; }
#endif
#ifdef FORGE_DERIVED
struct Forged : k::Theorem {
  Forged() = default;
};
Forged forged;
#endif
#ifdef FORGE_CONTAINER
std::vector<k::Theorem> forge() { return std::vector<k::Theorem>(1); }
#endif
