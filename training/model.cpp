#include "training/model.h"

#include <algorithm>
#include <utility>

#include "semantics/demand.h"

namespace assay::training {

Session& Scope::session() const { return model->session(); }
Value Scope::parameter(std::string_view own_name, Array start) const { return model->add((*this / own_name).name, std::move(start), true); }
Value Scope::buffer(std::string_view own_name, Array start) const { return model->add((*this / own_name).name, std::move(start), false); }
Scope operator/(const Scope& scope, std::string_view own_name) { return {scope.model, scope.name + "." + std::string(own_name)}; }

Value Model::add(std::string name, Array start, bool trained) {
  demand(find(name) == nullptr, "Model: each name once");
  const Value value = session_.parameter(name, std::move(start));
  entries_.push_back({std::move(name), value, trained});
  buffers_.push_back(!trained);
  return value;
}

const Model::Entry* Model::find(std::string_view name) const {
  const auto found = std::ranges::find(entries_, name, &Entry::name);
  return found == entries_.end() ? nullptr : &*found;
}

std::vector<Value> Model::parameters() const {
  std::vector<Value> values;
  for (const Entry& entry : entries_) {
    if (entry.trained) values.push_back(entry.value);
  }
  return values;
}

std::vector<Value> Model::all() const {
  std::vector<Value> values;
  for (const Entry& entry : entries_) values.push_back(entry.value);
  return values;
}

std::size_t Model::parameter_count() const {
  std::size_t count = 0;
  for (const Entry& entry : entries_) count += entry.trained ? entry.value.array().size() : 0;
  return count;
}

void Model::freeze(std::string_view prefix, bool frozen) {
  for (std::size_t k = 0; k < entries_.size(); ++k) {
    if (buffers_[k] || !entries_[k].name.starts_with(prefix)) continue;
    entries_[k].trained = !frozen;
    demand(session_.set_requires_grad(entries_[k].value, !frozen).ok(), "Model: parameters of its session");
  }
}

Outcome<Done> Model::assign(std::span<const Update> updates) {
  for (const Update& update : updates) {
    if (!update.next.ok()) return session_.check();
    if (auto done = session_.assign(update.buffer, update.next.array()); !done) return done;
  }
  return Done{};
}

}  // namespace assay::training
