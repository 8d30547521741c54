// Names of collections, as TensorFlow spells them (tf.GraphKeys).
#pragma once

#include <string_view>

namespace caudal::inline v0::graph_keys {

inline constexpr std::string_view kGlobalVariables = "variables";
inline constexpr std::string_view kLocalVariables = "local_variables";
inline constexpr std::string_view kTrainableVariables = "trainable_variables";
inline constexpr std::string_view kMovingAverageVariables = "moving_average_variables";
inline constexpr std::string_view kModelVariables = "model_variables";
inline constexpr std::string_view kGlobalStep = "global_step";
inline constexpr std::string_view kSummaries = "summaries";
inline constexpr std::string_view kUpdateOps = "update_ops";
inline constexpr std::string_view kLosses = "losses";
inline constexpr std::string_view kRegularizationLosses = "regularization_losses";
inline constexpr std::string_view kSavers = "savers";
inline constexpr std::string_view kQueueRunners = "queue_runners";
inline constexpr std::string_view kTrainOp = "train_op";
inline constexpr std::string_view kInitOp = "init_op";

}  // namespace caudal::inline v0::graph_keys
