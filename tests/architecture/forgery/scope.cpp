// Outside the kernel a Scope starts at a root and a Problem at open(); their facts cannot be written.
#include "kernel/logic/api.h"

namespace k = assay::kernel;

assay::Outcome<k::Scope> start(const std::shared_ptr<const k::Problem>& problem) { return k::Scope::root(problem, 0); }

#ifdef FORGE_DEFAULT
k::Scope forged;
#endif
#ifdef FORGE_FIELD
void forge(k::Scope& given) { given.boxes_.clear(); }
#endif
#ifdef FORGE_BOX
void forge(k::Scope& given) { given.box(0).lo[0] = 0; }
#endif
#ifdef FORGE_PROBLEM
k::Problem forged;
#endif
#ifdef FORGE_STATEMENT
void forge(k::Problem& given) { given.statement().property.cases.clear(); }
#endif
