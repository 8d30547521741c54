// Optimisers: from a loss to one operation that updates the variables.
//
//   auto train_op = train::MomentumOptimizer({.learning_rate = 0.01, .momentum = 0.9}).minimize(loss);
//
//   auto optimizer = train::AdamOptimizer({.learning_rate = 0.001});           // gradients seen in between
//   auto pairs = optimizer.compute_gradients(loss);
//   for (auto& pair : pairs) pair.gradient = clip_by_value(pair.gradient.dense(), -1.0, 1.0);
//   auto train_op = optimizer.apply_gradients(pairs, {.global_step = step});
//
// Update rules, argument order, defaults, slot names ("w/Momentum", "w/Adam", "w/Adam_1") and the places of epsilon are
// TensorFlow's (tf.compat.v1.train; AdaMax and Nadam: tf.contrib.opt). A learning rate may be a number or a node, as
// the schedules make it (schedules.h). Thread safety: as building a graph.
#pragma once

#include "caudal/train/adagrad_optimizers.h"
#include "caudal/train/adam_optimizers.h"
#include "caudal/train/descent_optimizers.h"
#include "caudal/train/ftrl_optimizer.h"
#include "caudal/train/optimizer_base.h"
#include "caudal/train/rmsprop_optimizers.h"
