#include "cli/assay/slurm.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "cli/assay/interruption.h"
#include "cli/assay/report.h"

namespace assay::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kSchema = "assay.slurm/1";

// For a shell.
std::string shell_word(const std::string& word) {
  std::string text = "'";
  for (const char c : word) text += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return text + "'";
}

// The words of this process's command line behind the verb that are about the question; where the results go, each job says itself.
std::string question() {
  constexpr std::array<std::string_view, 7> kOwn{"--run", "--slurm", "--sbatch", "--json", "--resume", "--stream", "--quiet"};
  constexpr std::size_t kTakeWord = 3;  // the first ones take a word
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  std::string text;
  for (std::size_t i = 1; i < words.size(); ++i) {
    const std::string name = words[i].substr(0, words[i].find('='));
    std::size_t own = 0;
    while (own < kOwn.size() && name != kOwn[own]) ++own;
    if (own < kTakeWord && name == words[i]) ++i;
    if (own == kOwn.size() && words[i] != "-q") text += (text.empty() ? "" : " ") + shell_word(words[i]);
  }
  return text;
}

struct Submitted {
  std::string job, trouble;  // one of the two
};

Submitted sbatch(const std::string& words) {
  std::FILE* pipe = ::popen(("sbatch --parsable " + words + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {"", "sbatch could not be started"};
  std::string text;
  std::array<char, 256> buffer{};
  while (std::fgets(buffer.data(), buffer.size(), pipe) != nullptr) text += buffer.data();
  const int status = ::pclose(pipe);
  while (text.ends_with('\n')) text.pop_back();
  const bool ended_well = WIFEXITED(status) && WEXITSTATUS(status) == 0;
  std::string job = text.substr(text.find_last_of('\n') + 1);  // behind warnings
  job = job.substr(0, job.find(';'));                          // with the name of a cluster behind it, where there are several
  if (ended_well && !job.empty() && job.find_first_not_of("0123456789") == std::string::npos) return {job, ""};
  return {"", text.empty() ? "no number of a job" : text.substr(0, 300)};
}

int unsubmitted(const RunOptions& run, const std::string& script, const std::string& found) {
  return refuse(
      kSchema, run.json,
      {Rejection::Kind::declined, "slurm.submit", script, "a job that sbatch takes", found, "the scripts stay: submit them by hand"});
}

}  // namespace

int submit(const char* verb, const RunOptions& run) {
  if (run.folder.empty() || !run.part.empty())
    return wrong_use(verb,
                     {Rejection::Kind::malformed, "run.options", "--slurm", "--run FOLDER, and no --part", "another command line", ""});
  std::error_code error;
  const fs::path folder = fs::absolute(run.folder, error), scripts = folder / "slurm";
  fs::create_directories(scripts, error);
  fs::create_directories(folder / "parts", error);
  const std::string head = "#!/bin/sh\n#SBATCH --job-name=assay-" + std::string(verb) + "\n#SBATCH --requeue\n#SBATCH --open-mode=append\n";
  const std::string here = "cd " + shell_word(fs::current_path().string()) + " || exit 4\n";
  const std::string assay = shell_word(fs::read_symlink("/proc/self/exe", error).string()), asked = question();
  const std::string all = std::to_string(run.slurm), parts = shell_word((folder / "parts").string());
  const std::string array = (scripts / "array.sh").string(), join = (scripts / "join.sh").string();
  for (const std::string& script : {array, join}) fs::remove(script, error);  // a link leads elsewhere
  const bool written =
      !error &&
      write_file(array, head + "#SBATCH --array=1-" + all + "\n#SBATCH --output=" + (scripts / "%a.log").string() + "\n" + here + "exec " +
                            assay + " " + asked + " --part \"$SLURM_ARRAY_TASK_ID/" + all + "\" --run " + parts +
                            "/\"$SLURM_ARRAY_TASK_ID\" --resume --quiet\n") &&
      write_file(join, head + "#SBATCH --output=" + (scripts / "join.log").string() + "\n" + here +
                           "# What lost tasks left open is decided here.\n" + assay + " gather " + shell_word(folder.string()) + " " +
                           parts + "/* || exit\nexec " + assay + " " + asked + " --run " + shell_word(folder.string()) +
                           " --resume --quiet --json=" + shell_word((folder / "report.json").string()) + "\n");
  if (!written) return unsubmitted(run, array, "it cannot be written");
  std::string options;
  for (const std::string& word : run.slurm_options) options += shell_word(word) + " ";
  const Submitted first = sbatch(options + shell_word(array));
  if (first.job.empty()) return unsubmitted(run, array, first.trouble);
  const Submitted second = sbatch(options + "--dependency=afterany:" + first.job + " " + shell_word(join));
  if (second.job.empty()) return unsubmitted(run, join, second.trouble);
  conclude();
  if (run.json != "-")
    std::printf("submitted: array %s of %s parts, then %s; their results will be in %s\n", first.job.c_str(), all.c_str(),
                second.job.c_str(), folder.c_str());
  const runs::Json report{{"schema", kSchema},  {"run", folder.string()}, {"parts", run.slurm},
                          {"array", first.job}, {"join", second.job},     {"scripts", {array, join}}};
  return write_json(run.json, report.dump(2)) ? kExitYes : kExitUnwritten;
}

}  // namespace assay::cli
