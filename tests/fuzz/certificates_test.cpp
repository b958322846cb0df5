// Bent certificates: each is accepted for a true statement, or refused; for a false statement about the same network it is
// refused. No certificate stops the program or takes more than its budget.
#include <map>

#include "tests/fuzz/subjects.h"

using namespace assay;
using namespace assay::test;

TEST_CASE("bent certificates: refused, or the same theorem", "[fuzz]") {
  const std::vector<fuzz::Subject>& all = fuzz::subjects();
  const TemporaryFile file;
  std::map<std::string, std::size_t> codes;
  std::size_t accepted = 0;
  fuzz::run("certificates", fuzz::cases(2000), [&](fuzz::Random& random) {
    const fuzz::Subject& one = all[fuzz::below(random, all.size())];
    const fuzz::Subject& two = all[fuzz::below(random, all.size())];
    Parts parts = one.proofs[fuzz::below(random, one.proofs.size())];
    parts.records = fuzz::bent(parts.records, two.proofs[fuzz::below(random, two.proofs.size())].records, random);
    const bool raw = fuzz::below(random, 10) == 0;  // the file's own bytes, checksums and all
    const std::string bytes = raw ? fuzz::bent(parts.file(), {}, random) : parts.file();
    const Verdict verdict = fuzz::replayed(file, bytes, one.holds);
    accepted += verdict.accepted ? 1 : 0;
    if (fuzz::shows_sat(verdict)) FAIL("a witness of a statement that has none was accepted:\n" << verdict.text);
    ++codes[verdict.accepted ? "accepted" : verdict.text];
    if (raw) return;
    for (const fuzz::Refuted& refuted : one.fails) {
      parts.header = refuted.header;
      if (fuzz::shows_unsat(fuzz::replayed(file, parts.file(), refuted.problem))) FAIL("a certificate of a false statement was accepted");
    }
  });
  for (const auto& [code, count] : codes) std::fprintf(stderr, "  %-28s %zu\n", code.c_str(), count);
  CHECK(accepted > 0);
  CHECK(codes.size() > 10);
}
