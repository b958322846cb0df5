#include "formats/datasets/csv_rows.h"

#include <algorithm>
#include <vector>

namespace assay::formats {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

char separator_of(std::string_view line) {
  for (const char one : {',', ';', '\t'}) {
    if (line.find(one) != std::string_view::npos) return one;
  }
  return ' ';
}

// Reads fields from a place on. A row's strings are used again for the next row.
class Rows {
 public:
  explicit Rows(std::string_view text) : text_(text) {}
  [[nodiscard]] bool done() const { return at_ >= text_.size(); }
  [[nodiscard]] std::string_view line() const { return trimmed(text_.substr(at_, text_.find('\n', at_) - at_)); }
  [[nodiscard]] std::size_t number() const { return number_; }
  [[nodiscard]] std::span<const std::string> fields() const { return std::span(fields_).first(used_); }

  void skip_line() {
    at_ = text_.find('\n', at_);
    end_line();
  }

  // False: a quote is at fault.
  bool read_row(char separator) {
    used_ = 0;
    for (;; ++at_) {
      skip_blanks(separator);
      if (used_ > 0 && separator == ' ' && is_at_end()) break;  // blanks behind the last field
      if (used_ == fields_.size()) fields_.emplace_back();
      if (!read_field(separator, fields_[used_++])) return false;
      if (is_at_end()) break;
    }
    end_line();
    return true;
  }

 private:
  [[nodiscard]] bool is_at_end() const { return done() || text_[at_] == '\n'; }
  void end_line() {
    at_ = at_ >= text_.size() ? text_.size() : at_ + 1;
    ++number_;
  }
  void skip_blanks(char separator) {
    while (!done() && is_blank(text_[at_]) && (text_[at_] != separator || separator == ' ')) ++at_;
  }

  bool read_field(char separator, std::string& field) {
    field.clear();
    if (done() || text_[at_] != '"') {
      const std::size_t start = at_;
      while (!is_at_end() && text_[at_] != separator) ++at_;
      field = trimmed(text_.substr(start, at_ - start));
      return true;
    }
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '\n') ++number_;
      if (text_[at_] != '"') {
        field += text_[at_];
      } else if (at_ + 1 < text_.size() && text_[at_ + 1] == '"') {
        field += text_[++at_];
      } else {
        ++at_;
        if (separator != ' ') skip_blanks(separator);
        while (!done() && text_[at_] == '\r') ++at_;
        return is_at_end() || text_[at_] == separator;
      }
    }
    return false;
  }

  std::string_view text_;
  std::size_t at_ = 0, number_ = 1, used_ = 0;
  std::vector<std::string> fields_;
};

}  // namespace

Outcome<Done> for_each_row(std::string_view text, std::optional<char> separator,
                           const std::function<Outcome<Done>(std::size_t line, std::span<const std::string> fields)>& take) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  for (Rows rows(text); !rows.done();) {
    const std::string_view line = rows.line();
    if (line.empty() || line.starts_with("#")) {
      rows.skip_line();
      continue;
    }
    const std::size_t number = rows.number();
    if (!rows.read_row(separator ? *separator : separator_of(line)))
      return Rejection{Rejection::Kind::malformed,       "csv.quote",
                       "line " + std::to_string(number), "quotes around a whole field",
                       "a quote inside of a field",      "double a quote that is part of a field"};
    for (const std::string& field : rows.fields()) {
      if (field.find('\0') != std::string::npos)
        return Rejection{Rejection::Kind::malformed, "csv.nul", "line " + std::to_string(number), "text", "a NUL byte", ""};
    }
    if (auto taken = take(number, rows.fields()); !taken) return taken.rejection();
  }
  return Done{};
}

}  // namespace assay::formats
