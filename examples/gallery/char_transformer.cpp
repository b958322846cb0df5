// Trains a small transformer to continue a text, character by character, and lets it write.
#include "text.h"
#include "transformer_block.h"

using namespace text;

namespace {

constexpr std::int64_t kWidth = 48, kHeads = 4;

struct Transformer {
  Embedding characters;
  Value places;
  TransformerBlock first, second;
  LayerNorm last;
  Linear out;
  Transformer(Model& model, std::int64_t count)
      : characters(model / "characters", count, kWidth, 0.1),
        places((model / "places").parameter("weight", sinusoidal_places(model.session(), kPlaces, kWidth))),
        first(model / "first", kWidth, kHeads),
        second(model / "second", kWidth, kHeads),
        last(model / "last", Shape{kWidth}),
        out(model / "out", kWidth, count) {}
  Value operator()(const Value& x) const { return out(last(second(first(characters(x) + places, true), true))); }
};

}  // namespace

int main(int argc, char** argv) {
  RunOptions options;
  options.steps = 400;
  return trained<Transformer>(argc, argv, "char_transformer", "A transformer that continues a text", options);
}
