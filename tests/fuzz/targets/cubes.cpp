// A proof in parts: tests/fuzz/statements/split holds the root, cubes and parts of a true statement, as `assay split` and `assay
// solve` wrote them. An input stands in the place of one of them, for that statement or for the false one about the same network;
// its first bytes choose, and move the place of the first part in the root.
#include <array>
#include <nlohmann/json.hpp>
#include <random>

#include "certificates/edit/cubes.h"
#include "certificates/edit/join.h"
#include "tests/fuzz/targets/proofs.h"

using namespace assay;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t max_size);

namespace {

enum Byte : std::uint8_t { kPlace, kIsTrue, kMoved, kHead };
enum Place : std::uint8_t { kRoot, kPart, kCube, kPlaces };

struct Split {
  std::string root;
  std::vector<certificate::Cube> cubes;
  std::vector<std::string> parts;      // by cube
  std::array<fuzz::Decided, 2> about;  // the false statement, the true one
};

Split read_split() {
  const std::filesystem::path folder = std::string(ASSAY_FUZZ_STATEMENTS) + "/split";
  const auto manifest = nlohmann::json::parse(fuzz::contents(folder / "split.json"));
  Split split;
  split.root = fuzz::contents(folder / "root.assay");
  for (const auto& one : manifest["cubes"]) {
    const std::filesystem::path file = folder / one["file"].get<std::string>();
    split.cubes.push_back({file.string(), statement::sha256(fuzz::bytes_of(fuzz::contents(file))), one["after"].get<std::uint64_t>()});
    split.parts.push_back(fuzz::contents(std::filesystem::path(file).replace_extension(".part")));
  }
  const auto& all = fuzz::statements();
  for (std::size_t k = 1; k < all.size(); ++k) {  // NAME.fails stands before NAME.holds
    if (statement::to_hex(all[k].problem->digest()) == manifest["statement"]) split.about = {all[k - 1], all[k]};
  }
  fuzz::expect(split.about[1].is_true && !split.about[0].is_true && split.cubes.size() > 1, "there is a split of a true statement");
  return split;
}

// The same records with the header of the statement: graph and cases are alike, so that its steps fit either.
std::string for_statement(std::string file, const fuzz::Decided& decided) {
  fuzz::repair(file, decided.problem->digest());
  return file;
}

// The theorem of the joined certificate, if there is one.
bool joins(const fuzz::InputFile& files, const Split& split, std::string_view root, std::string_view first_part, std::uint64_t moved,
           const fuzz::Decided& decided) {
  const std::string folder = std::filesystem::path(files.path()).parent_path().string() + "/", out = folder + "out";
  std::vector<certificate::Cube> cubes = split.cubes;
  cubes.front().after += moved;
  std::ranges::stable_sort(cubes, {}, &certificate::Cube::after);
  std::vector<std::string> parts;
  for (std::size_t k = 0; k < split.parts.size(); ++k) {
    const std::string name = "part" + std::to_string(k);
    files.put_beside(name, k == 0 ? first_part : std::string_view(split.parts[k]));
    parts.push_back(folder + name);
  }
  auto writer = certificate::Writer::open(out, *decided.problem);
  fuzz::expect_ok(writer, "the joined certificate can be written");
  const auto joined = certificate::join_parts(files.put(root), cubes, parts, *decided.problem, *writer.value());
  if (!joined) return false;
  fuzz::expect(joined.value().size() == cubes.size() || joined.value().size() == 1, "every part is joined, or a witness alone");
  return fuzz::expect_truth(fuzz::replayed(out, decided.problem), decided);
}

// A cube's beginning is steps that the kernel accepted on one branch: what is open there are cases of its group.
void begin(const fuzz::InputFile& files, std::string_view cube, const fuzz::Decided& decided) {
  auto reader = certificate::Reader::open(files.put(cube));
  if (!reader) return;
  const auto beginning = certificate::read_beginning(*reader.value(), decided.problem, fuzz::kWork);
  if (!beginning) return;
  const std::size_t group = beginning.value().scope.group();
  fuzz::expect(beginning.value().above.group() == group, "a cube is a branch of its group's root");
  for (const std::uint32_t position : beginning.value().open)
    fuzz::expect(position < decided.problem->group_cases(group).size(), "open cases are cases of the group");
}

const Split& split_of(const fuzz::InputFile& files) {
  static const Split kSplit = [&] {
    Split split = read_split();
    fuzz::expect(joins(files, split, split.root, split.parts.front(), 0, split.about[1]), "the split's own parts make a proof");
    return split;
  }();
  return kSplit;
}

}  // namespace

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t max_size, unsigned seed) {
  static const Split kSplit = read_split();
  std::minstd_rand random(seed);
  const std::size_t changed = LLVMFuzzerMutate(data, size, max_size);
  if (random() % 8 == 0 || changed <= kHead) return changed;
  std::string file(fuzz::text_of(data + kHead, changed - kHead));
  const bool is_part = data[kPlace] % kPlaces == kPart;
  fuzz::repair(file, is_part ? kSplit.cubes.front().digest : kSplit.about[data[kIsTrue] % 2].problem->digest());
  std::copy(file.begin(), file.end(), data + kHead);
  return changed;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFile kFile;
  const Split& split = split_of(kFile);
  if (size < kHead) return 0;
  const fuzz::Bounded bounded;
  const fuzz::Decided& decided = split.about[data[kIsTrue] % 2];
  const std::string_view file = fuzz::text_of(data + kHead, size - kHead);
  switch (data[kPlace] % kPlaces) {
    case kRoot:
      (void)joins(kFile, split, file, split.parts.front(), data[kMoved], decided);
      break;
    case kPart:
      (void)joins(kFile, split, for_statement(split.root, decided), file, data[kMoved], decided);
      break;
    default:
      begin(kFile, file, decided);
  }
  return 0;
}
