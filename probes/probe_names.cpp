// The names of probes, and what they say.

#include "kernel/contracts/contract.h"
#include "probes/plan.h"

namespace assay::probes {

const char* to_string(ProbeKind kind) {
  switch (kind) {
    case ProbeKind::integers:
      return "integers";
    case ProbeKind::dense:
      return "dense";
    case ProbeKind::sparse:
      return "sparse";
    case ProbeKind::one_hot:
      return "one hot";
    case ProbeKind::shifted:
      return "shifted";
    case ProbeKind::ties:
      return "ties";
    case ProbeKind::range:
      return "range";
    case ProbeKind::special:
      return "special values";
  }
  return "";
}

std::string Probe::name() const {
  const DType dtype = operands.back().dtype();
  std::string text = application;
  text.append(": ").append(to_string(kind)).append(" ").append(dtype == DType::float32 ? contracts::name_of(storage) : to_string(dtype));
  return layout == Layout::dense ? text : text.append(", ").append(to_string(layout)).append(" in memory");
}

std::string share_of(const std::string& name) {
  const std::size_t colon = name.rfind(": ");
  if (colon == std::string::npos || name.find(" in memory", colon) != std::string::npos) return "";
  for (const ProbeKind kind : {ProbeKind::integers, ProbeKind::dense, ProbeKind::sparse, ProbeKind::one_hot}) {
    const std::string word = to_string(kind);
    if (name.compare(colon + 2, word.size() + 1, word + " ") == 0) return word;
  }
  return "";
}

}  // namespace assay::probes
