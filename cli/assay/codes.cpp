#include "cli/assay/codes.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <map>

#include "cli/assay/common_options.h"
#include "cli/assay/names.h"
#include "cli/assay/report.h"
#include "cli/assay/verbs.h"

namespace assay::cli {

extern const char* const kPagesOfCodes;  // docs/reference/codes, one page after the other (cli/CMakeLists.txt)

namespace {

constexpr std::string_view kHeading = "### ", kCure = "What to do: ";

// A paragraph of Markdown on one line, with links as their texts.
std::string plain(std::string_view paragraph) {
  std::string text(paragraph);
  for (std::size_t middle = text.find("]("); middle != std::string::npos; middle = text.find("](")) {
    const std::size_t begin = text.rfind('[', middle), end = text.find(')', middle);
    if (begin == std::string::npos || end == std::string::npos) break;
    text = text.substr(0, begin) + text.substr(begin + 1, middle - begin - 1) + text.substr(end + 1);
  }
  std::ranges::replace(text, '\n', ' ');
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

std::map<std::string, CodeEntry> read_entries() {
  std::map<std::string, CodeEntry> entries;
  const std::string_view pages = kPagesOfCodes;
  for (std::size_t at = pages.find(kHeading); at != std::string_view::npos;) {
    const std::size_t next = pages.find("\n#", at);
    const std::string_view entry = pages.substr(at + kHeading.size(), next == std::string_view::npos ? next : next - at - kHeading.size());
    const std::size_t line = entry.find("\n\n"), cure = entry.find(kCure);
    if (line != std::string_view::npos && cure != std::string_view::npos) {
      const std::string code(entry.substr(0, line));
      entries[code] = {code, plain(entry.substr(line + 2, cure - line - 2)), plain(entry.substr(cure + kCure.size()))};
    }
    at = next == std::string_view::npos ? next : pages.find(kHeading, next);
  }
  return entries;
}

const std::map<std::string, CodeEntry>& entries() {
  static const std::map<std::string, CodeEntry> all = read_entries();
  return all;
}

// Of ops: S2 of gemm follows OP.S1, a domain OP.domain, and a contract contract.OP.
std::string pattern_of(const std::string& code) {
  const std::size_t dot = code.find('.');
  if (dot == std::string::npos) return "";
  const std::string family = code.substr(0, dot), rest = code.substr(dot + 1);
  if (family == "contract" && !ops_named(rest).empty()) return "contract.OP";
  if (ops_named(family).empty()) return "";
  if (rest == "domain") return "OP.domain";
  return rest.size() > 1 && rest.find_first_not_of("0123456789", 1) == std::string::npos && rest[0] == 'S' ? "OP.S1" : "";
}

int explain(const std::string& code, const JsonTarget& json) {
  const std::optional<CodeEntry> entry = entry_of(code);
  if (!entry) return usage("explain", "there is no code " + printable(code) + meant(code, all_codes()));
  if (json != "-") std::printf("%s\n\n%s\n\n%s%s\n", code.c_str(), entry->cause.c_str(), std::string(kCure).c_str(), entry->cure.c_str());
  const Facts facts{{"code", code}, {"entry", entry->code}, {"cause", entry->cause}, {"cure", entry->cure}};
  return write_json(json, facts_json("assay.explain/1", facts)) ? kExitYes : kExitUnwritten;
}

int list_codes(const JsonTarget& json) {
  std::vector<Facts> rows;
  for (const auto& [code, entry] : entries()) {
    rows.push_back({{"code", code}, {"cause", entry.cause}, {"cure", entry.cure}});
    if (json != "-") std::printf("%-32s  %s\n", code.c_str(), entry.cause.c_str());
  }
  return write_json(json, facts_json("assay.explain/1", {}, "codes", rows)) ? kExitYes : kExitUnwritten;
}

}  // namespace

std::optional<CodeEntry> entry_of(const std::string& code) {
  const auto found = entries().find(code);
  if (found != entries().end()) return found->second;
  const auto like = entries().find(pattern_of(code));
  return like == entries().end() ? std::nullopt : std::optional(like->second);
}

std::vector<std::string> all_codes() {
  std::vector<std::string> codes;
  for (const auto& [code, entry] : entries()) codes.push_back(code);
  return codes;
}

std::string meaning_of(const Rejection& why) {
  const std::optional<CodeEntry> entry = entry_of(why.code);
  return entry ? entry->cause : "";
}

void print_explained(const Rejection& why) {
  const std::optional<CodeEntry> entry = entry_of(why.code);
  Rejection told = why;
  // Where the rejection names a page or a header alone, what to do comes first. Headers are not where programs are.
  if (entry && told.advice.find(' ') == std::string::npos)
    told.advice = clause(entry->cure) + (told.advice.ends_with(".md") ? "; see " + told.advice : "");
  print_rejection(stderr, "assay", told, meaning_of(why));
}

void add_explain(CLI::App& app, int& exit) {
  static std::string code;
  static JsonTarget json;
  CLI::App* verb = app.add_subcommand("explain", "Say what the code of a refusal or finding means and what to do, or list all codes");
  verb->add_option("CODE", code, "a code such as onnx.unknown_op or conclude.S3");
  add_json(verb, json);
  verb->callback([&exit] { exit = code.empty() ? list_codes(json) : explain(code, json); });
}

}  // namespace assay::cli
