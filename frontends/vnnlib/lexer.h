// Tokens of the S-expressions in which both versions of VNN-LIB are written, and the place of each in the file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "semantics/outcome.h"

namespace assay::vnnlib {

struct Position {
  std::uint32_t line = 1, column = 1;  // counted from 1, columns in bytes
};

struct Token {
  enum class Kind : std::uint8_t { open, close, open_bracket, close_bracket, comma, word, quoted, end, stray };
  Kind kind = Kind::end;
  std::string_view text;  // points into the source; without the quotes for `quoted`
  Position at;
};

// The token as a message names it: printable ASCII, cut to a readable length.
[[nodiscard]] std::string describe(const Token& token);

// Advice on a token that may not stand where it was found. The end of the file and bytes that are no text have advice of their
// own.
[[nodiscard]] std::string advice_on(const Token& found, std::string otherwise);

// Reads token by token, by the white space and the comments of SMT-LIB: a comment runs from ';' to the next line feed or carriage return.
// Text that SMT-LIB and other readers of VNN-LIB take apart differently is stray: |symbols|, and quotes with \ or "" in them.
// The source must outlive the lexer.
class Lexer {
 public:
  explicit Lexer(std::string_view source);
  [[nodiscard]] const Token& peek() const { return current_; }
  Token take();

 private:
  void advance();
  void skip_blank();
  [[nodiscard]] Token token(Token::Kind kind, const char* from, const char* to) const;

  const char* cursor_;
  const char* end_;
  const char* line_start_;
  std::uint32_t line_ = 1;
  Token current_;
};

// Keeps the first complaint about a file. The reporting functions return false, so that a reader can return them.
class Diagnostics {
 public:
  explicit Diagnostics(std::string file) : file_(std::move(file)) {}
  bool malformed(Position at, std::string code, std::string required, std::string found, std::string advice = {});
  bool unsupported(Position at, std::string code, std::string required, std::string found, std::string advice = {});
  // A complaint about the file as a whole.
  bool malformed_file(std::string code, std::string required, std::string found, std::string advice = {});
  bool unsupported_file(std::string code, std::string required, std::string found, std::string advice = {});
  // Declined: what the file asks for takes more than its part of the memory.
  bool too_large(std::optional<Position> at, std::string code, std::string required, std::string found);
  [[nodiscard]] const std::optional<Rejection>& first() const { return first_; }

 private:
  bool keep(Rejection::Kind kind, std::string place, std::string code, std::string required, std::string found, std::string advice);
  [[nodiscard]] std::string place(Position at) const;
  std::string file_;
  std::optional<Rejection> first_;
};

// The memory that remains for the objects that a property makes of its text, since nested disjunctions multiply. Each object is
// charged once when it is made or copied, so that this bounds the time, too.
class Room {
 public:
  Room(std::uint64_t bytes, Diagnostics& diagnostics) : all_(bytes), left_(bytes), diagnostics_(diagnostics) {}
  // False, after a complaint, where there is no room for them.
  bool take(std::uint64_t count, std::uint64_t bytes_each, std::optional<Position> at, const char* what);

 private:
  std::uint64_t all_, left_;
  Diagnostics& diagnostics_;
};

// Takes the next token if it is of this kind; otherwise complains that `wanted` was required.
bool expect(Lexer& lexer, Diagnostics& diagnostics, Token::Kind kind, const char* wanted);

}  // namespace assay::vnnlib
