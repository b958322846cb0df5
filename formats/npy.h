// NumPy's files: .npy, one array, and .npz, arrays in a zip archive.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

#include "semantics/graph/tensor.h"
#include "semantics/outcome.h"

namespace assay::formats {

// Versions 1 to 3, either byte order, rows or columns first. Rejections: npy.header, npy.type (no element type of ours: `unsupported`),
// npy.size (fewer or more bytes than the shape says).
[[nodiscard]] Outcome<Tensor> read_npy(std::span<const std::byte> file);
// Version 1, little endian, rows first.
[[nodiscard]] std::string write_npy(const Tensor& tensor);

// Members by name, without ".npy"; stored or deflated. Rejections: those of npy; npz.archive, npz.member (unpacked it is not what the
// archive says), npz.memory (unpacked more than `most` bytes together).
[[nodiscard]] Outcome<std::map<std::string, Tensor>> read_npz(std::span<const std::byte> file, std::size_t most = std::size_t{1} << 32);
[[nodiscard]] std::string write_npz(const std::map<std::string, Tensor>& tensors);  // stored

}  // namespace assay::formats
