// Handlers: one function per ONNX operator or tight family; operators.cpp says which versions each one is for.
#pragma once

#include "frontends/onnx/lowering/lowering.h"

namespace assay::onnx {

using Results = std::vector<Operand>;

// elementwise.cpp
Results lower_by(Call& call, Op op);  // one op on all inputs, no attributes
template <Op op>
Results lower_to(Call& call) {
  return lower_by(call, op);
}
Results lower_extreme(Call& call);  // Max Min
Results lower_sum(Call& call);      // Sum Mean
Results lower_clip(Call& call);
Results lower_pow(Call& call);
// One op of one or two numbers, which are the operator's attributes (ASSAY_ONNX_NUMBERS of semantics/graph/ops.def).
Results lower_numbers(Call& call);
[[nodiscard]] Attributes numbers_of(Op op, double first, double second);  // as attributes of such an op, or of one without numbers
Results lower_truth(Call& call);  // Equal Less Greater LessOrEqual GreaterOrEqual And Or Xor Not IsNaN IsInf
Results lower_gelu(Call& call);
Results lower_bitwise(Call& call);  // BitwiseAnd BitwiseOr BitwiseXor BitwiseNot
Results lower_bit_shift(Call& call);
Results lower_bit_cast(Call& call);
Results lower_mod(Call& call);
Results lower_softmax(Call& call);  // Softmax LogSoftmax

// linear.cpp
Results lower_gemm(Call& call);
Results lower_matmul(Call& call);
Results lower_batch_norm(Call& call);
Results lower_reduce(Call& call);      // Reduce...
Results lower_cumulative(Call& call);  // CumSum CumProd
Results lower_position(Call& call);    // ArgMax ArgMin
Results lower_global_average_pool(Call& call);
Results lower_determinant(Call& call);

// normalise.cpp
Results lower_layer_norm(Call& call);  // LayerNormalization RMSNormalization
Results lower_instance_norm(Call& call);
Results lower_group_norm(Call& call);
Results lower_lp_norm(Call& call);
Results lower_mean_variance_norm(Call& call);

Results lower_local_response(Call& call);  // LRN

// attention.cpp
Results lower_attention(Call& call);

// losses.cpp
Results lower_hardmax(Call& call);
Results lower_negative_log_likelihood(Call& call);
Results lower_cross_entropy(Call& call);

// window.cpp
Results lower_conv(Call& call);
Results lower_conv_transpose(Call& call);
Results lower_pool(Call& call);  // MaxPool AveragePool
Results lower_global_max_pool(Call& call);
Results lower_lp_pool(Call& call);  // LpPool GlobalLpPool

// layout.cpp
Results lower_identity(Call& call);
Results lower_dropout(Call& call);
Results lower_reshape(Call& call);
Results lower_flatten(Call& call);
Results lower_transpose(Call& call);
Results lower_squeeze(Call& call);
Results lower_unsqueeze(Call& call);
Results lower_slice(Call& call);
Results lower_split(Call& call);
Results lower_concat(Call& call);
Results lower_gather(Call& call);
Results lower_expand(Call& call);
Results lower_where(Call& call);

// resample.cpp
Results lower_pad(Call& call);
Results lower_depth_to_space(Call& call);
Results lower_space_to_depth(Call& call);

// selection.cpp
Results lower_tile(Call& call);
Results lower_trilu(Call& call);
Results lower_reverse_sequence(Call& call);
Results lower_center_crop_pad(Call& call);
Results lower_compress(Call& call);
Results lower_gather_nd(Call& call);
Results lower_gather_elements(Call& call);
Results lower_scatter_nd(Call& call);
Results lower_scatter_elements(Call& call);  // Scatter ScatterElements
Results lower_max_unpool(Call& call);
Results lower_eye_like(Call& call);
Results lower_top_k(Call& call);
Results lower_tensor_scatter(Call& call);
Results lower_one_hot(Call& call);
Results lower_col2im(Call& call);
Results lower_non_zero(Call& call);

// sequences.cpp
Results lower_sequence(Call& call);  // SequenceAt SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength
Results lower_split_to_sequence(Call& call);
Results lower_concat_from_sequence(Call& call);

// quantise.cpp
Results lower_quantize(Call& call);
Results lower_dequantize(Call& call);
Results lower_dynamic_quantize(Call& call);
Results lower_matmul_integer(Call& call);
Results lower_conv_integer(Call& call);
Results lower_quantized_matmul(Call& call);  // QLinearMatMul
Results lower_quantized_conv(Call& call);    // QLinearConv

// sampling.cpp
Results lower_grid_sample(Call& call);
Results lower_affine_grid(Call& call);
Results lower_deform_conv(Call& call);
Results lower_roi_align(Call& call);

// fourier.cpp
Results lower_dft(Call& call);
Results lower_stft(Call& call);

// decoding.cpp
Results lower_linear_attention(Call& call);
Results lower_causal_conv(Call& call);
Results lower_swiglu(Call& call);

// einsum.cpp
Results lower_einsum(Call& call);

// resize.cpp
Results lower_resize(Call& call);  // Upsample Resize

// rotary.cpp
Results lower_rotary_embedding(Call& call);

// recurrent.cpp
Results lower_recurrent(Call& call);  // RNN GRU LSTM DynamicQuantizeLSTM

// constants.cpp
Results lower_constant(Call& call);
Results lower_constant_of_shape(Call& call);
Results lower_shape(Call& call);
Results lower_size(Call& call);
Results lower_cast(Call& call);  // Cast CastLike
Results lower_range(Call& call);
Results lower_real_range(Call& call);  // of constant floats
Results fold_integer_op(Call& call);   // arithmetic of lower_by and lower_sum on integers
Results fold_integer_reduction(Call& call, const std::vector<std::int64_t>& axes, bool keep_dims);

// Axes of Squeeze, Unsqueeze and the reductions: an attribute up to some version, then input `i`. nullopt: not given.
[[nodiscard]] std::optional<std::vector<std::int64_t>> axes_of(const Call& call, std::size_t i);
// a where the condition holds, else b.
[[nodiscard]] Operand choose(Call& call, const Operand& condition, const Operand& a, const Operand& b);
// Elements `indices` of one axis, in that order.
[[nodiscard]] Operand gather_axis(Call& call, const Operand& operand, std::int64_t axis, std::vector<std::int64_t> indices);
// The same for integers that the network computes; negative ones count from the end.
[[nodiscard]] Operand take_axis(Call& call, const Operand& operand, std::size_t axis, const Operand& indices);

}  // namespace assay::onnx
