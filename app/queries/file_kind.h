// Recognises the kind of a file by its first bytes. This is for messages about files in the wrong place, never for a decision.
#pragma once

#include <cstdint>
#include <string>

#include "api/check/load.h"
#include "frontends/onnx/import.h"
#include "semantics/outcome.h"

namespace assay::queries {

enum class FileKind : std::uint8_t { unknown, onnx, vnnlib, certificate, trace, safetensors, torch, npz, npy, hdf5, json, statement };

[[nodiscard]] FileKind kind_of_file(const std::string& path);

// A rejection of the file's content says what the file is, and what to do with it, where it is recognised as something else.
[[nodiscard]] Rejection recognised(Rejection why, const std::string& path, FileKind wanted);

// For a rejection of model or property, by the file that it names.
[[nodiscard]] Rejection recognised_input(const Rejection& why, const std::string& model, const std::string& property);

// A step that asks for more memory than there is; and why a file was not read, as that where it was for want of memory.
[[nodiscard]] Rejection beyond_memory(const std::string& place);
[[nodiscard]] Rejection unread(const Rejection& why, const std::string& path);
// check::load_problem and onnx::import_model, with what the files are instead.
[[nodiscard]] Outcome<check::Loaded> load_files(const std::string& model, const std::string& property, const check::LoadOptions& options);
[[nodiscard]] Outcome<onnx::Model> import_model_file(const std::string& path, const check::Limits& limits = {});

}  // namespace assay::queries
