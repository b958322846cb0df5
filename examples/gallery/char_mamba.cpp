// Trains two Mamba blocks, which have no attention, to continue a text character by character. Source: Gu and Dao 2023.
#include "text.h"
#include "training/layers/basic.h"
#include "training/layers/normalise.h"
#include "training/layers/sequence.h"

using namespace text;

namespace {

constexpr std::int64_t kWidth = 32;

struct Net {
  Embedding characters;
  RmsNorm before_first, before_second, last;
  Mamba first, second;
  Linear out;
  Net(Model& model, std::int64_t count)
      : characters(model / "characters", count, kWidth, 0.1),
        before_first(model / "before_first", Shape{kWidth}),
        before_second(model / "before_second", Shape{kWidth}),
        last(model / "last", Shape{kWidth}),
        first(model / "first", kWidth, {.state = 8}),
        second(model / "second", kWidth, {.state = 8}),
        out(model / "out", kWidth, count) {}
  Value operator()(const Value& x) const {
    Value h = characters(x);
    h = h + first(before_first(h));
    return out(last(h + second(before_second(h))));
  }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 300;
  return trained<Net>(argc, argv, "char_mamba", "Mamba blocks that continue a text", options);
}
