// The lexer of properties beside a second one, written here from SMT-LIB's standard (section 3.1, the same in 2.6 and 2.7) with
// the brackets and commas of VNN-LIB 2. On random streams of tokens, white space, comments and line ends both find the same
// tokens at the same places. At the start of SMT-LIB's quoting, which readers of VNN-LIB take apart differently, the project's
// lexer stops.
#include <random>
#include <vector>

#include "frontends/vnnlib/lexer.h"
#include "tests/catch.h"
#include "tests/frontends/vnnlib_support.h"

using namespace assay;
using namespace assay::vnnlib_test;
using vnnlib::Token;

namespace {

struct Found {
  Token::Kind kind;
  std::string text;
  std::uint32_t line, column;
  bool operator==(const Found&) const = default;
};

// Reads with a line and a column per byte, found beforehand: nothing in common with how the lexer counts.
class Second {
 public:
  explicit Second(const std::string& text) : text_(text) {
    std::uint32_t line = 1, column = 1;
    for (std::size_t i = 0; i <= text.size(); ++i) {
      places_.push_back({line, column++});
      const bool ends_line = i < text.size() && (text[i] == '\n' || (text[i] == '\r' && (i + 1 == text.size() || text[i + 1] != '\n')));
      if (ends_line) ++line, column = 1;
    }
  }

  std::vector<Found> all() {
    std::vector<Found> found;
    for (std::size_t at = 0; found.empty() || (found.back().kind != Token::Kind::end && found.back().kind != Token::Kind::stray);)
      at = next(at, found);
    return found;
  }

 private:
  char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }

  std::size_t next(std::size_t i, std::vector<Found>& found) {
    const auto add = [&](Token::Kind kind, std::size_t from, std::size_t to) {
      found.push_back({kind, text_.substr(from, to - from), places_[i].first, places_[i].second});
      return to;
    };
    if (i >= text_.size()) return add(Token::Kind::end, i, i);
    switch (text_[i]) {
      case 9:
      case 10:
      case 13:
      case 32:
        return i + 1;
      case ';':
        while (i < text_.size() && text_[i] != 10 && text_[i] != 13) ++i;
        return i;
      case '(':
        return add(Token::Kind::open, i, i + 1);
      case ')':
        return add(Token::Kind::close, i, i + 1);
      case '[':
        return add(Token::Kind::open_bracket, i, i + 1);
      case ']':
        return add(Token::Kind::close_bracket, i, i + 1);
      case ',':
        return add(Token::Kind::comma, i, i + 1);
      case '"':
        return string(i, add);
      default:
        break;
    }
    std::size_t to = i;
    while (to < text_.size() && text_[to] > 32 && text_[to] < 127 && std::string("()[],;\"|").find(text_[to]) == std::string::npos) ++to;
    return to == i ? add(Token::Kind::stray, i, i + 1) : add(Token::Kind::word, i, to);
  }

  // A string literal of SMT-LIB ends at a quote that no quote follows; one that holds a line break, a backslash or two quotes is refused.
  std::size_t string(std::size_t i, const auto& add) const {
    std::size_t to = i + 1;
    while (to < text_.size() && (text_[to] != '"' || at(to + 1) == '"')) to += text_[to] == '"' ? 2 : 1;
    const std::string inside = text_.substr(i + 1, to - i - 1);
    const bool plain = to < text_.size() && inside.find_first_of("\n\r\\\"") == std::string::npos;
    if (!plain) return add(Token::Kind::stray, i, text_.size());
    add(Token::Kind::quoted, i + 1, to);
    return to + 1;
  }

  const std::string& text_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places_;
};

std::string shown(const std::string& text) {
  std::string shown;
  for (const char c : text) shown += c > 31 && c < 127 ? std::string(1, c) : "<" + std::to_string(static_cast<unsigned char>(c)) + ">";
  return shown;
}

class Stream {
 public:
  explicit Stream(unsigned seed) : random_(seed) {}

  std::string text() {
    std::string text;
    for (std::size_t pieces = below(30); pieces > 0; --pieces) text += below(2) == 0 ? blank() : token();
    return text;
  }

  std::string blank() {
    static const std::vector<std::string> kBlanks{" ", "\t", "\n", "\r", "\r\n", "\n\r", "\r\r\n", "  ", " \r ", ""};
    if (below(3) != 0) return kBlanks[below(kBlanks.size())];
    std::string comment = ";";
    for (std::size_t length = below(12); length > 0; --length) {
      const char c = static_cast<char>(below(256));
      if (c != '\n' && c != '\r') comment += below(3) == 0 ? "()|\";\\"[below(6)] : c;
    }
    return comment + std::vector<std::string>{"\n", "\r", "\r\n", "\n\r", "\r\r"}[below(5)];
  }

 private:
  std::size_t below(std::size_t count) { return random_() % count; }

  std::string word() {
    static const std::vector<std::string> kWords{"assert", "<=", "X_0", "-1.5e-3", "real", "<2.0>", ":onnx", "*", "Y", "0"};
    std::string word = below(3) != 0 ? kWords[below(kWords.size())] : "";
    for (std::size_t length = word.empty() ? 1 + below(5) : 0; length > 0; --length) word += "az09AZ~!@$%^&*_-+=<>.?/:#'{}`\\"[below(30)];
    return word;
  }

  std::string quoted() {
    std::string inside;
    static const std::vector<std::string> kInside{"a", "/", ";", "(", "|", " ", "\t", "\xc3\xa9", ",", "]", "\x85", "\xe2\x80\xa8"};
    static const std::vector<std::string> kRefused{"\\", "\\\"", "\"\"", "\n", "\r", "\r\n", "\\\\"};
    for (std::size_t length = below(5); length > 0; --length)
      inside += below(12) != 0 ? kInside[below(kInside.size())] : kRefused[below(kRefused.size())];
    return below(20) == 0 ? "|" + inside + "|" : "\"" + inside + (below(20) == 0 ? "" : "\"");
  }

  std::string token() {
    static const std::vector<std::string> kStrays{"\v", "\f", std::string(1, '\0'), "\x85", "\xc2\xa0", "\x7f", "|a ; b|", "\xff", "\x1b"};
    if (below(40) == 0) return kStrays[below(kStrays.size())];
    const std::size_t kind = below(4);
    return kind == 0 ? quoted() : kind == 1 ? std::string(1, "()[],"[below(5)]) : word() + (below(4) == 0 ? "" : blank() + " ");
  }

  std::mt19937 random_;
};

std::vector<Found> tokens_of(const std::string& text) {
  std::vector<Found> found;
  for (vnnlib::Lexer lexer(text);;) {
    const Token token = lexer.take();
    found.push_back({token.kind, std::string(token.text), token.at.line, token.at.column});
    if (token.kind == Token::Kind::end || token.kind == Token::Kind::stray) return found;
  }
}

}  // namespace

TEST_CASE("vnnlib: the lexer finds what a second lexer finds, in random streams", "[vnnlib]") {
  std::size_t tokens = 0, strays = 0;
  for (unsigned seed = 0; seed < 40'000; ++seed) {
    const std::string text = Stream(seed).text();
    std::vector<Found> ours = tokens_of(text), theirs = Second(text).all();
    const bool is_stray = ours.back().kind == Token::Kind::stray;
    if (is_stray && theirs.back().kind == Token::Kind::stray) theirs.back().text = ours.back().text;  // how much of it is shown
    INFO("seed " << seed << ", text " << shown(text));
    REQUIRE(ours == theirs);
    tokens += ours.size();
    strays += is_stray ? 1 : 0;
  }
  CHECK(tokens > 200'000);
  CHECK(strays > 4'000);
  CHECK(strays < 20'000);
}

TEST_CASE("vnnlib: white space and comments change nothing of a property, in both versions", "[vnnlib]") {
  const Graph graph = network({1, 1}, {1, 1});
  const std::vector<std::string> old{"(",
                                     "declare-const",
                                     "X_0",
                                     "Real",
                                     ")",
                                     "(",
                                     "declare-const",
                                     "Y_0",
                                     "Real",
                                     ")",
                                     "(",
                                     "assert",
                                     "(",
                                     "<=",
                                     "X_0",
                                     "1",
                                     ")",
                                     ")",
                                     "(",
                                     "assert",
                                     "(",
                                     ">=",
                                     "X_0",
                                     "0",
                                     ")",
                                     ")",
                                     "(",
                                     "assert",
                                     "(",
                                     ">=",
                                     "Y_0",
                                     "5",
                                     ")",
                                     ")"};
  const std::vector<std::string> next{"(",
                                      "vnnlib-version",
                                      "<2.0>",
                                      ")",
                                      "(",
                                      "declare-network",
                                      "f",
                                      "(",
                                      "declare-input",
                                      "X",
                                      "real",
                                      "[",
                                      "1",
                                      ",",
                                      "1",
                                      "]",
                                      "\"in\"",
                                      ")",
                                      "(",
                                      "declare-output",
                                      "Y",
                                      "real",
                                      "[",
                                      "1",
                                      ",",
                                      "1",
                                      "]",
                                      "\"out\"",
                                      ")",
                                      ")",
                                      "(",
                                      "assert",
                                      "(",
                                      "and",
                                      "(",
                                      "<=",
                                      "X",
                                      "[",
                                      "0",
                                      ",",
                                      "0",
                                      "]",
                                      "1",
                                      ")",
                                      "(",
                                      ">=",
                                      "X",
                                      "[",
                                      "0",
                                      ",",
                                      "0",
                                      "]",
                                      "0",
                                      ")",
                                      "(",
                                      ">=",
                                      "Y",
                                      "[",
                                      "0",
                                      ",",
                                      "0",
                                      "]",
                                      "5",
                                      ")",
                                      ")",
                                      ")"};
  for (unsigned seed = 0; seed < 400; ++seed) {
    Stream stream(seed);
    std::string text = stream.blank();
    for (const std::string& token : seed % 2 == 0 ? old : next)
      text += token + stream.blank() + (seed % 4 < 2 ? " " : "\r") + stream.blank();
    INFO("text " << shown(text));
    const auto read = read_text(text, graph);
    REQUIRE(read.ok());
    REQUIRE(read.value().property.cases.size() == 1);
    const statement::Case& only = read.value().property.cases[0];
    CHECK(only.box->lo[0] == Rational(0));
    CHECK(only.box->hi[0] == Rational(1));
    REQUIRE(only.rows.size() == 1);
    CHECK(only.rows[0].bound == Rational(-5));
  }
}

TEST_CASE("vnnlib: quoting that readers take apart differently is refused by its name", "[vnnlib]") {
  const Graph graph = network({1}, {1});
  const auto advice = [&](const std::string& text) {
    const auto read = read_text(text, graph);
    return read.ok() ? std::string("read") : read.rejection().code + ": " + read.rejection().found + "; " + read.rejection().advice;
  };
  CHECK(advice("(declare-const |X_0| Real)") == "vnnlib.variable_name: a quoted symbol, |...|; write the name without the bars");
  const std::string tensor = "(vnnlib-version <2.0>)(declare-network f (declare-input X real [1] ";
  const std::string refused = "quotes with a backslash or a doubled quote in them; readers differ on what these mean";
  CHECK(advice(tensor + R"("in\"))").find(refused) != std::string::npos);
  CHECK(advice(tensor + R"("i""n"))").find(refused) != std::string::npos);
  CHECK(advice(tensor + "\"in\r\"))").find("a quote that is never closed") != std::string::npos);
}
