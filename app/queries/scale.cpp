#include "app/queries/scale.h"

#include <map>
#include <utility>

#include "app/queries/verify.h"

namespace assay::queries {
namespace {

constexpr std::int64_t kSteps = 1000;  // of which scales are multiples: short decimals

// A box over integers may shrink to one that holds none, of which everything is true.
bool lost_a_group(const logic::Problem& whole, const logic::Problem& part) {
  for (std::size_t g = 0; g < part.group_count(); ++g) {
    if (part.group_is_empty(g) && !whole.group_is_empty(g)) return true;
  }
  return false;
}

}  // namespace

statement::Statement scaled(const statement::Statement& statement, const Rational& scale) {
  statement::Statement part = statement;
  std::map<const statement::InputBox*, std::shared_ptr<const statement::InputBox>> boxes;  // cases that share one still do
  for (statement::Case& one : part.property.cases) {
    auto& box = boxes[one.box.get()];
    if (!box) {
      auto shrunk = std::make_shared<statement::InputBox>(*one.box);
      for (std::size_t i = 0; i < shrunk->lo.size(); ++i) {
        const Rational off = (shrunk->hi[i] - shrunk->lo[i]) * (Rational(1) - scale) / Rational(2);
        shrunk->lo[i] += off;
        shrunk->hi[i] += -off;
      }
      box = std::move(shrunk);
    }
    one.box = box;
  }
  return part;
}

Outcome<Scaled> largest_scale(const std::shared_ptr<const logic::Problem>& problem, const ScaleRequest& request) {
  const auto start = search::Clock::now();
  Scaled best;
  Bisection scales(kSteps - 1);
  for (auto index = scales.next(); index && !request.search.stop.stop_requested(); index = scales.next()) {
    const double left = request.seconds - search::seconds_since(start);
    if (left <= 0) break;
    const Rational scale(static_cast<std::int64_t>(*index + 1), kSteps);
    auto part = logic::Problem::open(scaled(problem->statement(), scale), problem->options());
    if (!part || lost_a_group(*problem, *part.value())) {
      scales.set(*index, false);
      continue;
    }
    search::Options options = request.search;
    options.deadline = search::Deadline::in(left / scales.left());
    options.seconds = 0;     // the tries share what is left
    options.attack = false;  // of the whole box there was one
    const auto writer = request.open(*part.value());
    if (!writer) return writer.rejection();
    ++best.tries;
    const auto tried = verify(part.value(), options, writer.value());
    if (tried && tried.value().unwritten) return *tried.value().unwritten;
    if (tried && tried.value().answer == search::Answer::satisfiable) {
      best.violated = tried.value().theorem->witness();
      break;
    }
    const bool holds = tried && tried.value().answer == search::Answer::unsatisfiable;
    scales.set(*index, holds);
    if (!holds) continue;
    best.scale = scale;
    best.problem = part.value();
    request.keep();
  }
  best.seconds = search::seconds_since(start);
  return best;
}

}  // namespace assay::queries
