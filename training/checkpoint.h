// Checkpoints: all that a run needs to continue with the same bits, in one safetensors file.
//
//   save_checkpoint("run.safetensors", {.trainer = &trainer, .loader = &loader});
//
// Tensors: "model/NAME" for every entry of the model, "optimiser/LIST/K" for parameter number K, "clip/norms" of a
// PercentileClip. Metadata: format, optimiser, steps, seed, keys (random keys drawn so far), epoch and batch (of the loader),
// notes, and crc32 of the tensors' bytes.
#pragma once

#include <map>
#include <string>

#include "training/data/loader.h"
#include "training/trainer.h"

namespace assay::training {

struct Checkpointed {
  Trainer* trainer = nullptr;  // its model, optimiser and session
  Loader* loader = nullptr;    // none: no position is saved, and none is wanted
  std::map<std::string, std::string> notes = {};
};

// Written atomically (atomic_file.h).
Outcome<Done> save_checkpoint(const std::string& path, const Checkpointed& what);
// Puts everything in place, and returns the saved notes. A file that is refused changes nothing. Rejections: those of
// safetensors, and
//   checkpoint.format    another kind of file, or a field that is missing or no number
//   checkpoint.crc       bytes that are not those that were written
//   checkpoint.tensor    a tensor that is missing, of another type or shape, or without a place in the run
//   checkpoint.seed      a session of another seed
//   checkpoint.position  a position that the loader does not have
//   optimise.state       the state of another optimiser
[[nodiscard]] Outcome<std::map<std::string, std::string>> load_checkpoint(const std::string& path, const Checkpointed& what);

// The model alone, as other programs read it: tensors by name; and back, every name once (checkpoint.tensor).
Outcome<Done> save_parameters(const std::string& path, const Model& model);
[[nodiscard]] Outcome<Done> load_parameters(const std::string& path, Model& model);

}  // namespace assay::training
