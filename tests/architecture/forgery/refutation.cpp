// Outside the kernel a Refutation can be held, copied and asked, never made.
#include "kernel/logic/api.h"

namespace k = assay::logic;

bool ask(const k::Refutation& given) {
  k::Refutation copy = given;
  return copy.complete() || copy.vacuous();
}

#ifdef FORGE_DEFAULT
k::Refutation forged;
#endif
#ifdef FORGE_BRACES
k::Refutation forge() { return {}; }
#endif
#ifdef FORGE_FIELD
void forge(k::Refutation& given) { given.content_ = nullptr; }
#endif
#ifdef FORGE_DERIVED
struct Forged : k::Refutation {
  Forged() = default;
};
Forged forged;
#endif
#ifdef FORGE_AGGREGATE
k::Refutation forged{.content_ = nullptr};
#endif
#ifdef FORGE_CONTENT
k::Refutation forge() { return k::Refutation(std::shared_ptr<const k::Refutation::Content>()); }
#endif
