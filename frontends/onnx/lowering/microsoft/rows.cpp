// The table from operator of com.microsoft to its handler.
#include "frontends/onnx/lowering/microsoft/microsoft.h"

namespace assay::onnx {

const std::vector<OperatorRow>& microsoft_operator_rows() {
  constexpr int kAny = -1;
  static const std::vector<OperatorRow> kRows = {
      {"Attention", 1, 1, 2, 6, 2, "mask_filter_value num_heads qkv_hidden_sizes scale unidirectional", lower_packed_attention,
       "masks of numbers 0 and 1, or constant lengths"},
      {"BiasGelu", 1, 1, 2, 2, 1, "", lower_fused_gelu, ""},
      {"DequantizeLinear", 1, 1, 2, 3, 1, "axis", lower_dequantize, "integers of 8 to 32 bits"},
      {"DynamicQuantizeLSTM", 1, 1, 3, 12, 3, "activation_alpha activation_beta activations clip direction hidden_size input_forget",
       lower_recurrent, "at most 4 sequences"},
      {"DynamicQuantizeMatMul", 1, 1, 3, 5, 1, "", lower_dynamic_product, ""},
      {"EmbedLayerNormalization", 1, 1, 1, 9, 3, "epsilon mask_index_type", lower_embedding_norm, "without a computed mask"},
      {"FastGelu", 1, 1, 1, 2, 1, "", lower_fused_gelu, ""},
      {"FusedConv", 1, 1, 2, 4, 1, "activation activation_params auto_pad dilations group kernel_shape pads strides", lower_fused_conv, ""},
      {"FusedGemm", 1, 1, 2, 3, 1, "activation activation_alpha activation_beta activation_gamma alpha beta transA transB",
       lower_fused_gemm, ""},
      {"FusedMatMul", 1, 1, 2, 2, 1, "alpha transA transB transBatchA transBatchB", lower_fused_matmul, "batches as they are"},
      {"Gelu", 1, 1, 1, 1, 1, "", lower_fused_gelu, ""},
      {"GroupQueryAttention", 1, 1, 1, 16, 3,
       "do_rotary kv_num_heads local_window_size num_heads rotary_interleaved scale smooth_softmax softcap", lower_group_query_attention,
       "constant lengths, without padding"},
      {"MatMulIntegerToFloat", 1, 1, 4, 7, 1, "", lower_integer_product, ""},
      {"MatMulNBits", 1, 1, 3, 6, 1, "K N accuracy_level bits block_size", lower_packed_product, "accuracy_level 0 or 1"},
      {"MultiHeadAttention", 1, 1, 3, 8, 3, "mask_filter_value num_heads scale unidirectional", lower_multi_head_attention,
       "queries, keys and values of their own"},
      {"QAttention", 1, 1, 5, 9, 2, "mask_filter_value num_heads scale unidirectional", lower_packed_attention,
       "masks of numbers 0 and 1, or constant lengths"},
      {"QGemm", 1, 1, 6, 9, 1, "alpha transA transB", lower_quantized_gemm, ""},
      {"QLinearAdd", 1, 1, 7, 8, 1, "", lower_quantized_binary, ""},
      {"QLinearAveragePool", 1, 1, 4, 5, 1, "auto_pad ceil_mode channels_last count_include_pad kernel_shape pads strides",
       lower_quantized_pool, "channels first"},
      {"QLinearConcat", 1, 1, 5, kAny, 1, "axis", lower_quantized_concat, ""},
      {"QLinearGlobalAveragePool", 1, 1, 5, 5, 1, "channels_last", lower_quantized_pool, "channels first"},
      {"QLinearLeakyRelu", 1, 1, 4, 5, 1, "alpha", lower_quantized_unary, ""},
      {"QLinearMul", 1, 1, 7, 8, 1, "", lower_quantized_binary, ""},
      {"QLinearSigmoid", 1, 1, 4, 5, 1, "", lower_quantized_unary, ""},
      {"QLinearWhere", 1, 1, 9, 9, 1, "", lower_quantized_where, ""},
      {"QuantizeLinear", 1, 1, 2, 3, 1, "axis", lower_quantize, "to integers of 8 to 32 bits"},
      {"QuickGelu", 1, 1, 1, 1, 1, "alpha", lower_fused_gelu, ""},
      {"RotaryEmbedding", 1, 1, 4, 4, 1, "interleaved is_packed_batching num_heads rotary_embedding_dim scale", lower_old_rotary_embedding,
       "constant positions"},
      {"SkipLayerNormalization", 1, 1, 3, 5, 4, "epsilon", lower_skip_norm, ""},
      {"SkipSimplifiedLayerNormalization", 1, 1, 3, 4, 4, "epsilon", lower_skip_norm, ""},
  };
  return kRows;
}

}  // namespace assay::onnx
