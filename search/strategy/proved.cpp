// Writing of groups and of cubes.
//
// write() writes the certificate of a group: the steps of its root, then its tree. write_cube() writes the beginning of
// the certificate of one open leaf: the same steps, but only along the path to the leaf.

#include "search/strategy/proved.h"

#include <algorithm>

namespace assay::search {

// The literals of a cube come first, as splits whose other halves are left empty: other runs prove them.
void Proved::write(std::span<const logic::Literal> cube, std::vector<OpenBranch>& open, certificate::Writer& writer) const {
  writer.begin_group(group);
  for (const logic::Literal& literal : cube) {
    writer.split(literal.node, literal.element, literal.threshold);
    if (literal.at_least) writer.next();
  }
  const auto at_leaf = [&](std::uint32_t node) {
    const auto leaf = std::ranges::find(leaves, node, &OpenLeaf::tree_node);
    if (leaf != leaves.end()) open.push_back({group, node, writer.records(), {}, leaf->bound, leaf->cases});
  };
  for (const Part& part : parts) {
    writer.append(part.steps);
    if (part.tree) part.tree->write(writer, at_leaf);
  }
  for (auto literal = cube.rbegin(); literal != cube.rend(); ++literal) {
    if (!literal->at_least) writer.next();
    writer.done();
  }
  writer.end_group();
}

Outcome<Done> Proved::write_cube(OpenBranch& branch, certificate::Writer& file) const {
  const Part& last = parts.back();
  file.begin_group(group);
  file.append(last.steps);
  for (const ProofTree::PathStep& step : last.tree->path_to(branch.tree_node)) {
    last.tree->write_steps(step.node, file);
    file.split(step.split.node, step.split.element, step.split.threshold);
    if (step.at_least) file.next();
    branch.literals.push_back({step.split.node, step.split.element, step.at_least, step.split.threshold});
  }
  last.tree->write_steps(branch.tree_node, file);
  if (auto written = file.finish_open(); !written) return written.rejection();
  return Done{};
}

}  // namespace assay::search
