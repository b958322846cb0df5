// Operators of ai.onnx.ml, which converters of scikit-learn, LightGBM and XGBoost write: one function per operator or tight family.
// rows.cpp says which versions each one is for.
//
// Source: the operators' pages of ONNX. Where they leave the scores or the label of a classifier open, ONNX Runtime's are meant.
#pragma once

#include "frontends/onnx/lowering/compose.h"

namespace assay::onnx {

using Reals = std::vector<double>;

// features.cpp: before a model, and behind it
Results lower_scaler(Call& call);
Results lower_normalizer(Call& call);
Results lower_imputer(Call& call);
Results lower_binarizer(Call& call);
Results lower_feature_vectorizer(Call& call);
Results lower_array_feature_extractor(Call& call);
Results lower_one_hot_encoder(Call& call);
Results lower_label_encoder(Call& call);
Results lower_zip_map(Call& call);

// scores.cpp
Results lower_linear_regressor(Call& call);
Results lower_linear_classifier(Call& call);
Results lower_svm_regressor(Call& call);
Results lower_svm_classifier(Call& call);

// trees.cpp
Results lower_tree_ensemble(Call& call);             // TreeEnsemble
Results lower_tree_ensemble_regressor(Call& call);   // TreeEnsembleRegressor
Results lower_tree_ensemble_classifier(Call& call);  // TreeEnsembleClassifier

// Attributes that are lists; empty where they are absent.
[[nodiscard]] Reals reals_of(const Call& call, std::string_view name);
[[nodiscard]] Ints ints_of(const Call& call, std::string_view name);

// The operand as rows of numbers of float type: [C] is one row, and integers are cast.
[[nodiscard]] Operand rows_of(Call& call, const Operand& x);

// Scores are of float32 whatever the model computes in; sums in float64 are no executions in float32.
[[nodiscard]] Operand as_float32(Call& call, const Operand& scores);

// post_transform of scores [N, K] with K > 1, or none.
[[nodiscard]] Operand transformed(Call& call, const Operand& scores, const std::string& transform);

// The scores of both classes from the only score that a model of two classes computes, [N, 1] to [N, 2].
enum class Second : std::uint8_t { complement, opposite, logistic };  // 1 - s and s; -s and s; sigmoid(-s) and sigmoid(s)
[[nodiscard]] Operand both_scores(Call& call, const Operand& score, Second second);

// The label of each row from its scores [N, K], the first of the largest; null where labels are strings.
[[nodiscard]] Operand label_of_largest(Call& call, const Operand& scores, const Ints& labels);
// The second label where the score [N, 1] is above the threshold; null where labels are strings.
[[nodiscard]] Operand label_above(Call& call, const Operand& score, double threshold, const Ints& labels);

// How many classes the node names, by integers or by strings.
[[nodiscard]] std::size_t class_count_of(const Call& call, std::string_view integers);

}  // namespace assay::onnx
