// The table from operator and version of ai.onnx.ml to its handler.
#include "frontends/onnx/lowering/ml/ml.h"

namespace assay::onnx {

const std::vector<OperatorRow>& ml_operator_rows() {
  constexpr int kAny = -1;
  constexpr std::int64_t kNow = kLastMlOpset;
  constexpr std::string_view kTrees =
      "nodes_falsenodeids nodes_featureids nodes_hitrates nodes_missing_value_tracks_true nodes_modes nodes_nodeids nodes_treeids "
      "nodes_truenodeids nodes_values base_values post_transform nodes_hitrates_as_tensor nodes_values_as_tensor base_values_as_tensor ";
  static const std::string kClassifier =
      std::string(kTrees) +
      "class_ids class_nodeids class_treeids class_weights class_weights_as_tensor classlabels_int64s classlabels_strings";
  static const std::string kRegressor =
      std::string(kTrees) + "aggregate_function n_targets target_ids target_nodeids target_treeids target_weights target_weights_as_tensor";
  static const std::vector<OperatorRow> kRows = {
      {"ArrayFeatureExtractor", 1, kNow, 2, 2, 1, "", lower_array_feature_extractor, ""},
      {"Binarizer", 1, kNow, 1, 1, 1, "threshold", lower_binarizer, ""},
      {"FeatureVectorizer", 1, kNow, 1, kAny, 1, "inputdimensions", lower_feature_vectorizer, ""},
      {"Imputer", 1, kNow, 1, 1, 1, "imputed_value_floats imputed_value_int64s replaced_value_float replaced_value_int64", lower_imputer,
       ""},
      {"LabelEncoder", 2, kNow, 1, 1, 1,
       "default_float default_int64 default_string default_tensor keys_floats keys_int64s keys_strings keys_tensor values_floats "
       "values_int64s values_strings values_tensor",
       lower_label_encoder, "of numbers"},
      {"LinearClassifier", 1, kNow, 1, 1, 2, "classlabels_ints classlabels_strings coefficients intercepts multi_class post_transform",
       lower_linear_classifier, "labels that are integers"},
      {"LinearRegressor", 1, kNow, 1, 1, 1, "coefficients intercepts post_transform targets", lower_linear_regressor, ""},
      {"Normalizer", 1, kNow, 1, 1, 1, "norm", lower_normalizer, ""},
      {"OneHotEncoder", 1, kNow, 1, 1, 1, "cats_int64s zeros", lower_one_hot_encoder, "categories that are integers"},
      {"SVMClassifier", 1, kNow, 1, 1, 2,
       "classlabels_ints classlabels_strings coefficients kernel_params kernel_type post_transform prob_a prob_b rho support_vectors "
       "vectors_per_class",
       lower_svm_classifier, "scores of pairs, without probabilities and labels"},
      {"SVMRegressor", 1, kNow, 1, 1, 1, "coefficients kernel_params kernel_type n_supports one_class post_transform rho support_vectors",
       lower_svm_regressor, ""},
      {"Scaler", 1, kNow, 1, 1, 1, "offset scale", lower_scaler, ""},
      {"TreeEnsemble", 5, kNow, 1, 1, 1,
       "aggregate_function leaf_targetids leaf_weights n_targets nodes_falseleafs nodes_falsenodeids nodes_featureids nodes_hitrates "
       "nodes_missing_value_tracks_true nodes_modes nodes_splits nodes_trueleafs nodes_truenodeids post_transform tree_roots",
       lower_tree_ensemble, "comparisons with numbers"},
      {"TreeEnsembleClassifier", 1, kNow, 1, 1, 2, kClassifier, lower_tree_ensemble_classifier, "labels that are integers"},
      {"TreeEnsembleRegressor", 1, kNow, 1, 1, 1, kRegressor, lower_tree_ensemble_regressor, ""},
      {"ZipMap", 1, kNow, 1, 1, 1, "classlabels_int64s classlabels_strings", lower_zip_map, "the scores as a tensor"},
  };
  return kRows;
}

}  // namespace assay::onnx
