// join_parts(): the root's records in order, and at each open branch those of its part.

#include "certificates/edit/join.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "certificates/format/format.h"
#include "certificates/format/reader.h"

namespace assay::certificate {

namespace {

Rejection fault(const char* code, std::string place, std::string required, std::string found, std::string advice) {
  const bool missing = std::string_view(code) == "join.missing";
  const auto kind = missing ? Rejection::Kind::declined : Rejection::Kind::malformed;
  return {kind, code, std::move(place), std::move(required), std::move(found), std::move(advice)};
}

Rejection in(const std::string& path, Rejection why) {
  if (!why.place.starts_with(path)) why.place = path + (why.place.empty() ? "" : ": " + why.place);
  return why;
}

// Where a reader stands: the group, and the open splits with the sides on which it is.
struct Place {
  std::uint64_t group = 0;
  bool in_group = false;
  std::vector<logic::Literal> literals;
  friend bool operator==(const Place&, const Place&) = default;

  // In the branch itself, or in one below it.
  [[nodiscard]] bool is_inside(const Place& branch) const {
    return in_group && group == branch.group && literals.size() >= branch.literals.size() &&
           std::equal(branch.literals.begin(), branch.literals.end(), literals.begin());
  }
};

// To the place behind each record; false where the record does not belong there.
struct Move : StepsAlike<Move> {
  Place& at;
  explicit Move(Place& place) : at(place) {}
  bool begin_group(const Record& record) const {
    at.group = record.group;
    return !std::exchange(at.in_group, true);
  }
  bool end_group(const Record&) const { return std::exchange(at.in_group, false) && at.literals.empty(); }
  bool split(const Record& record) const {
    at.literals.push_back(record.at_most());
    return at.in_group;
  }
  bool next(const Record&) const { return !at.literals.empty() && !std::exchange(at.literals.back().at_least, true); }
  bool done(const Record&) const {
    const bool closes = !at.literals.empty() && at.literals.back().at_least;
    if (closes) at.literals.pop_back();
    return closes;
  }
  bool witness(const Record&) const { return !at.in_group; }
  bool step(const Record&) const { return at.in_group; }
};

// Writes the record that the reader returned last.
struct Copy : StepsAlike<Copy> {
  const Reader& from;
  Writer& to;
  Copy(const Reader& reader, Writer& writer) : from(reader), to(writer) {}
  void begin_group(const Record& record) const { to.begin_group(record.group); }
  void end_group(const Record&) const { to.end_group(); }
  void split(const Record& record) const { to.split(record.node, record.element, record.threshold); }
  void next(const Record&) const { to.next(); }
  void done(const Record&) const { to.done(); }
  void witness(const Record& record) const { to.witness(record.witness); }
  void step(const Record&) const {
    Fragment record;
    record.copy(from.encoded());
    to.append(record);
  }
};

Outcome<std::unique_ptr<Reader>> open(const std::string& path) {
  auto reader = Reader::open(path);
  if (!reader) return in(path, reader.rejection());
  return reader;
}

class Join {
 public:
  Join(const std::vector<Cube>& cubes, const logic::Problem& problem, Writer& writer)
      : cubes_(cubes), problem_(problem), writer_(writer), part_of_(cubes.size()) {}

  // Which cube each part is of; every part is read to its end.
  Outcome<Done> sort(const std::vector<std::string>& parts) {
    for (const std::string& path : parts) {
      auto reader = open(path);
      if (!reader) return reader.rejection();
      const auto cube = std::ranges::find(cubes_, reader.value()->header().digest, &Cube::digest);
      if (cube == cubes_.end())
        return fault("join.foreign", path, "a part of one of these cubes",
                     "one of cube " + statement::to_hex(reader.value()->header().digest),
                     "leave the file out, or name the folder of its own cubes");
      std::optional<std::string>& taken = part_of_[static_cast<std::size_t>(cube - cubes_.begin())];
      if (taken)
        return fault("join.duplicate", path, "one part for each cube", cube->name + " has " + *taken, "leave one of the two files out");
      taken = path;
      Place place;
      while (true) {
        const auto next = reader.value()->next(&problem_.graph());
        if (!next) return in(path, next.rejection());
        if (next.value() == nullptr) break;
        const Record& record = *next.value();
        if (!visit(record, Move(place))) return misplaced(path, record);
        if (record.type == RecordType::witness) witness_ = {path, record.witness};
      }
      if (place.in_group) return fault("join.structure", path, "end_group at its end", "an open group", "solve the cube again");
    }
    return Done{};
  }

  Outcome<Done> write(const std::string& root) {
    if (witness_) {
      joined_.push_back({witness_->first, 1, 1});
      writer_.witness(witness_->second);
      return Done{};
    }
    for (std::size_t k = 0; k < cubes_.size(); ++k) {
      if (!part_of_[k])
        return fault("join.missing", cubes_[k].name, "a part for every cube", "none", "solve it: assay solve " + cubes_[k].name);
    }
    auto source = open(root);
    if (!source) return source.rejection();
    Place place;
    std::size_t cube = 0;
    for (std::uint64_t read = 0;; ++read) {
      for (; cube < cubes_.size() && cubes_[cube].after == read; ++cube) {
        if (auto written = write_part(*part_of_[cube], place); !written) return written;
      }
      const auto next = source.value()->next(&problem_.graph());
      if (!next) return in(root, next.rejection());
      if (next.value() == nullptr) break;
      if (!visit(*next.value(), Move(place))) return misplaced(root, *next.value());
      visit(*next.value(), Copy(*source.value(), writer_));
    }
    if (cube < cubes_.size())
      return fault("join.structure", root, "records up to each cube", "an end before " + cubes_[cube].name,
                   "write the cubes again: assay split");
    return Done{};
  }

  [[nodiscard]] std::vector<JoinedPart> joined() { return std::move(joined_); }

 private:
  static Rejection misplaced(const std::string& path, const Record& record) {
    return fault("join.structure", path, "records in the order that certificates/FORMAT.md gives",
                 std::string(to_string(record.type)) + " as record " + std::to_string(record.number), "solve the cube again");
  }

  // Of the part the records inside of the open branch; the splits around it stand in the root already.
  Outcome<Done> write_part(const std::string& path, const Place& branch) {
    JoinedPart joined{path, writer_.records() + 1, 0};
    auto source = open(path);
    if (!source) return source.rejection();
    Place place;
    bool arrived = false;
    while (true) {
      const auto next = source.value()->next(&problem_.graph());
      if (!next) return in(path, next.rejection());
      if (next.value() == nullptr) break;
      if (!visit(*next.value(), Move(place))) return misplaced(path, *next.value());
      if (arrived && place.is_inside(branch)) visit(*next.value(), Copy(*source.value(), writer_));
      arrived = arrived || place == branch;
    }
    if (!arrived) return fault("join.structure", path, "the splits that lead to its cube", "other splits", "solve the cube again");
    joined.last = writer_.records();
    joined_.push_back(std::move(joined));
    return Done{};
  }

  const std::vector<Cube>& cubes_;
  const logic::Problem& problem_;
  Writer& writer_;
  std::vector<std::optional<std::string>> part_of_;  // by cube
  std::optional<std::pair<std::string, logic::Witness>> witness_;
  std::vector<JoinedPart> joined_;
};

}  // namespace

Outcome<std::vector<JoinedPart>> join_parts(const std::string& root, const std::vector<Cube>& cubes, const std::vector<std::string>& parts,
                                            const logic::Problem& problem, Writer& writer) {
  Join join(cubes, problem, writer);
  if (auto sorted = join.sort(parts); !sorted) return sorted.rejection();
  if (auto written = join.write(root); !written) return written.rejection();
  if (auto finished = writer.finish(); !finished) return finished.rejection();
  return join.joined();
}

}  // namespace assay::certificate
