// GroupCuts: cuts over relus of the first layer that read the same few inputs, such as the channels
// at one position of a feature map.
//
// With A_i the coefficients of a case's form at these relus, and any slopes s_i,
//
//   sum of A_i relu(z_i) - s_i z_i  >=  t       over the group
//
// holds with t the least value over the box of the few inputs. Lines of each relu alone give the
// sum of the least values, at inputs that differ from relu to relu. t is found by a small tree of
// splits at 0 for each group, in whose leaves the lines' slopes and the multipliers of the tree's
// literals are variables; together with the s_i of all groups they are improved by ascent on the
// case's bound, which is concave in all of them:
//
//   bound  =  sum of t over the groups  +  least value over the inputs of (what is left of the form + sum of s_i z_i).
//
// Source: Singh, Ganvir, Pueschel, Vechev 2019 ("Beyond the single neuron convex barrier"), and
// Mueller et al. 2022 (PRIMA), for groups of neurons; here the inequality is found for the case's
// own objective, and trees of splits take the place of convex hulls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/intermediate_bounds.h"
#include "search/strategy/deadline.h"

namespace assay::search {

// Cases of a network with one layer of relus, in many groups, that cuts close at a complete root
// without literals leave `open` (positions in the group of cases), and are merged into
// `refutation`. Others cost up to a fifth of the time that the limit leaves, and nothing else.
void close_by_cuts(IntermediateBounds& root, const NeuronGraph& graph, std::vector<std::uint32_t>& open,
                   std::optional<logic::Refutation>& refutation, const Limit& limit);

}  // namespace assay::search
