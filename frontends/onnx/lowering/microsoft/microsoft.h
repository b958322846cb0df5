// Operators of com.microsoft, which the quantisation and the graph optimisations of ONNX Runtime write: one function per operator or
// tight family. rows.cpp lists them.
//
// Source: ContribOperators.md of ONNX Runtime, and where it is silent the program. Theorems about them are about real arithmetic, since
// no page says in which order such a kernel rounds.
#pragma once

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {

inline constexpr std::int64_t kFusedOpset = 21;  // of ai.onnx, whose handlers these operators use
inline constexpr const char* kUnfused = "save the model at ORT_ENABLE_BASIC, which fuses nothing";

// quantised.cpp
Results lower_quantized_binary(Call& call);  // QLinearAdd QLinearMul
Results lower_quantized_unary(Call& call);   // QLinearSigmoid QLinearLeakyRelu
Results lower_quantized_concat(Call& call);
Results lower_quantized_pool(Call& call);  // QLinearAveragePool QLinearGlobalAveragePool
Results lower_quantized_where(Call& call);
Results lower_quantized_gemm(Call& call);
Results lower_integer_product(Call& call);  // MatMulIntegerToFloat
Results lower_dynamic_product(Call& call);  // DynamicQuantizeMatMul
Results lower_packed_product(Call& call);   // MatMulNBits

// fused.cpp
Results lower_fused_gelu(Call& call);  // Gelu BiasGelu FastGelu QuickGelu
Results lower_skip_norm(Call& call);   // SkipLayerNormalization SkipSimplifiedLayerNormalization
Results lower_embedding_norm(Call& call);
Results lower_fused_matmul(Call& call);
Results lower_fused_gemm(Call& call);
Results lower_fused_conv(Call& call);

// fused_attention.cpp
Results lower_packed_attention(Call& call);  // Attention QAttention
Results lower_multi_head_attention(Call& call);
Results lower_group_query_attention(Call& call);
Results lower_old_rotary_embedding(Call& call);

}  // namespace assay::onnx
