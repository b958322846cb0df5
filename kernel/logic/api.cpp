// The functions of api.h that only call the code behind them. This file decides nothing.

#include "kernel/logic/state.h"

namespace assay::logic {

const statement::Statement& Problem::statement() const { return state_->statement_; }
const KernelOptions& Problem::options() const { return state_->network_->state().options_; }
const statement::Digest& Problem::digest() const { return state_->digest_; }
const statement::Digest& Problem::graph_digest() const { return state_->network_->state().digest_; }
bool Problem::is_constant(NodeId node) const { return state_->network_->state().constants_.is_constant[node]; }
NodeId Problem::node_of(const statement::Variable& variable) const {
  return (variable.side == statement::Variable::Side::input ? graph().inputs : graph().outputs)[variable.tensor];
}
std::size_t Problem::group_count() const { return state_->groups_.size(); }
const std::vector<std::uint32_t>& Problem::group_cases(std::size_t group) const { return state_->groups_[group]; }
std::uint32_t Problem::group_of_case(std::uint32_t case_index) const { return state_->group_of_case_[case_index]; }
const statement::InputBox& Problem::group_box(std::size_t group) const { return *state_->group_boxes_[group]; }
bool Problem::group_is_empty(std::size_t group) const { return state_->group_is_empty_[group]; }

const std::vector<bool>& Refutation::cases() const { return content_->cases; }
bool Refutation::complete() const { return std::ranges::find(content_->cases, false) == content_->cases.end(); }
bool Refutation::vacuous() const { return content_->vacuous; }

Outcome<Scope> Scope::root(std::shared_ptr<const Problem> problem, std::size_t group) {
  auto state = State::root(problem, group);
  return state ? Outcome<Scope>(Scope(std::move(state).value())) : state.rejection();
}
Scope::Scope(std::unique_ptr<State> state) : state_(std::move(state)) {}
Scope::Scope(const Scope& other) : state_(new State(*other.state_)) {}
Scope::Scope(Scope&&) noexcept = default;
Scope& Scope::operator=(Scope other) noexcept {
  state_.swap(other.state_);
  return *this;
}
Scope::~Scope() = default;
std::size_t Scope::group() const { return state_->context_->group; }
std::vector<Literal> Scope::literals() const { return state_->literals(); }
bool Scope::has_box(NodeId node) const { return state_->boxes_[node] != nullptr; }
const relax::Box& Scope::box(NodeId node) const { return *state_->boxes_[node]; }
const Cuts& Scope::cuts() const { return state_->cuts_; }

Outcome<Done> Scope::assume(const Literal& literal) { return State::run(*state_, &State::assume, literal); }
Outcome<Done> Scope::propagate_box(NodeId node) { return State::run(*state_, &State::propagate_box, node); }
Outcome<Done> Scope::tighten(NodeId node, std::span<const std::uint32_t> elements, const Hints& hints, const Claims* claims,
                             bool to_float) {
  return State::run(*state_, &State::tighten, node, elements, hints, claims, to_float);
}
Outcome<Done> Scope::cut(std::vector<Cut::Term> terms, const Hints& hints) { return State::run(*state_, &State::cut, terms, hints); }
Outcome<Done> Scope::meet(const Scope& other) { return State::run(*state_, &State::meet, *other.state_); }
Outcome<Done> Scope::hull(const Scope& at_most, const Scope& at_least) {
  return State::run(*state_, &State::hull, *at_most.state_, *at_least.state_);
}
Outcome<Refutation> Scope::conclude(std::span<const CaseMultipliers> cases, const Hints& hints) const {
  return State::run(*state_, &State::conclude, cases, hints, nullptr);
}
Outcome<Refutation> Scope::empty() const { return state_->empty(); }

void Scope::pay(std::shared_ptr<Meter> meter) { state_->meter_ = std::move(meter); }
void Scope::stop_when(std::function<bool()> stop) { state_->stop_ = std::move(stop); }
void Scope::forget_linear_bounds(const Scope& but) {
  auto& own = state_->linear_bounds_;
  for (std::size_t i = 0; i < own.size(); ++i)
    if (own[i] != but.state_->linear_bounds_[i]) own[i] = nullptr;
}

Theorem::Kind Theorem::kind() const { return content_->kind; }
bool Theorem::vacuous() const { return content_->vacuous; }
const std::shared_ptr<const Problem>& Theorem::problem() const { return content_->problem; }
const std::vector<std::string>& Theorem::assumptions() const { return content_->assumptions; }
const Witness& Theorem::witness() const { return content_->witness; }
const std::vector<Interval>& Theorem::outputs() const { return content_->outputs; }

}  // namespace assay::logic
