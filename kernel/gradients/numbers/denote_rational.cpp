// The denotations over rational numbers with tangents.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(Dual<Rational>);

}  // namespace assay
