// Prints what training/ computes, as JSON with the inputs that PyTorch needs to compute the same: tests/training/peer.py compares.
//
//   peer_cases optimisers|schedules|losses|layers|complex|transforms
#include "tests/training/peer_cases.h"

#include <iostream>
#include <string_view>

int main(int argc, char** argv) {
  using namespace assay::test;
  const std::string_view what = argc > 1 ? argv[1] : "";
  Json cases;
  if (what == "optimisers") cases = optimiser_cases();
  if (what == "schedules") cases = schedule_cases();
  if (what == "losses") cases = loss_cases();
  if (what == "layers") cases = layer_cases();
  if (what == "complex") cases = complex_cases();
  if (what == "transforms") cases = transform_cases();
  if (cases.is_null()) {
    std::cerr << "usage: peer_cases optimisers|schedules|losses|layers|complex|transforms\n";
    return 2;
  }
  std::cout << cases.dump() << "\n";
  return 0;
}
