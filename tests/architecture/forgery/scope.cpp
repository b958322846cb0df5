// Outside the kernel a Scope starts at a root and a Problem at open(); their facts cannot be written. The state behind them may
// be read (state.h, which the layers keep to the kernel and kernel/inspect), not made, copied or changed.
#include "kernel/logic/state.h"

namespace k = assay::logic;

assay::Outcome<k::Scope> start(const std::shared_ptr<const k::Problem>& problem) { return k::Scope::root(problem, 0); }

#ifdef FORGE_DEFAULT
k::Scope forged;
#endif
#ifdef FORGE_FIELD
void forge(k::Scope& given) { given.state_ = nullptr; }
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
#ifdef FORGE_STATE
void forge(k::Scope& given) { given.state() = given.state(); }
#endif
#ifdef FORGE_STATE_COPY
k::Scope::State forge(const k::Scope& given) { return given.state(); }
#endif
#ifdef FORGE_STATE_DEFAULT
k::Scope::State forged;
#endif
#ifdef FORGE_STATE_RULE
void forge(const k::Scope& given) { (void)given.state().assume({}); }
#endif
#ifdef FORGE_STATE_POINT
auto forge(const std::shared_ptr<const k::Problem>& problem) { return k::Scope::State::at_point(problem, 0, {}); }
#endif
#ifdef FORGE_SCOPE
k::Scope forge() { return k::Scope(std::unique_ptr<k::Scope::State>()); }
#endif
#ifdef FORGE_REFUTATION_CONTENT
k::Refutation::Content forged;
#endif
