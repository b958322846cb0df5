#include "app/runs/cubes.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "api/check/cost.h"
#include "app/files/output_file.h"
#include "app/queries/verify.h"
#include "certificates/check/replay.h"
#include "certificates/edit/cubes.h"
#include "certificates/edit/join.h"
#include "certificates/format/reader.h"
#include "certificates/format/writer.h"
#include "formats/json.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "assay.split/1";
constexpr const char* kManifest = "split.json";
constexpr const char* kRoot = "root.assay";

Rejection unreadable(const std::string& path, const std::string& found) {
  return {Rejection::Kind::malformed, "cubes.split", path, "a folder that assay split wrote", found, "name the folder of a split"};
}

Rejection unwritten(const std::string& path, const std::string& found) {
  return {Rejection::Kind::declined,    "cubes.write", path,
          "a file that can be written", found,         "check the path, permissions and free space"};
}

std::string cube_name(std::size_t number) {
  std::array<char, 32> name{};
  (void)std::snprintf(name.data(), name.size(), "%03zu.cube", number + 1);
  return name.data();
}

Outcome<Done> make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return unwritten(folder, error.message());
  if (!fs::is_empty(folder, error) || error)
    return Rejection{Rejection::Kind::malformed,      "cubes.folder", folder,
                     "a folder that is new or empty", "files in it",  "name another one with -o"};
  return Done{};
}

Json json_of(const search::OpenBranch& branch, std::size_t number, const fs::path& folder) {
  Json literals = Json::array();
  for (const logic::Literal& one : branch.literals)
    literals.push_back({{"node", one.node}, {"element", one.element}, {"side", one.at_least ? ">=" : "<="}, {"threshold", one.threshold}});
  const std::string name = cube_name(number);
  return {{"file", name},          {"sha256", file_digest((folder / name).string())},
          {"after", branch.after}, {"group", branch.group},
          {"bound", branch.bound}, {"cases", branch.cases},
          {"literals", literals}};
}

Json json_of(const search::Statistics& statistics) {
  return {{"wall", statistics.wall_seconds}, {"cpu", statistics.cpu_seconds}, {"nodes", statistics.nodes}, {"leaves", statistics.leaves}};
}

bool read_digest(const std::string& text, statement::Digest& digest) {
  if (text.size() != 2 * digest.size()) return false;
  for (std::size_t i = 0; i < digest.size(); ++i) {
    const char* const at = text.data() + 2 * i;
    const auto [end, error] = std::from_chars(at, at + 2, digest[i], 16);
    if (error != std::errc() || end != at + 2) return false;
  }
  return true;
}

// The statement that the digest names, or why the files are others.
Outcome<check::Loaded> load(const StatementFiles& files, const check::LoadOptions& options, const statement::Digest* digest) {
  auto loaded = check::load_problem(files.model, files.property, options);
  if (!loaded || digest == nullptr || loaded.value().problem->digest() == *digest) return loaded;
  return Rejection{Rejection::Kind::malformed,
                   "cubes.statement",
                   files.model + " " + files.property,
                   "statement " + statement::to_hex(*digest),
                   "statement " + statement::to_hex(loaded.value().problem->digest()),
                   "use the model and property that were split"};
}

Outcome<std::vector<certificate::Cube>> cubes_of(const Json& split, const std::string& folder) {
  std::vector<certificate::Cube> cubes;
  for (const Json& one : member_of(split, "cubes")) {
    certificate::Cube cube;
    cube.name = (fs::path(folder) / text_of(one, "file")).string();
    cube.after = count_of(one, "after");
    if (!read_digest(text_of(one, "sha256"), cube.digest))
      return unreadable((fs::path(folder) / kManifest).string(), "a cube without its digest");
    cubes.push_back(std::move(cube));
  }
  std::ranges::stable_sort(cubes, {}, &certificate::Cube::after);
  return cubes;
}

}  // namespace

Outcome<Json> split(const StatementFiles& files, const std::string& folder, std::size_t into, const check::LoadOptions& load,
                    search::Options options) {
  auto loaded = check::load_problem(files.model, files.property, load);
  if (!loaded) return loaded.rejection();
  const std::shared_ptr<const logic::Problem>& problem = loaded.value().problem;
  if (auto made = make_folder(folder); !made) return made.rejection();
  const fs::path path(folder);
  options.split.into = into;
  options.split.open = [&](std::size_t cube) { return certificate::Writer::open((path / cube_name(cube)).string(), *problem); };
  auto writer = certificate::Writer::open((path / kRoot).string(), *problem);
  if (!writer) return unwritten(folder, writer.rejection().found);
  auto verified = queries::verify(problem, options, writer.value().get());
  if (!verified) return verified.rejection();
  const search::Result& found = verified.value();
  if (found.unwritten) return unwritten(folder, found.unwritten->found);
  Json cubes = Json::array();
  for (std::size_t k = 0; k < found.open.size(); ++k) cubes.push_back(json_of(found.open[k], k, path));
  Json report{{"schema", kSchema},
              {"model", files.model},
              {"property", files.property},
              {"semantics", files.semantics},
              {"statement", statement::to_hex(problem->digest())},
              {"answer", search::word_of(found.answer)},
              {"root", kRoot},
              {"cubes", std::move(cubes)},
              {"seconds", json_of(found.statistics)}};
  add_edits(report, load.limits.edits);
  if (!found.reason.empty()) report["reason"] = found.reason;
  if (found.answer == search::Answer::unknown || found.answer == search::Answer::timed_out) return report;
  const std::string manifest = (path / kManifest).string();
  std::ofstream file(manifest, std::ios::binary);
  file << report.dump(2, ' ', false, Json::error_handler_t::replace) << "\n";
  file.close();
  if (!file) return unwritten(manifest, "a failed write");
  return report;
}

Outcome<Json> read_split(const std::string& folder) {
  const std::string path = (fs::path(folder) / kManifest).string();
  std::error_code error;
  if (fs::exists(path, error) && !fs::is_regular_file(path, error)) return unreadable(path, "no regular file");
  std::ifstream file(path, std::ios::binary);
  if (!file) return unreadable(path, "no such file");
  std::ostringstream text;
  text << file.rdbuf();
  Json split = formats::parse_json(text.str());
  statement::Digest digest{};
  if (split.is_discarded() || text_of(split, "schema") != kSchema) return unreadable(path, "no JSON of the schema " + std::string(kSchema));
  if (!read_digest(text_of(split, "statement"), digest) || !member_of(split, "cubes").is_array())
    return unreadable(path, "no digest of a statement, or no list of cubes");
  return split;
}

StatementFiles files_of(const Json& split, const std::string& folder) {
  const auto found = [&](const char* key) {
    const std::string path = text_of(split, key), beside = (fs::path(folder) / fs::path(path).filename()).string();
    std::error_code error;
    return !fs::exists(check::existing(path), error) && fs::exists(check::existing(beside), error) ? beside : path;
  };
  return {found("model"), found("property"), text_of(split, "semantics"), edits_of(split)};
}

Outcome<StatementFiles> find_files(const StatementFiles& named, const std::string& folder) {
  const auto split = read_split(folder);
  if (!split && (named.model.empty() || named.property.empty())) return split.rejection();
  StatementFiles files = split ? files_of(split.value(), folder) : StatementFiles{"", "", named.semantics, {}};
  if (!named.model.empty()) files.model = named.model;
  if (!named.property.empty()) files.property = named.property;
  if (!named.edits.empty()) files.edits = named.edits;
  return files;
}

std::vector<std::string> parts_in(const std::string& folder) {
  std::vector<std::string> parts;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error))
    if (entry.path().extension() == ".part") parts.push_back(entry.path().string());
  std::ranges::sort(parts);
  return parts;
}

Outcome<Json> written(const std::string& out, const std::function<Outcome<Json>(const std::string& name)>& work) {
  files::Replacement file(out);
  if (file.name().empty()) return files::unwritten_file("cubes.write", out);
  Outcome<Json> report = work(file.name());
  const std::string answer = report ? text_of(report.value(), "answer") : "";
  if (answer == kClosed || search::is_decided(search::answer_named(answer))) {
    if (!file.take_place()) return files::unwritten_file("cubes.write", out);
    report.value()["certificate"] = out;
  }
  return report;
}

Outcome<Json> solve(const std::string& cube, const StatementFiles& files, const std::string& part, const check::LoadOptions& load_options,
                    search::Options options) {
  auto reader = certificate::Reader::open(cube);
  if (!reader) return check::in_file(reader.rejection(), cube);
  auto loaded = load(files, load_options, &reader.value()->header().digest);
  if (!loaded) return loaded.rejection();
  const std::shared_ptr<const logic::Problem>& problem = loaded.value().problem;
  const std::uint64_t bytes = check::file_bytes(cube);
  const certificate::ReplayLimits limits = check::replay_limits(loaded.value(), load_options.limits, bytes);
  auto beginning = certificate::read_beginning(*reader.value(), problem,
                                               std::min(limits.work + limits.work_per_byte * static_cast<double>(bytes), limits.most_work));
  if (!beginning) return check::in_file(beginning.rejection(), cube);
  statement::Digest digest{};
  const std::string name = file_digest(cube);
  if (!read_digest(name, digest)) return unreadable(cube, "a file that changes");
  auto writer = certificate::Writer::open(part, *problem, &digest);
  if (!writer) return unwritten(part, writer.rejection().found);
  options.cube = &beginning.value();
  auto verified = queries::verify(problem, options, writer.value().get());
  if (!verified) return verified.rejection();
  const search::Result& found = verified.value();
  if (found.unwritten) return unwritten(part, found.unwritten->found);
  const bool is_closed = found.answer == search::Answer::unsatisfiable;
  Json report{{"schema", "assay.solve/1"},
              {"cube", cube},
              {"sha256", name},
              {"statement", statement::to_hex(problem->digest())},
              {"answer", is_closed ? kClosed : search::word_of(found.answer)},
              {"bytes", 0},
              {"seconds", json_of(found.statistics)}};
  if (search::is_decided(found.answer)) report["bytes"] = writer.value()->bytes_written();
  if (!found.reason.empty()) report["reason"] = found.reason;
  return report;
}

Outcome<Json> merge(const std::string& folder, const std::vector<std::string>& parts, const StatementFiles& files, const std::string& out,
                    const check::LoadOptions& load_options) {
  auto split = read_split(folder);
  if (!split) return split.rejection();
  auto cubes = cubes_of(split.value(), folder);
  if (!cubes) return cubes.rejection();
  statement::Digest digest{};
  (void)read_digest(text_of(split.value(), "statement"), digest);
  auto loaded = load(files, load_options, &digest);
  if (!loaded) return loaded.rejection();
  const std::shared_ptr<const logic::Problem>& problem = loaded.value().problem;
  auto writer = certificate::Writer::open(out, *problem);
  if (!writer) return unwritten(out, writer.rejection().found);
  const std::string root = (fs::path(folder) / kRoot).string();
  auto joined = certificate::join_parts(root, cubes.value(), parts, *problem, *writer.value());
  if (!joined) return joined.rejection();
  auto reader = certificate::Reader::open(out);
  if (!reader) return check::in_file(reader.rejection(), out);
  certificate::ReplayStatistics statistics;
  const std::uint64_t bytes = writer.value()->bytes_written();
  auto theorem =
      certificate::replay(*reader.value(), problem, &statistics, check::replay_limits(loaded.value(), load_options.limits, bytes));
  if (!theorem) {
    // The record behind the last of a part closes its branch: what is open there the part left open.
    const std::uint64_t failed = statistics.steps + 1;
    const auto part = std::ranges::find_if(joined.value(), [&](const auto& one) { return one.first <= failed && failed <= one.last + 1; });
    Rejection why = theorem.rejection();
    why.place = (part == joined.value().end() ? root : part->path) + ": " + why.place;
    return why;
  }
  return Json{{"schema", "assay.merge/1"},
              {"answer", search::word_of(search::answer_of(theorem.value()))},
              {"statement", statement::to_hex(problem->digest())},
              {"parts", joined.value().size()},
              {"steps", statistics.steps},
              {"bytes", bytes}};
}

}  // namespace assay::runs
