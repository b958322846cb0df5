#include "assay/kernel_audit.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <regex>
#include <set>

#include "formats/trace.h"
#include "kernel/audit/audit.h"
#include "probes/faults.h"

namespace assay::testing {

namespace {

using reports::Finding;
using reports::GateCase;

constexpr std::size_t kGuard = 1024;  // bytes on each side of a buffer
constexpr std::byte kGuardBytes[] = {std::byte{0xa5},
                                     std::byte{0x3c}};  // in turn, so that what a kernel writes there differs from one of them

// Findings beside wrong values, in words that follow "the kernel".
const std::map<std::string, std::string>& words_of_codes() {
  static const std::map<std::string, std::string> words = {
      {"gpu.race", "races: two threads touch a word, one writes, and nothing orders them"},
      {"gpu.bounds", "reaches outside of its buffers"},
      {"gpu.uninitialised", "reads what was never written"},
      {"gpu.barrier", "has a barrier or an exchange that not all of its threads reach"},
      {"gpu.operand", "writes into its operands"},
      {"gpu.stream", "does not run in the stream that it was given"},
      {"gpu.launch", "is launched as no device accepts it, or fails on the device"},
      {"probe.unwritten", "leaves elements of its result unwritten"},
      {"probe.operand", "writes into its operands"},
      {"probe.guard", "writes outside of its buffers"},
      {"probe.unsteady", "gives another result from the same operands"}};
  return words;
}

Rejection found(const char* code, std::string place, std::string required, std::string what) {
  return {Rejection::Kind::rejected, code, std::move(place), std::move(required), std::move(what), "docs/how-to/cuda-testing.md"};
}

bool is_fault(const Rejection& why) { return why.kind == Rejection::Kind::rejected; }

// Memory of one operand or result: guards on both sides of it.
class Buffer {
 public:
  Buffer(KernelDevice& device, std::span<const std::byte> content, const std::string& what, bool is_operand, void* stream, std::byte guard)
      : device_(device), what_(what), guard_(guard), before_(2 * kGuard + content.size(), guard), memory_(device.allocate(before_.size())) {
    if (!memory_) return;
    std::ranges::copy(content, before_.begin() + kGuard);
    copied_ = device.copy_in(memory_.value(), before_, stream);
    device.give(memory_.value(), kGuard, content.size(), what, is_operand);
  }
  ~Buffer() {
    if (memory_) device_.release(memory_.value());
  }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  [[nodiscard]] Outcome<Done> is_there() const { return memory_ ? copied_ : Outcome<Done>(memory_.rejection()); }
  [[nodiscard]] void* data() const { return static_cast<std::byte*>(memory_.value()) + kGuard; }
  // Reads the memory and its guards back after the launch.
  [[nodiscard]] Outcome<Done> look(void* stream) {
    after_.resize(before_.size());
    device_.give(memory_.value(), 0, after_.size(), what_, true);  // the audit may read the guards, too
    return device_.copy_out(after_, memory_.value(), stream);
  }
  [[nodiscard]] std::span<const std::byte> content() const { return std::span(after_).subspan(kGuard, after_.size() - 2 * kGuard); }
  [[nodiscard]] bool is_changed() const { return !std::ranges::equal(content(), std::span(before_).subspan(kGuard, content().size())); }
  [[nodiscard]] bool is_overrun() const {
    const auto differs = [this](std::byte byte) { return byte != guard_; };
    return std::ranges::any_of(std::span(after_).first(kGuard), differs) || std::ranges::any_of(std::span(after_).last(kGuard), differs);
  }
  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  KernelDevice& device_;
  std::string what_;
  std::byte guard_;
  std::vector<std::byte> before_, after_;
  Outcome<void*> memory_;
  Outcome<Done> copied_ = Done{};
};

// Runs launches of a plan on the device.
class Runner {
 public:
  Runner(KernelDevice& device, const KernelLauncher& launcher, const KernelPlan& plan)
      : device_(device), launcher_(launcher), plan_(plan) {}

  void set_threads(unsigned threads) { threads_ = threads; }
  [[nodiscard]] bool asks_for_threads() const { return asks_for_threads_; }
  [[nodiscard]] std::size_t left() const { return left_; }

  // As a launcher of probes: each of the two rounds of a probe is one or more runs here.
  Outcome<Done> operator()(const probes::RegionLaunch& launch) {
    if (failing_ >= plan_.enough || device_.is_lost()) {
      ++left_;
      return KernelLaunch::declined("not run: enough probes fail");
    }
    Outcome<Done> done = several(launch);
    if (!done && is_fault(done.rejection())) ++failing_;
    return done;
  }

 private:
  // The plan runs each probe in two rounds; the other repetitions are half in each.
  Outcome<Done> several(const probes::RegionLaunch& launch) {
    std::vector<std::vector<std::byte>> poisoned;
    for (const auto& result : launch.results) poisoned.emplace_back(result.begin(), result.end());
    if (auto done = once(launch, launch.results); !done) return done;
    for (std::size_t k = 1; k < (plan_.repeats + 1) / 2; ++k) {
      std::vector<std::vector<std::byte>> memory = poisoned;
      const std::vector<std::span<std::byte>> again(memory.begin(), memory.end());
      if (auto done = once(launch, again); !done) return done;
      for (std::size_t i = 0; plan_.deterministic && i < again.size(); ++i)
        if (!std::ranges::equal(launch.results[i], again[i]))
          return found("probe.unsteady", "repeated runs", "the same result from the same operands", "two different results");
    }
    return Done{};
  }

  Outcome<Done> once(const probes::RegionLaunch& launch, std::span<const std::span<std::byte>> results) {
    const std::size_t run = runs_++;
    const std::byte guard = kGuardBytes[run % 2];
    device_.set_schedule(run % std::max<std::size_t>(device_.schedules(), 1));
    void* const stream = device_.stream(run % 2 == 1);
    std::vector<std::unique_ptr<Buffer>> operands, outputs;
    std::vector<DeviceTensor> inputs, written;
    for (std::size_t k = 0; k < launch.operands.size(); ++k) {
      const Tensor& one = launch.operands[k];
      operands.push_back(std::make_unique<Buffer>(device_, one.bytes(), "operand " + std::to_string(k), true, stream, guard));
      if (auto there = operands.back()->is_there(); !there) return there;
      inputs.push_back({operands.back()->data(), one.dtype(), one.shape()});
    }
    for (std::size_t k = 0; k < results.size(); ++k) {
      const Node& node = launch.graph.node(launch.graph.outputs[k]);
      outputs.push_back(std::make_unique<Buffer>(device_, results[k], results.size() == 1 ? "the result" : "result " + std::to_string(k),
                                                 false, stream, guard));
      if (auto there = outputs.back()->is_there(); !there) return there;
      written.push_back({outputs.back()->data(), node.dtype, node.shape});
    }
    device_.begin(stream);
    const KernelLaunch asked(launch.graph, std::move(inputs), std::move(written), threads_, stream);
    const Outcome<Done> started = launcher_(asked);
    const Outcome<Done> ended = device_.end(stream);
    asks_for_threads_ = asks_for_threads_ || asked.asked_for_threads();
    if (!ended) return ended;
    if (!started) return started;
    return looked(operands, outputs, results, stream);
  }

  static Outcome<Done> looked(const std::vector<std::unique_ptr<Buffer>>& operands, const std::vector<std::unique_ptr<Buffer>>& outputs,
                              std::span<const std::span<std::byte>> results, void* stream) {
    for (const auto& buffers : {&operands, &outputs}) {
      for (const auto& buffer : *buffers) {
        if (auto done = buffer->look(stream); !done) return done;
        if (buffer->is_overrun()) return found("probe.guard", buffer->what(), "nothing written beside it", "the guard zone was written");
      }
    }
    for (const auto& operand : operands)
      if (operand->is_changed())
        return found("probe.operand", operand->what(), "operands that stay as they are", "an operand that the kernel wrote to");
    for (std::size_t k = 0; k < outputs.size(); ++k) std::ranges::copy(outputs[k]->content(), results[k].begin());
    return Done{};
  }

  KernelDevice& device_;
  const KernelLauncher& launcher_;
  const KernelPlan& plan_;
  unsigned threads_ = 128;
  std::size_t runs_ = 0, failing_ = 0, left_ = 0;
  bool asks_for_threads_ = false;
};

// The attributes with axes counted from the front.
Attributes from_front(Attributes attributes, std::size_t rank) {
  const auto lift = [&](std::int64_t& axis) { axis += axis < 0 ? static_cast<std::int64_t>(rank) : 0; };
  if (auto* const softmax = std::get_if<SoftmaxAttributes>(&attributes)) lift(softmax->axis);
  if (auto* const masked = std::get_if<MaskedSoftmaxAttributes>(&attributes)) lift(masked->axis);
  if (auto* const cumulative = std::get_if<CumulativeAttributes>(&attributes)) lift(cumulative->axis);
  if (auto* const arg = std::get_if<ArgAttributes>(&attributes)) lift(arg->axis);
  if (auto* const reduce = std::get_if<ReduceAttributes>(&attributes)) std::ranges::for_each(reduce->axes, lift);
  if (auto* const normalise = std::get_if<NormaliseAttributes>(&attributes)) std::ranges::for_each(normalise->axes, lift);
  return attributes;
}

// Returns true if the probe applies the op with these attributes; both are compared as they are written in traces.
bool is_with(const probes::Probe& probe, const Attributes& attributes) {
  if (std::holds_alternative<NoAttributes>(attributes)) return true;
  if (probe.attributes.index() != attributes.index()) return false;
  const auto wanted = probes::graph_of(probe.op, from_front(attributes, probe.operands[0].shape().size()), probe.operands);
  const auto has = probes::graph_of(probe.op, from_front(probe.attributes, probe.operands[0].shape().size()), probe.operands);
  return wanted && has && formats::write_region(wanted.value()) == formats::write_region(has.value());
}

// The regions of one run behind those of another.
void append(probes::PlanRun& run, probes::PlanRun more) {
  const auto shift = static_cast<TraceTensorId>(run.trace.tensors.size());
  const std::string before = std::to_string(run.trace.regions.size()) + "+";
  for (Trace::Entry& entry : more.trace.tensors) {
    entry.name.insert(0, before);  // names of tensors differ
    run.trace.tensors.push_back(std::move(entry));
  }
  for (Region& region : more.trace.regions) {
    for (TraceTensorId& id : region.operands) id += shift;
    for (TraceTensorId& id : region.results) id += shift;
    run.trace.regions.push_back(std::move(region));
  }
  for (const TraceTensorId id : more.trace.outputs) run.trace.outputs.push_back(id + shift);
  run.trace.writer = more.trace.writer;
  std::ranges::move(more.faults, std::back_inserter(run.faults));
  std::ranges::move(more.declined, std::back_inserter(run.declined));
}

// Which probes are run with the other sizes of blocks: one of structure and one of precision for each application.
bool is_for_other_shapes(const std::string& name) {
  return name.find(": integers") != std::string::npos || name.find(": dense") != std::string::npos;
}

using Run =
    std::function<probes::PlanRun(bool is_first, const probes::RegionLauncher& launcher, const ExecutionModel& model, std::size_t& probes)>;

// Judges the run and names what it finds.
class Judge {
 public:
  Judge(const KernelPlan& plan, KernelReport& report) : plan_(plan), report_(report) {}

  void take(probes::PlanRun run, const std::string& op) {
    for (probes::PlanRun::Note& fault : run.faults)
      if (fault.why.code != "probe.unsteady" || plan_.deterministic) add_note(op, fault);
    for (probes::PlanRun::Note& one : run.declined) {
      if (is_fault(one.why)) add_note(op, one);
      if (!is_fault(one.why) && one.why.code == "kernel.declined") ++report_.declined;
      if (!is_fault(one.why) && one.why.code != "kernel.declined") add_undecided(op, one);
    }
    report_.trace = std::move(run.trace);
    const auto whole = audit::check_continuity(report_.trace);
    if (!whole) add_undecided(op, {"continuity", whole.rejection()});
    const std::size_t regions = whole ? report_.trace.regions.size() : 0;
    std::size_t judged = 0;
    const auto take = [&](std::size_t r, GateCase one) {
      reports::call(one, op);
      add_region(report_.trace.regions[r], std::move(one));
      return ++judged < regions && failing_.size() < plan_.enough;
    };
    if (regions > 0 && failing_.size() < plan_.enough)
      reports::judge_regions(report_.trace, {.known_faults = probes::explanations}, 1, take);
    report_.left += regions - judged;
  }

  // The report lists faults of the kernel's conduct first, then those of the bank, ordered by the number of probes that they
  // explain. A fault of the bank is listed only if it explains half of the failing probes, and one that no earlier fault does;
  // another one has the numbers of few probes by accident. Values without an explanation come last. A result of NaN alone
  // names no fault.
  void name_faults() {
    std::map<std::pair<std::string, std::string>, std::set<std::string>> conduct, bank, values;
    for (const GateCase& one : report_.report.cases)
      for (const Finding& finding : one.findings)
        if (finding.kind == Finding::Kind::failure) name(one.name, finding, conduct, bank, values);
    std::set<std::string> covered, failing;
    add_faults(conduct, nullptr);
    for (const auto& [what, probes] : values) failing.insert(probes.begin(), probes.end());
    std::erase_if(failing, [&](const std::string& probe) { return nan_alone_.contains(probe); });
    std::erase_if(bank, [&](const auto& one) { return 2 * one.second.size() < failing.size(); });
    add_faults(bank, &covered);
    for (auto& [what, probes] : values) std::erase_if(probes, [&](const std::string& probe) { return covered.contains(probe); });
    add_faults(values, nullptr);
    for (GateCase& one : report_.report.cases)
      for (Finding& finding : one.findings)
        std::erase_if(finding.details, [&](const std::string& line) {
          const auto words = fault_of(line);
          return words && !bank.contains({finding.rule, *words});
        });
  }

  void write_text() {
    std::set<std::string> failing;
    std::vector<const GateCase*> shown;
    for (const GateCase& one : report_.report.cases) {
      if (!one.is_failed() || !failing.insert(one.name).second) continue;
      if (shown.size() < 2) shown.push_back(&one);
    }
    std::string text = "kernel of " + report_.title + ": " + report_.verdict() + "; " + std::to_string(failing.size()) + " of " +
                       std::to_string(report_.probes) + " probes fail";
    if (report_.declined > 0) text += ", " + std::to_string(report_.declined) + " declined";
    if (report_.left > 0) text += ", " + std::to_string(report_.left) + " not run or judged: enough fail";
    text += "\n";
    for (const KernelFault& fault : report_.faults)
      text += "  " + std::to_string(fault.probes) + " of them: it " + fault.words + " (" + fault.code + ")\n";
    for (const GateCase* const one : shown) {
      text += one->name + "\n";
      for (const Finding& finding : one->findings) {
        text += "  " + finding.rule + ": " + finding.headline() + "\n";
        for (const std::string& line : finding.below()) text += "  " + line + "\n";
      }
    }
    report_.text = std::move(text);
  }

 private:
  using Explained = std::map<std::pair<std::string, std::string>, std::set<std::string>>;  // code and words: probes

  // The words for a fault of the bank, from the line by which it explains a finding.
  static std::optional<std::string> fault_of(const std::string& line) {
    static const std::regex explanation("the result (?:equals the reference (.*?)(?:, bit for bit)?|is what the reference (.*) may give)");
    std::smatch match;
    if (!std::regex_match(line, match, explanation)) return std::nullopt;
    return "computes the reference " + (match[1].matched ? match[1].str() : match[2].str());
  }

  static void name(const std::string& probe, const Finding& finding, Explained& conduct, Explained& bank, Explained& values) {
    if (const auto words = words_of_codes().find(finding.rule); words != words_of_codes().end()) {
      conduct[{finding.rule, words->second}].insert(probe);
      return;
    }
    values[{finding.rule, "gives values outside of the contract"}].insert(probe);
    for (const std::string& line : finding.details)
      if (const auto words = fault_of(line)) bank[{finding.rule, *words}].insert(probe);
  }

  void add_faults(const Explained& explained, std::set<std::string>* covered) {
    std::vector<std::pair<Explained::key_type, Explained::mapped_type>> order(explained.begin(), explained.end());
    std::ranges::stable_sort(order, [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
    for (const auto& [what, probes] : order) {
      if (probes.empty() || (covered != nullptr && std::ranges::includes(*covered, probes))) continue;
      report_.faults.push_back({what.first, what.second, probes.size()});
      if (covered != nullptr) covered->insert(probes.begin(), probes.end());
    }
  }

  [[nodiscard]] bool is_nan_alone(const Region& region) const {
    return std::ranges::all_of(region.results, [&](TraceTensorId id) {
      const Tensor& result = report_.trace.tensors[id].value;
      for (std::size_t i = 0; i < result.size(); ++i)
        if (!is_float(result.dtype()) || !std::isnan(result.as_double(i))) return false;
      return result.size() > 0;
    });
  }

  void add_region(const Region& region, GateCase one) {
    one.name = region.name;
    one.share = probes::share_of(one.name);
    if (is_nan_alone(region)) nan_alone_.insert(one.name);
    std::erase_if(one.findings, [](const Finding& finding) { return finding.rule == reports::kVacuousRule; });
    for (const Finding& finding : one.findings)
      if (finding.kind == Finding::Kind::failure) failing_.insert(one.name);
    report_.report.cases.push_back(std::move(one));
  }

  void add_note(const std::string& op, const probes::PlanRun::Note& note) {
    failing_.insert(note.probe);
    GateCase one;
    one.name = note.probe;
    one.op = op;
    one.failed = 1;
    one.findings.push_back({Finding::Kind::failure,
                            note.why.code,
                            note.why.place.empty() ? note.probe : note.why.place,
                            reports::sentence(note.why),
                            {},
                            1,
                            {}});
    report_.report.cases.push_back(std::move(one));
  }
  void add_undecided(const std::string& op, const probes::PlanRun::Note& note) {
    GateCase one;
    one.name = note.probe;
    one.op = op;
    one.findings.push_back({Finding::Kind::undecided, note.why.code, note.probe, reports::sentence(note.why), {}, 1, {}});
    report_.report.cases.push_back(std::move(one));
  }

  const KernelPlan& plan_;
  KernelReport& report_;
  std::set<std::string> failing_, nan_alone_;
};

KernelReport audit(KernelDevice& device, const std::string& op, const KernelLauncher& launcher, const KernelPlan& plan,
                   const Run& run_plan) {
  KernelReport report;
  report.title = op + " on " + device.name();
  report.most_vacuous = plan.most_vacuous;
  report.report.verb = "kernel";
  report.report.file = plan.source.empty() ? op : plan.source;
  report.report.counts_by_op = false;  // probes go where contracts of some ops say little
  Runner runner(device, launcher, plan);
  const probes::RegionLauncher launch = [&](const probes::RegionLaunch& one) { return runner(one); };
  const ExecutionModel model = plan.model.value_or(device.model());
  const std::vector<unsigned> shapes = plan.threads.empty() ? std::vector<unsigned>{128} : plan.threads;
  probes::PlanRun run;
  for (std::size_t k = 0; k < shapes.size(); ++k) {
    if (k > 0 && !runner.asks_for_threads()) break;
    runner.set_threads(shapes[k]);
    probes::PlanRun more = run_plan(k == 0, launch, model, report.probes);
    const std::string suffix = k == 0 ? "" : ", " + std::to_string(shapes[k]) + " threads";
    for (Region& region : more.trace.regions) region.name += suffix;
    for (auto* const notes : {&more.faults, &more.declined})
      for (probes::PlanRun::Note& note : *notes) note.probe += suffix;
    append(run, std::move(more));
  }
  std::erase_if(run.declined, [](const probes::PlanRun::Note& note) { return note.why.found.starts_with("not run:"); });
  report.left = runner.left();
  Judge judge(plan, report);
  judge.take(std::move(run), op);
  judge.name_faults();
  judge.write_text();
  return report;
}

Outcome<Done> write(const std::string& path, const std::function<void(std::ofstream&)>& fill) {
  std::ofstream file(path, std::ios::binary);
  fill(file);
  file.close();
  if (file) return Done{};
  return Rejection{Rejection::Kind::declined,    "testing.file",           path,
                   "a file that can be written", "an error while writing", "check the path, its permissions and the free space"};
}

// One case for the probes of each kind, such as "softmax: dense float32": a plan has hundreds of probes. Each finding names its
// probe.
reports::GateReport by_kinds(const reports::GateReport& report) {
  reports::GateReport whole = report;
  whole.cases.clear();
  std::map<std::string, std::size_t> groups;
  for (const GateCase& one : report.cases) {
    const std::size_t colon = one.name.rfind(": ");
    const std::string kind =
        colon == std::string::npos ? one.name : one.name.substr(0, one.name.find_first_of(",:")) + one.name.substr(colon);
    const auto [at, is_new] = groups.try_emplace(kind, whole.cases.size());
    if (is_new) {
      whole.cases.push_back(one);
      whole.cases.back().name = kind;
      whole.cases.back().findings.clear();
    } else {
      whole.cases[at->second].add(one);
    }
    for (Finding finding : one.findings) {
      finding.details.push_back("in " + one.name);
      whole.cases[at->second].findings.push_back(std::move(finding));
    }
  }
  return whole;
}

// The report with a case that says so if no probe was judged: files without a failure would say that the kernel is right.
reports::GateReport with_nothing(const KernelReport& kernel) {
  reports::GateReport report = kernel.report;
  if (report.verdict(kernel.most_vacuous) != "passed" || kernel.verdict() == "passed") return report;
  reports::GateCase one;
  one.name = "probes";
  one.op = "nothing";
  one.findings.push_back({Finding::Kind::undecided, "gate.nothing", one.name, "no probe was judged", {}, 1, {}});
  report.cases.push_back(std::move(one));
  return report;
}

}  // namespace

std::string KernelReport::verdict() const {
  const std::string word = report.verdict(most_vacuous);
  if (word != "passed") return word;
  return probes > declined && report.totals().passed > 0 ? word : "undecided";
}

bool KernelReport::has(const std::string& words) const {
  return std::ranges::any_of(faults, [&](const KernelFault& one) {
    return one.code.find(words) != std::string::npos || one.words.find(words) != std::string::npos;
  });
}

Outcome<Done> KernelReport::write_trace(const std::string& path) const {
  return write(path, [&](std::ofstream& file) {
    formats::write_trace(trace, [&](std::span<const std::byte> bytes) {
      file.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
    });
  });
}
Outcome<Done> KernelReport::write_junit(const std::string& path) const {
  return write(path, [&](std::ofstream& file) { file << reports::junit_xml(by_kinds(with_nothing(*this)), most_vacuous); });
}
Outcome<Done> KernelReport::write_sarif(const std::string& path) const {
  return write(path, [&](std::ofstream& file) { file << reports::sarif_json(with_nothing(*this), most_vacuous); });
}

namespace {

// Several probes of an application are of one kind: "softmax: dense float32", "softmax, draw 2: dense float32".
class Draws {
 public:
  [[nodiscard]] std::string of(const std::string& name) {
    const std::size_t draw = ++seen_[name];
    return draw == 1 ? "" : ", draw " + std::to_string(draw);
  }

 private:
  std::map<std::string, std::size_t> seen_;
};

}  // namespace

KernelReport audit_kernel_on(KernelDevice& device, Op op, const Attributes& attributes, const KernelLauncher& launcher,
                             const KernelPlan& plan) {
  std::vector<probes::Probe> wanted = probes::probe_plan(op, plan.probes);
  std::erase_if(wanted, [&](const probes::Probe& one) { return !is_with(one, attributes) || (plan.only && !plan.only(one.name())); });
  Draws draws;
  for (probes::Probe& one : wanted) one.application += draws.of(one.name());
  const Run run = [&](bool is_first, const probes::RegionLauncher& launch, const ExecutionModel& model, std::size_t& count) {
    std::vector<probes::Probe> some = wanted;
    if (!is_first) std::erase_if(some, [](const probes::Probe& one) { return !is_for_other_shapes(one.name()); });
    count += some.size();
    const probes::Launcher as_op = [&](const probes::Launch& one) -> Outcome<Done> {
      const std::vector<Tensor> operands(one.operands.begin(), one.operands.end());
      const auto graph = probes::graph_of(one.op, one.attributes, operands);
      if (!graph) return graph.rejection();
      return launch({graph.value(), one.operands, std::span(&one.result, 1), one.views});
    };
    return probes::run_plan(some, as_op, model);
  };
  return audit(device, std::string(op_row(op).name), launcher, plan, run);
}

KernelReport audit_kernel_on(KernelDevice& device, const std::string& region, const KernelLauncher& launcher, const KernelPlan& plan) {
  std::vector<probes::RegionProbe> wanted = probes::region_plan(region, plan.probes);
  std::erase_if(wanted, [&](const probes::RegionProbe& one) { return plan.only && !plan.only(one.name); });
  Draws draws;
  for (probes::RegionProbe& one : wanted) one.name += draws.of(one.name);
  const Run run = [&](bool is_first, const probes::RegionLauncher& launch, const ExecutionModel& model, std::size_t& count) {
    std::vector<probes::RegionProbe> some = wanted;
    if (!is_first) std::erase_if(some, [](const probes::RegionProbe& one) { return !is_for_other_shapes(one.name); });
    count += some.size();
    return probes::run_regions(some, launch, model);
  };
  return audit(device, region, launcher, plan, run);
}

}  // namespace assay::testing
