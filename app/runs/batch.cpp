#include "app/runs/batch.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <mutex>
#include <utility>

#include "api/check/vacuity.h"
#include "app/queries/verify.h"
#include "app/runs/claim.h"
#include "formats/datasets/csv_rows.h"
#include "formats/datasets/dataset.h"
#include "semantics/printable.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

constexpr const char* kUnknown = search::word_of(search::Answer::unknown);

Rejection bad_list(const std::string& path, std::size_t line, std::string required, std::string found) {
  return {Rejection::Kind::malformed, "batch.list",     path + (line == 0 ? "" : ", line " + std::to_string(line)),
          std::move(required),        printable(found), ""};
}

Outcome<Done> for_each_line(const std::string& path, const std::function<Outcome<Done>(std::size_t, std::span<const std::string>)>& take) {
  const auto file = formats::read_file(path);
  if (!file) return bad_list(path, 0, "a file that can be read", file.rejection().found);
  auto read = formats::for_each_row({reinterpret_cast<const char*>(file.value().data()), file.value().size()}, ',', take);
  if (read || !read.rejection().code.starts_with("csv.")) return read;
  return bad_list(path, 0, read.rejection().required, read.rejection().found + ", " + read.rejection().place);
}

std::string plain_name(const std::string& path) {
  std::string name = fs::path(path).filename().string();
  if (name.ends_with(".gz")) name.erase(name.size() - 3);
  return name;
}

std::string names_of(const std::string& model, const std::string& property) { return plain_name(model) + "," + plain_name(property); }

fs::path unpacked(const fs::path& path) { return path.extension() == ".gz" ? fs::path(path).replace_extension() : path; }

fs::path place_of(const BatchInstance& one, const std::string& file) {
  std::error_code error;
  return unpacked(fs::absolute(path_from(one.folder, file), error).lexically_normal());
}

// Whether a path has the parts of `file` as its last ones.
bool ends_with(const fs::path& path, const std::string& file) {
  const fs::path end = unpacked(fs::path(file).lexically_normal());
  const auto all = std::distance(path.begin(), path.end()), last = std::distance(end.begin(), end.end());
  return last <= all && std::equal(end.begin(), end.end(), std::next(path.begin(), all - last));
}

// Of the instances with these names of files those that a line means: folders tell files of one name apart, where there are several.
std::vector<std::size_t> meant_by(const std::string& model, const std::string& property, std::vector<std::size_t> named,
                                  const std::vector<BatchInstance>& instances) {
  std::set<std::pair<fs::path, fs::path>> places;
  for (const std::size_t i : named)
    places.emplace(place_of(instances[i], instances[i].model), place_of(instances[i], instances[i].property));
  if (places.size() <= 1) return named;
  std::erase_if(named, [&](std::size_t i) {
    const BatchInstance& one = instances[i];
    return !ends_with(place_of(one, one.model), model) || !ends_with(place_of(one, one.property), property);
  });
  return named;
}

class BatchWork {
 public:
  BatchWork(const std::vector<BatchInstance>& instances, const BatchRequest& request, Store* store, const std::stop_token& stop,
            const BatchEvents& events)
      : instances_(instances), request_(request), store_(store), stop_(stop), events_(events) {}

  Outcome<Done> run(const std::set<std::size_t>& known) {
    for_each_in_parallel(instances_.size(), request_.search.jobs, [&](std::size_t number, unsigned worker) {
      if (stop_.stop_requested()) return false;
      return known.contains(number) || decide_instance(number, worker);
    });
    if (failure_) return *failure_;
    return Done{};
  }

 private:
  bool decide_instance(std::size_t number, unsigned worker) {
    const BatchInstance& one = instances_[number];
    if (events_.on_start) events_.on_start(worker, one);
    Json result{{"instance", number}, {"category", one.category}, {"model", one.model}, {"property", one.property}, {"folder", one.folder}};
    const auto start = search::Clock::now();
    auto decided = decide(one, result);
    result["seconds"] = search::seconds_since(start);
    if (stop_.stop_requested() && !search::is_decided(search::answer_named(text_of(result, "answer")))) return false;
    if (decided && store_ != nullptr) decided = store_->append(result);
    const std::lock_guard lock(mutex_);
    if (!decided) {
      if (!failure_) failure_ = decided.rejection();
      return false;
    }
    if (events_.on_result) events_.on_result(worker, result);
    return true;
  }

  // Rejections concern the store only.
  Outcome<Done> decide(const BatchInstance& one, Json& result) {
    const double listed = one.timeout > 0 ? one.timeout : request_.search.timeout;
    const double limit = request_.most > 0 ? std::min(request_.most, listed) : listed;
    const auto deadline = search::Deadline::in(limit);
    auto loaded = check::load_problem(path_from(one.folder, one.model), path_from(one.folder, one.property), request_.load);
    if (!loaded)
      return end(result, loaded.rejection().kind == Rejection::Kind::declined ? kUnknown : kErrorWord, loaded.rejection().to_text());
    const auto& problem = loaded.value().problem;
    result["sha256"] = {{"model", statement::to_hex(problem->statement().sources.front().sha256)},
                        {"property", statement::to_hex(problem->statement().sources.back().sha256)}};
    auto file = ProofFile::open(store_, *problem);
    if (!file) return file.rejection();
    search::Options options = request_.search.options(deadline, stop_);
    options.seconds = limit;
    auto verified = queries::verify(problem, options, file.value().writer());
    if (!verified) return end(result, kUnknown, verified.rejection().to_text());
    result["nodes"] = verified.value().statistics.nodes;
    if (!verified.value().theorem) return end(result, search::word_of(verified.value().answer), verified.value().reason);
    if (verified.value().unwritten) return file.value().unwritten(*verified.value().unwritten);
    result["answer"] = search::word_of(verified.value().answer);
    if (const std::string why = check::vacuity(*verified.value().theorem); !why.empty()) result["vacuous"] = why;
    return file.value().keep(*problem, result);
  }

  static Outcome<Done> end(Json& result, const std::string& answer, const std::string& reason) {
    result["answer"] = answer;
    result["reason"] = reason;
    return Done{};
  }

  const std::vector<BatchInstance>& instances_;
  const BatchRequest& request_;
  Store* store_;
  std::stop_token stop_;
  const BatchEvents& events_;
  std::mutex mutex_;
  std::optional<Rejection> failure_;
};

}  // namespace

std::string path_from(const std::string& folder, const std::string& file) {
  return folder.empty() || fs::path(file).is_absolute() ? file : (fs::path(folder) / file).string();
}

Outcome<std::vector<BatchInstance>> read_list(const std::string& path) {
  std::vector<BatchInstance> instances;
  const std::string folder = fs::path(path).parent_path().string();
  std::error_code error;
  const std::string category = fs::absolute(path, error).parent_path().filename().string();
  auto read = for_each_line(path, [&](std::size_t line, std::span<const std::string> fields) -> Outcome<Done> {
    if (fields.size() < 2 || fields.size() > 3 || fields[0].empty() || fields[1].empty())
      return bad_list(path, line, "MODEL,PROPERTY[,TIMEOUT]", std::to_string(fields.size()) + " fields");
    if (fields[0].starts_with("["))
      return Rejection{
          Rejection::Kind::unsupported, "batch.networks", path + ", line " + std::to_string(line), "one model", "a list of models", ""};
    BatchInstance one{category, fields[0], fields[1], folder, 0};
    if (fields.size() == 3 && !fields[2].empty()) {
      const std::string& text = fields[2];
      const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), one.timeout);
      if (failed != std::errc() || end != text.data() + text.size() || !(one.timeout > 0 && one.timeout < 1e9))
        return bad_list(path, line, "a timeout in seconds", text.substr(0, 40));
    }
    instances.push_back(std::move(one));
    return Done{};
  });
  if (!read) return read.rejection();
  if (instances.empty()) return bad_list(path, 0, "lines MODEL,PROPERTY[,TIMEOUT]", "none");
  return instances;
}

Outcome<std::vector<BatchInstance>> read_lists(const std::vector<std::string>& paths) {
  std::vector<BatchInstance> instances;
  for (const std::string& path : paths) {
    auto read = read_list(path);
    if (!read) return read;
    std::ranges::move(read.value(), std::back_inserter(instances));
  }
  return instances;
}

Outcome<ExpectedAnswers> read_expected(const std::string& path, const std::vector<BatchInstance>& instances) {
  ExpectedAnswers expected;
  if (path.empty()) return expected;
  std::map<std::string, std::vector<std::size_t>> asked;  // by the names of the files
  for (std::size_t i = 0; i < instances.size(); ++i) asked[names_of(instances[i].model, instances[i].property)].push_back(i);
  auto read = for_each_line(path, [&](std::size_t line, std::span<const std::string> fields) -> Outcome<Done> {
    if (fields.size() < 3) return bad_list(path, line, "MODEL,PROPERTY,ANSWER", std::to_string(fields.size()) + " fields");
    const std::string& answer = fields[2];
    if (!search::is_decided(search::answer_named(answer))) return bad_list(path, line, "sat or unsat as the answer", answer.substr(0, 40));
    const std::vector<std::size_t> meant = meant_by(fields[0], fields[1], asked[names_of(fields[0], fields[1])], instances);
    if (meant.empty()) return bad_list(path, line, "a model and a property of the lists", (fields[0] + "," + fields[1]).substr(0, 200));
    for (const std::size_t one : meant) {
      const auto [before, is_first] = expected.emplace(one, answer);
      if (!is_first && before->second != answer) return bad_list(path, line, "the answer of a line before it, " + before->second, answer);
    }
    return Done{};
  });
  if (!read) return read.rejection();
  return expected;
}

void BatchTotals::add(const Json& result) {
  const std::string answer = text_of(result, "answer"), category = text_of(result, "category");
  BatchCount& count = categories_[category];
  count.category = category;
  const double seconds = number_of(result, "seconds");
  const auto named = search::answer_named(answer);
  ++(named == search::Answer::satisfiable     ? count.sat
     : named == search::Answer::unsatisfiable ? count.unsat
     : named == search::Answer::timed_out     ? count.timed_out
     : answer == kErrorWord                   ? count.error
                                              : count.unknown);
  count.seconds += seconds;
  if (search::is_decided(named)) count.solved.push_back(seconds);
  ++results_;
}

std::vector<BatchCount> BatchTotals::counts() const {
  std::vector<BatchCount> counts;
  for (const auto& [name, count] : categories_) {
    counts.push_back(count);
    std::ranges::sort(counts.back().solved);
  }
  return counts;
}

Outcome<Done> run_batch(const std::vector<BatchInstance>& instances, const BatchRequest& request, Store* store,
                        const std::set<std::size_t>& known, const std::stop_token& stop, const BatchEvents& events) {
  return BatchWork(instances, request, store, stop, events).run(known);
}

Json to_json(const std::vector<BatchCount>& counts) {
  Json list = Json::array();
  for (const BatchCount& one : counts) {
    list.push_back({{"category", one.category},
                    {"unsat", one.unsat},
                    {"sat", one.sat},
                    {"unknown", one.unknown},
                    {"timed_out", one.timed_out},
                    {"error", one.error},
                    {"seconds", one.seconds},
                    {"cactus", one.solved}});
  }
  return list;
}

void Expectations::add(const Json& result) {
  const std::string answer = text_of(result, "answer"), model = text_of(result, "model"), property = text_of(result, "property");
  const std::string about = model + " " + property + ": ";
  const auto known = answers_.find(count_of(result, "instance"));
  const bool is_expected = known != answers_.end() && known->second == answer;
  if (known != answers_.end() && !is_expected && search::is_decided(search::answer_named(answer)))
    mistakes_.push_back(about + answer + ", expected " + known->second);
  const std::string why = text_of(result, "vacuous");
  if (why.empty()) return;
  vacuous_.push_back(about + "unsat is vacuous, since " + why);
  if (is_expected && !allow_vacuous_) mistakes_.push_back(vacuous_.back() + "; mend the property, or allow it with --allow-vacuous");
}

Json manifest_of(const BatchClaim& claim, const BatchRequest& request, std::size_t instances, const std::string& version) {
  Json lists = Json::array();
  for (const std::string& list : claim.lists) lists.push_back({{"file", list}, {"sha256", file_digest(list)}});
  return {{"schema", kRunSchema},
          {"kind", "batch"},
          {"claim", list_claim(lists, instances, claim.semantics, claim.part, claim.items, request.load.limits.edits)},
          {"options",
           {{"jobs", request.search.jobs}, {"timeout", request.search.timeout}, {"most", request.most}, {"seed", request.search.seed}}},
          {"version", version}};
}

}  // namespace assay::runs
