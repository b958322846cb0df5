// Outcome<T>: a value, or the one reason why there is none.
//
// Trusted layers throw no exception of their own except Stopped (interrupt.h): every entry point that reads foreign
// data returns an Outcome. The first failing side condition is reported, so the answer is deterministic.
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace assay {

// The reason why a claim, a file or a query was not accepted. All texts are ASCII, written for people; `code`
// is stable.
struct Rejection {
  enum class Kind {
    rejected,     // well-formed, and definitely not established (exit 1)
    declined,     // undecided: budget, or a semantics or rule that this kernel does not know (exit 3)
    malformed,    // undecodable or inconsistent input (exit 4)
    unsupported,  // well-formed input that uses something unknown (exit 4)
  };
  Kind kind = Kind::rejected;
  std::string code;      // rule and side condition, e.g. "relu_line.S1" or "onnx.unknown_op"
  std::string place;     // step, node, element; or file, line and column
  std::string required;  // the relation that had to hold, in symbols
  std::string found;     // both sides, exactly; or the text that was read instead
  std::string advice;    // a change that would make it work, or the page that explains the rule

  // One sentence: "place: expected ..., found ...; advice [code]".
  [[nodiscard]] std::string to_text() const;
};

template <class T>
class [[nodiscard]] Outcome {
 public:
  Outcome(T value) : content_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Outcome(Rejection why) : content_(std::in_place_index<1>, std::move(why)) {}  // NOLINT(google-explicit-constructor)

  [[nodiscard]] bool ok() const { return content_.index() == 0; }
  explicit operator bool() const { return ok(); }

  [[nodiscard]] const T& value() const& { return std::get<0>(content_); }
  [[nodiscard]] T& value() & { return std::get<0>(content_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(content_)); }
  [[nodiscard]] const Rejection& rejection() const { return std::get<1>(content_); }

 private:
  std::variant<T, Rejection> content_;
};

struct Done {};  // the value of an Outcome that carries no data

}  // namespace assay
