#include "frontends/vnnlib/read.h"

#include <utility>

#include "frontends/files.h"
#include "frontends/vnnlib/cases.h"
#include "frontends/vnnlib/formula.h"
#include "frontends/vnnlib/lexer.h"
#include "frontends/vnnlib/signature.h"

namespace assay::vnnlib {
namespace {

using Kind = Token::Kind;

constexpr std::uint64_t kPartOfCases = 2;  // of the memory; the network and its bounds need the rest

class QueryReader {
 public:
  QueryReader(std::string_view text, Diagnostics& diagnostics, Signature& signature, std::string network_name, Polynomials polynomials,
              std::uint64_t memory)
      : lexer_(text),
        diagnostics_(diagnostics),
        signature_(signature),
        network_name_(std::move(network_name)),
        room_(memory / kPartOfCases, diagnostics),
        formulas_(lexer_, diagnostics, signature, polynomials, room_) {}

  bool read(PropertyFile& file);

 private:
  bool read_version(std::string& version);
  bool read_command();

  Lexer lexer_;
  Diagnostics& diagnostics_;
  Signature& signature_;
  std::string network_name_;
  Room room_;
  FormulaReader formulas_;
  Conjunction region_;  // the assertions so far
  bool has_assertion_ = false;
};

// (vnnlib-version <2.0>), with the lexer behind the word; files in the wild leave the angle brackets out.
bool QueryReader::read_version(std::string& version) {
  const Token token = lexer_.take();
  std::string_view number = token.text;
  if (number.size() > 2 && number.front() == '<' && number.back() == '>') number = number.substr(1, number.size() - 2);
  if (token.kind != Kind::word || number.size() < 3 || number.find_first_not_of("0123456789.") != std::string_view::npos)
    return diagnostics_.malformed(token.at, "version", "a version such as <2.0>", describe(token),
                                  advice_on(token, "write (vnnlib-version <2.0>); a file of version 1.0 has no such line"));
  if (number.substr(0, 2) != "2.")
    return diagnostics_.unsupported(token.at, "version", "version 2.x, or a file of version 1.0 (which names none)", describe(token),
                                    "write the property in one of these versions; docs/reference/vnnlib.md says what is read");
  version = number;
  return expect(lexer_, diagnostics_, Kind::close, "\")\"");
}

// One (declare-...) or (assert ...), with the lexer behind the opening parenthesis.
bool QueryReader::read_command() {
  const Token word = lexer_.take();
  if (word.kind != Kind::word)
    return diagnostics_.malformed(word.at, "syntax", "a declaration or an assertion", describe(word),
                                  advice_on(word, "a file is a list of declarations, (declare-... ), and assertions, (assert ...)"));
  if (word.text == "assert") {
    has_assertion_ = true;
    return formulas_.read_into(region_) && expect(lexer_, diagnostics_, Kind::close, "\")\" after the formula of an assertion");
  }
  const std::string_view declaration = signature_.is_version_1() ? "declare-const" : "declare-network";
  if (word.text == declaration) {
    if (has_assertion_ && !signature_.is_version_1())
      return diagnostics_.malformed(word.at, "syntax", "all networks declared before the first assertion", describe(word),
                                    "move the declaration above the first (assert ...)");
    const bool read = signature_.is_version_1() ? signature_.read_constant(lexer_, diagnostics_)
                                                : signature_.read_network(lexer_, diagnostics_, network_name_);
    return read && expect(lexer_, diagnostics_, Kind::close, "\")\" after a declaration");
  }
  if (word.text == "declare-network" || word.text == "vnnlib-version")
    return diagnostics_.malformed(
        word.at, "version", "(vnnlib-version <2.0>) once, before everything else", describe(word),
        "begin the file with (vnnlib-version <2.0>); without it the file is one of version 1.0, which has (declare-const ...)");
  return diagnostics_.unsupported(word.at, "unknown_command", std::string(declaration) + " or assert", describe(word),
                                  word.text == "declare-const" ? "version 2 declares tensors inside (declare-network ...)"
                                                               : "leave it out: a property consists of declarations and assertions alone");
}

bool QueryReader::read(PropertyFile& file) {
  file.version = "1.0";
  for (bool first = true; lexer_.peek().kind != Kind::end; first = false) {
    if (!expect(lexer_, diagnostics_, Kind::open, "\"(\"")) return false;
    if (first && lexer_.peek().kind == Kind::word && lexer_.peek().text == "vnnlib-version") {
      lexer_.take();
      signature_.set_version_1(false);
      if (!read_version(file.version)) return false;
    } else if (!read_command()) {
      return false;
    }
  }
  if (!signature_.check_complete(diagnostics_)) return false;
  if (!has_assertion_)
    return diagnostics_.malformed(lexer_.peek().at, "no_assertion", "at least one assertion", "none", "the file is empty or cut off");
  signature_.describe_to(file);
  if (formulas_.left_out() > 0) {
    file.notes.push_back(std::to_string(formulas_.left_out()) + (formulas_.left_out() == 1 ? " comparison" : " comparisons") +
                         " of polynomials left out: what is said holds on the larger region that the others describe");
  }
  if (const Products& products = formulas_.products(); !products.empty()) {
    auto graph = products.graph();
    if (!graph) return diagnostics_.unsupported_file(graph.rejection().code, graph.rejection().required, graph.rejection().found);
    file.graph = std::move(graph).value();
  }
  return build_cases(region_, formulas_.literals(), signature_, diagnostics_, room_, file.property, file.notes);
}

Outcome<PropertyFile> read_with_digest(std::string_view text, const std::string& name, const statement::Digest& sha256,
                                       std::uint64_t stored, std::span<const NetworkShape> networks, Polynomials polynomials,
                                       const MemoryRule& memory) {
  constexpr std::size_t kShownName = 400;  // characters
  Diagnostics diagnostics(printable(name, kShownName));
  PropertyFile file;
  file.source = {"property", name, sha256};
  file.stored = stored;
  if (networks.size() > 1) {
    diagnostics.unsupported_file("multiple_networks", "one network", std::to_string(networks.size()) + " networks",
                                 "join the networks into one model with several inputs and outputs");
    return *diagnostics.first();
  }
  std::optional<Signature> signature = Signature::of_network(networks.empty() ? nullptr : networks.front().graph, diagnostics);
  if (!signature) return *diagnostics.first();
  QueryReader reader(text, diagnostics, *signature, networks.front().name, polynomials, memory.of(stored));
  if (!reader.read(file)) return *diagnostics.first();
  return file;
}

}  // namespace

Outcome<PropertyFile> read_property(const std::string& path, std::span<const NetworkShape> networks, Polynomials polynomials,
                                    const MemoryRule& memory) {
  constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 30;  // ten times the largest property of the competition
  Outcome<FileContents> contents = read_file(path, {kMaxBytes, kMaxBytes});
  if (!contents) return contents.rejection();
  const std::vector<std::byte>& bytes = contents.value().bytes;
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  return read_with_digest(text, path, contents.value().sha256, contents.value().stored, networks, polynomials, memory);
}

Outcome<PropertyFile> read_property_text(std::string_view text, const std::string& file, std::span<const NetworkShape> networks,
                                         Polynomials polynomials, const MemoryRule& memory) {
  return read_with_digest(text, file, statement::sha256(std::as_bytes(std::span(text))), text.size(), networks, polynomials, memory);
}

}  // namespace assay::vnnlib
