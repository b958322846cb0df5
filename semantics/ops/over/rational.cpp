// The denotations over rational numbers.

#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(Rational);

}  // namespace assay
