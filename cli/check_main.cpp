// assay-check: model, property and certificate in; accepted, rejected or declined out. Kernel, semantics, front ends and
// certificate decoder, nothing else.
#include <charconv>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "cli/check.h"
#include "cli/semantics.h"
#include "cli/units.h"
#include "cli/version.h"

namespace {

constexpr std::size_t kMostThreads = 1024;
constexpr const char* kHelp =
    "usage: assay-check MODEL.onnx PROPERTY.vnnlib CERTIFICATE [--shape INPUT=N,...] [--dim AXIS=N] [--set INPUT=VALUE,...]\n"
    "                   [--outputs NAME,...] [--exact] [--semantics NAME] [--statement full] [--memory SIZE] [--budget NUMBER]\n"
    "                   [--threads N]\n"
    "       assay-check STATEMENT CERTIFICATE [...]     a file of `assay statement`: no model or property is read\n"
    "\n"
    "Replays the certificate through the kernel, and prints the theorem that the certificate proves. Documents named docs/...\n"
    "and certificates/... are in share/doc/assay of the installation. A wheel has this folder below Python's sys.prefix.\n"
    "A refusal ends with its code in brackets, which `assay explain CODE` explains.\n"
    "The first word on stdout is\n"
    "  accepted   the theorem printed below it holds (exit 0)\n"
    "  rejected   the certificate does not prove the statement (exit 1), or cannot be decoded (exit 4)\n"
    "  declined   undecided (exit 3), or the model or property is unsupported or malformed (exit 4)\n"
    "\n"
    "  --shape, --dim, --set, --outputs\n"
    "                     how the model is read, as for `assay verify`: --shape x=1,3,48,96 is the shape of an input, and\n"
    "                     --dim seq=16 the extent of an axis that has a name. With --set sr=16000 an input is a constant, and\n"
    "                     with --outputs a,b only these outputs remain. The certificate is about the network that is made so\n"
    "  --exact            compute every step in exact arithmetic, even if a faster test with doubles would decide it\n"
    "  --semantics NAME   what the statement is about: real arithmetic (real), or with float32[:MODEL] every float execution that\n"
    "                     the execution model MODEL allows (docs/explanation/float32.md). Default: the element type that the\n"
    "                     property declares, e.g. float32; real in VNN-LIB 1\n"
    "  --statement full   print every case, row and input, not only the first ones\n"
    "  --memory SIZE      memory that the run may take, e.g. 512MiB; a check that needs more is declined. Default: 256MiB plus\n"
    "                     256 times the size of the three files, and at most 8GiB\n"
    "  --budget NUMBER    largest number of multiply-adds, e.g. 1e12. It limits all steps of the certificate together, and\n"
    "                     separately one pass through the network. A check that needs more is declined. The default is computed\n"
    "                     from four numbers. F counts the bytes of model and property, and C the bytes of the certificate. P\n"
    "                     counts the multiply-adds that turn one linear form of the outputs into one of the inputs, or is 10 F if\n"
    "                     these are more. S counts the multiply-adds of one sweep that bounds all pre-activations. All steps may take\n"
    "                     1e8 + min(10 S, F P) + C min(500 P, S/2 + 20 P, 200 F), at most 1e12. One pass may take 1e8 + 1000\n"
    "                     times the bytes of the model\n"
    "  --threads N        threads that replay the certificate, 1 to 1024; default: 1. With N threads, the boxes of open branches\n"
    "                     may take N times the memory that one thread may use for them\n"
    "  --name, --version  print the program's name; its version, commit, compiler, libraries and instruction sets\n";

bool is_edit(std::string_view option) { return option == "--shape" || option == "--dim" || option == "--set" || option == "--outputs"; }

int usage(const std::string& what) {
  std::fprintf(stderr, "assay-check: %s\nRun `assay-check --help` for the command line.\n", what.c_str());
  return assay::cli::kExitUsage;
}

int run(int argc, char** argv) {
  std::vector<std::string> files;
  assay::cli::LoadOptions options;
  bool full = false;
  bool only_files = false;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (only_files || !word.starts_with("-")) {
      files.emplace_back(word);
    } else if (word == "--") {
      only_files = true;
    } else if (word == "--exact") {
      options.exact = true;
    } else if (word == "--semantics" || word.starts_with("--semantics=")) {
      const std::string value(word != "--semantics" ? word.substr(word.find('=') + 1) : i + 1 < argc ? argv[++i] : "");
      auto named = assay::cli::parse_semantics(value);
      if (!named) return usage("--semantics takes " + assay::cli::semantics_problem(named.rejection()));
      options.semantics = std::move(named).value();
    } else if (word == "--statement=full" || (word == "--statement" && i + 1 < argc && std::string_view(argv[i + 1]) == "full")) {
      full = true;
      i += word == "--statement" ? 1 : 0;
    } else if (word.starts_with("--statement")) {
      return usage("--statement takes full: the statement is printed, every line of it");
    } else if (word == "--memory" || word == "--budget") {
      const std::string value = i + 1 < argc ? argv[++i] : "";
      if (word == "--memory" ? !assay::cli::parse_bytes(value, options.limits.memory.emplace())
                             : !assay::cli::parse_work(value, options.limits.work.emplace()))
        return usage(std::string(word) + " takes a " + (word == "--memory" ? "size such as 512MiB" : "number above 0 such as 1e12"));
    } else if (const std::string name(word.substr(0, word.find('='))); is_edit(name)) {
      const std::string value(word != name ? word.substr(name.size() + 1) : i + 1 < argc ? argv[++i] : "");
      if (auto added = options.limits.edits.add(name, value); !added)
        return usage(name + " takes " + added.rejection().required + ", not " + added.rejection().found + "; " + added.rejection().advice);
    } else if (word == "--threads") {
      const std::string_view value(i + 1 < argc ? argv[++i] : "");
      std::size_t& threads = options.limits.threads;
      const auto [end, fault] = std::from_chars(value.data(), value.data() + value.size(), threads);
      if (fault != std::errc{} || end != value.data() + value.size() || threads < 1 || threads > kMostThreads)
        return usage("--threads takes a number from 1 to " + std::to_string(kMostThreads));
    } else if (word == "--help" || word == "-h") {
      std::fputs(kHelp, stdout);
      return assay::cli::kExitYes;
    } else if (word == "--version" || word == "--name") {
      std::puts(word == "--version" ? assay::cli::version_text("assay-check").c_str() : "assay-check");
      return assay::cli::kExitYes;
    } else {
      return usage("unknown option " + std::string(word));
    }
  }
  if (files.size() == 1 && std::filesystem::is_directory(files[0]))
    return usage(std::string(files[0]) + " is a folder; `assay check " + files[0] + "` checks the run in it");
  if (files.size() != 2 && files.size() != 3)
    return usage("two or three files are needed, " + std::to_string(files.size()) +
                 " given; name MODEL PROPERTY CERTIFICATE, or STATEMENT CERTIFICATE");
  const std::string property = files.size() == 3 ? files[1] : "";
  const assay::cli::CheckReport report = assay::cli::check_files(files[0], property, files.back(), options);
  const int exit = assay::cli::exit_code(report);
  if (exit == assay::cli::kExitBadInput) {
    const std::string wrong_use = assay::cli::misplaced("assay-check", files[0], property, files.back());
    if (!wrong_use.empty()) return usage(wrong_use);
  }
  assay::cli::print_report("assay-check", report, full);
  return exit;
}

}  // namespace

int main(int argc, char** argv) { return assay::cli::guarded("assay-check", run, argc, argv); }
