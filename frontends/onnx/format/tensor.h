// Tensor: TensorProto → Tensor, from the model's own bytes or from external data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "frontends/files.h"
#include "frontends/onnx/format/proto.h"
#include "semantics/graph/tensor.h"
#include "semantics/statement/statement.h"

namespace assay::onnx {

// Files of external data beside the model, each read once. Locations are relative, without "..", and may not leave
// the model's folder through a link.
class ExternalData {
 public:
  explicit ExternalData(std::string model_path) : model_path_(std::move(model_path)) {}
  // The bytes that the tensor's external keys name; throws Refused ("onnx.external_data").
  [[nodiscard]] Bytes bytes_of(const TensorProto& tensor, std::size_t length);
  // One source per file read, in order of location.
  [[nodiscard]] std::vector<statement::Source> sources() const;
  [[nodiscard]] std::uint64_t stored() const;  // bytes of them all

 private:
  const FileContents& file(const TensorProto& tensor, const std::string& location);

  std::string model_path_;
  std::map<std::string, FileContents> files_;
};

// The element type that ONNX values of this code have here; float16 and bfloat16 widen to float32. False: none.
[[nodiscard]] bool dtype_of(std::int64_t element_type, DType& dtype);

// Exact for every supported element type (float16 and bfloat16 widen without rounding; NaN and infinities are kept
// here and refused where a value is used). Throws Refused ("onnx.tensor", "onnx.element_type", "onnx.external_data").
[[nodiscard]] Tensor read_tensor(const TensorProto& tensor, ExternalData& external);

// Integers as a tensor of an integer or boolean dtype; the caller has checked the range.
[[nodiscard]] Tensor tensor_of_ints(DType dtype, Shape shape, const std::vector<std::int64_t>& values);
// Every value lies in the dtype's range.
[[nodiscard]] bool fits(DType dtype, std::int64_t value);

}  // namespace assay::onnx
