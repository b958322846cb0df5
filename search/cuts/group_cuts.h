// GroupCuts: cuts over first-layer ReLUs that read the same few inputs, such as the channels at one position of a
// feature map.
//
// Let A_i be the coefficients of these ReLUs in the form of a case, and s_i any slopes. Then
//
//   sum of A_i relu(z_i) - s_i z_i  >=  t       over the group
//
// holds, where t is the least value over the box of the few inputs. Bounding each ReLU by its own line gives a weaker
// sum: the sum of least values that are attained at different inputs. A small tree of splits at 0 for each group finds
// t. The variables in the leaves are the slopes of lines and the multipliers of the tree's literals. Together with the
// s_i of all groups, they are improved by ascent on the bound of the case, which is concave in all of them:
//
//   bound  =  sum of t over the groups  +  least value over the inputs of (the rest of the form + sum of s_i z_i).
//
// Source: Singh, Ganvir, Pueschel, Vechev 2019 ("Beyond the single neuron convex barrier"), and Mueller et al. 2022
// (PRIMA), for groups of neurons. How this version differs: the inequality is found for the case's own objective, and
// trees of splits take the place of convex hulls.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/bounds/alpha_beta/alpha_beta_crown.h"
#include "search/bounds/intermediate_bounds.h"
#include "search/strategy/deadline.h"

namespace assay::search {

// Closes cases by cuts, at a complete root without literals, for networks with one layer of ReLUs in many groups.
// Closed cases leave `open` (positions in the group of cases) and are merged into `refutation`. For the other cases
// nothing changes. Takes at most a fifth of the planned time of the limit.
void close_by_cuts(IntermediateBounds& root, const NeuronGraph& graph, std::vector<std::uint32_t>& open,
                   std::optional<logic::Refutation>& refutation, const Limit& limit);

}  // namespace assay::search
