#include "frontends/vnnlib/lexer.h"

#include <algorithm>
#include <array>
#include <utility>

namespace assay::vnnlib {
namespace {

constexpr std::size_t kShownCharacters = 40;  // of a token, in a message

constexpr std::array<bool, 256> make_word_table() {
  std::array<bool, 256> table{};
  for (std::size_t c = 0x21; c <= 0x7e; ++c) table[c] = true;
  for (const unsigned char c : {'(', ')', '[', ']', ',', ';', '"', '|'}) table[c] = false;
  return table;
}

constexpr std::array<bool, 256> kIsWord = make_word_table();

bool is_word(char c) { return kIsWord[static_cast<unsigned char>(c)]; }

// SMT-LIB's line-breaking characters: a comment ends at either.
bool is_break(char c) { return c == '\n' || c == '\r'; }

std::string hexadecimal(unsigned char byte) {
  static constexpr const char* kDigits = "0123456789abcdef";
  return std::string("0x") + kDigits[byte >> 4] + kDigits[byte & 15];
}

}  // namespace

std::string describe(const Token& token) {
  if (token.kind == Token::Kind::end) return "the end of the file";
  if (token.kind == Token::Kind::stray) {
    const char c = token.text.front();
    if (c == '|') return "a quoted symbol, |...|";
    if (c == '"') return token.text.size() == 1 ? "a quote that is never closed" : "quotes with a backslash or a doubled quote in them";
    return "the byte " + hexadecimal(static_cast<unsigned char>(c));
  }
  std::string shown(token.text.substr(0, kShownCharacters));
  for (char& c : shown) c = c >= 0x20 && c <= 0x7e ? c : '?';
  return "\"" + shown + "\"" + (token.text.size() > kShownCharacters ? " ..." : "");
}

std::string advice_on(const Token& found, std::string otherwise) {
  if (found.kind == Token::Kind::end) return "the file is cut off or a parenthesis is not closed";
  if (found.kind != Token::Kind::stray) return otherwise;
  if (found.text.front() == '|') return "write the name without the bars";
  if (found.text.size() > 1) return "readers differ on what these mean: rename the tensor, or declare all of them without ONNX names";
  return found.text.front() == '"' ? "close the quote on its line"
                                   : "a property is plain ASCII text: is this another file, or saved in another encoding?";
}

Lexer::Lexer(std::string_view source) : cursor_(source.data()), end_(source.data() + source.size()), line_start_(source.data()) {
  advance();
}

Token Lexer::take() {
  const Token taken = current_;
  advance();
  return taken;
}

void Lexer::skip_blank() {
  for (; cursor_ != end_; ++cursor_) {
    if (*cursor_ == ';') cursor_ = std::find_if(cursor_, end_, is_break);
    if (cursor_ == end_) return;
    const bool is_first_of_two = *cursor_ == '\r' && cursor_ + 1 != end_ && cursor_[1] == '\n';
    if (is_break(*cursor_) && !is_first_of_two) {
      ++line_;
      line_start_ = cursor_ + 1;
    } else if (*cursor_ != ' ' && *cursor_ != '\t' && !is_first_of_two) {
      return;
    }
  }
}

Token Lexer::token(Token::Kind kind, const char* from, const char* to) const {
  const Position at{line_, static_cast<std::uint32_t>(from - line_start_ + 1)};
  return {kind, std::string_view(from, static_cast<std::size_t>(to - from)), at};
}

void Lexer::advance() {
  skip_blank();
  const char* const from = cursor_;
  if (from == end_) {
    current_ = token(Token::Kind::end, from, from);
    return;
  }
  if (is_word(*from)) {
    while (cursor_ != end_ && is_word(*cursor_)) ++cursor_;
    current_ = token(Token::Kind::word, from, cursor_);
    return;
  }
  ++cursor_;
  if (*from != '"') {
    constexpr std::string_view kPunctuation = "()[],";  // in the order of Token::Kind
    const std::size_t which = kPunctuation.find(*from);
    current_ = token(which == std::string_view::npos ? Token::Kind::stray : static_cast<Token::Kind>(which), from, cursor_);
    return;
  }
  const char* const close = std::find_if(cursor_, end_, [](char c) { return c == '"' || c == '\\' || is_break(c); });
  const bool is_closed = close != end_ && !is_break(*close);
  if (!is_closed || *close == '\\' || (close + 1 != end_ && close[1] == '"')) {
    current_ = token(Token::Kind::stray, from, is_closed ? close + 1 : cursor_);
    return;
  }
  current_ = token(Token::Kind::quoted, from, close);
  current_.text.remove_prefix(1);
  cursor_ = close + 1;
}

std::string Diagnostics::place(Position at) const {
  return file_ + ", line " + std::to_string(at.line) + ", column " + std::to_string(at.column);
}

bool Diagnostics::keep(Rejection::Kind kind, std::string where, std::string code, std::string required, std::string found,
                       std::string advice) {
  if (!first_) first_ = Rejection{kind, "vnnlib." + code, std::move(where), std::move(required), std::move(found), std::move(advice)};
  return false;
}

bool Diagnostics::malformed(Position at, std::string code, std::string required, std::string found, std::string advice) {
  return keep(Rejection::Kind::malformed, place(at), std::move(code), std::move(required), std::move(found), std::move(advice));
}

bool Diagnostics::unsupported(Position at, std::string code, std::string required, std::string found, std::string advice) {
  return keep(Rejection::Kind::unsupported, place(at), std::move(code), std::move(required), std::move(found), std::move(advice));
}

bool Diagnostics::malformed_file(std::string code, std::string required, std::string found, std::string advice) {
  return keep(Rejection::Kind::malformed, file_, std::move(code), std::move(required), std::move(found), std::move(advice));
}

bool Diagnostics::unsupported_file(std::string code, std::string required, std::string found, std::string advice) {
  return keep(Rejection::Kind::unsupported, file_, std::move(code), std::move(required), std::move(found), std::move(advice));
}

bool Diagnostics::too_large(std::optional<Position> at, std::string code, std::string required, std::string found) {
  return keep(Rejection::Kind::declined, at ? place(*at) : file_, std::move(code), std::move(required), std::move(found),
              "split the property into several files, or allow more with --memory");
}

bool Room::take(std::uint64_t count, std::uint64_t bytes_each, std::optional<Position> at, const char* what) {
  if (count <= left_ / bytes_each) {
    left_ -= count * bytes_each;
    return true;
  }
  return diagnostics_.too_large(
      at, "too_many_cases", what + std::string(" within ") + std::to_string(all_) + " bytes for the property's cases",
      std::to_string(count) + " times " + std::to_string(bytes_each) + " more, where " + std::to_string(left_) + " are left");
}

namespace {

const char* advice_where(Token::Kind wanted, Token::Kind found) {
  switch (wanted) {
    case Token::Kind::open:
      return found == Token::Kind::close ? "is there one \")\" too many before it?" : "commands and formulas stand in parentheses";
    case Token::Kind::close:
      return "is a \")\" missing before it, or does too much stand in these parentheses?";
    case Token::Kind::open_bracket:
      return "write shapes and indices in brackets: [1,5], and [] for a scalar";
    default:
      return "separate extents and indices by commas: [1,5]";
  }
}

}  // namespace

bool expect(Lexer& lexer, Diagnostics& diagnostics, Token::Kind kind, const char* wanted) {
  if (lexer.peek().kind != kind) {
    const Token& found = lexer.peek();
    return diagnostics.malformed(found.at, "syntax", wanted, describe(found), advice_on(found, advice_where(kind, found.kind)));
  }
  lexer.take();
  return true;
}

}  // namespace assay::vnnlib
