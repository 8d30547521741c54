// Everything that a program needs.
//
//   #include "caudal/caudal.h"
//   namespace tf = caudal;
//
// Names follow TensorFlow 1: tf.nn.relu is tf::nn::relu, tf.layers.dense is tf::layers::dense, tf.train.AdamOptimizer
// is tf::train::AdamOptimizer.
#pragma once

// Values.
#include "caudal/base/error.h"
#include "caudal/tensor/tensor.h"

// Graphs.
#include "caudal/autodiff/gradient.h"
#include "caudal/graph/collection.h"
#include "caudal/graph/container_scope.h"
#include "caudal/graph/graph.h"
#include "caudal/graph/scope.h"

// Op functions, one header per family.
#include "caudal/ops/accumulator_ops.h"
#include "caudal/ops/activation.h"
#include "caudal/ops/assert_ops.h"
#include "caudal/ops/barrier_ops.h"
#include "caudal/ops/batch_norm.h"
#include "caudal/ops/bias.h"
#include "caudal/ops/cast.h"
#include "caudal/ops/checkpoint_ops.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/control_flow.h"
#include "caudal/ops/conv.h"
#include "caudal/ops/cross_entropy.h"
#include "caudal/ops/csv.h"
#include "caudal/ops/dropout.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/elementwise_unary.h"
#include "caudal/ops/embedding.h"
#include "caudal/ops/gather_ops.h"
#include "caudal/ops/image_codec.h"
#include "caudal/ops/initializers.h"
#include "caudal/ops/joining.h"
#include "caudal/ops/lookup_ops.h"
#include "caudal/ops/map_fn.h"
#include "caudal/ops/matmul.h"
#include "caudal/ops/mutex_ops.h"
#include "caudal/ops/padding.h"
#include "caudal/ops/partition_ops.h"
#include "caudal/ops/partitioned_variable.h"
#include "caudal/ops/pool.h"
#include "caudal/ops/queue_ops.h"
#include "caudal/ops/random.h"
#include "caudal/ops/range_ops.h"
#include "caudal/ops/reader_ops.h"
#include "caudal/ops/reduction.h"
#include "caudal/ops/scan.h"
#include "caudal/ops/segment_ops.h"
#include "caudal/ops/selection.h"
#include "caudal/ops/set_ops.h"
#include "caudal/ops/shape_ops.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/softmax.h"
#include "caudal/ops/stack_ops.h"
#include "caudal/ops/stage_ops.h"
#include "caudal/ops/state_ops.h"
#include "caudal/ops/string_ops.h"
#include "caudal/ops/summary_ops.h"
#include "caudal/ops/tensor_array.h"
#include "caudal/ops/tensor_list_ops.h"
#include "caudal/ops/tensor_map_ops.h"
#include "caudal/ops/top_k.h"
#include "caudal/ops/transpose_ops.h"
#include "caudal/ops/variable.h"
#include "caudal/ops/variable_nd.h"
#include "caudal/ops/variable_scope.h"

// Running.
#include "caudal/runtime/session.h"
#include "caudal/runtime/timeline.h"

// Models, data, training, files.
#include "caudal/data/dataset.h"
#include "caudal/io/coordinator.h"
#include "caudal/io/file_writer.h"
#include "caudal/io/input_producer.h"
#include "caudal/io/queue_runner.h"
#include "caudal/nn/layers.h"
#include "caudal/proto/graph_io.h"
#include "caudal/train/callbacks.h"
#include "caudal/train/freeze.h"
#include "caudal/train/optimizer.h"
#include "caudal/train/saver.h"
#include "caudal/train/trainer.h"

// Reinforcement learning.
#include "caudal/rl/atari_wrappers.h"
#include "caudal/rl/recording.h"
#include "caudal/rl/vector_environment.h"
#include "caudal/rl/wrappers.h"
