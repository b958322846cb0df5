// The denotations over residues modulo 2^61 - 1.

#include "kernel/gradients/numbers/product_sum.h"
#include "semantics/ops/denotation.h"

namespace assay {

ASSAY_DENOTE_OVER(Modular);
ASSAY_DENOTE_OVER(Dual<Modular>);

}  // namespace assay
