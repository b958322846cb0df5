// Model: named parameters of a session that belong together, and the layers that made them.
//
//   Model model(session);
//   const Linear first(model / "first", 64, 32), second(model / "second", 32, 10);
//   const Value scores = second(relu(first(x)));
//
// A layer is a value: it asks a Scope for its parameters, which are drawn from the session's seed in the order in which layers are made,
// and is a function on values afterwards. Larger modules are structs of layers.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/session.h"

namespace assay::training {

using runtime::Array;
using runtime::Session;
using runtime::Value;

class Model;

// A place in a model: names of what is made there begin with `name` and a point.
struct Scope {
  Model* model = nullptr;
  std::string name;
  [[nodiscard]] Session& session() const;
  [[nodiscard]] Value parameter(std::string_view own_name, Array start) const;
  [[nodiscard]] Value buffer(std::string_view own_name, Array start) const;  // is no parameter to train: running statistics
  friend Scope operator/(const Scope& scope, std::string_view own_name);
};

class Model {
 public:
  explicit Model(Session& session) : session_(session) {}
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;
  [[nodiscard]] Session& session() const { return session_; }
  friend Scope operator/(Model& model, std::string_view name) { return {&model, std::string(name)}; }

  struct Entry {
    std::string name;
    Value value;
    bool trained = true;
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  [[nodiscard]] const Entry* find(std::string_view name) const;  // null: no such name
  [[nodiscard]] std::vector<Value> parameters() const;           // the parameters to train
  [[nodiscard]] std::vector<Value> all() const;                  // buffers and frozen ones as well
  [[nodiscard]] std::size_t parameter_count() const;             // elements to train
  // Names that begin with `prefix` are no longer trained and require no gradients, or are and do again. Buffers are never trained.
  void freeze(std::string_view prefix, bool frozen = true);

  // True if layers work as in training: with dropout, and by statistics of the batch.
  [[nodiscard]] bool training() const { return training_; }
  void set_training(bool training) { training_ = training; }

  // The next value that a layer gives a buffer after this step. assign() sets it; a compiled step returns the values first.
  struct Update {
    Value buffer, next;
  };
  void update(const Value& buffer, const Value& next) { updates_.push_back({buffer, next}); }
  [[nodiscard]] std::vector<Update> take_updates() { return std::exchange(updates_, {}); }
  Outcome<Done> assign(std::span<const Update> updates);

 private:
  friend struct Scope;
  Value add(std::string name, Array start, bool trained);
  Session& session_;
  std::vector<Entry> entries_;
  std::vector<bool> buffers_;
  std::vector<Update> updates_;
  bool training_ = true;
};

}  // namespace assay::training
