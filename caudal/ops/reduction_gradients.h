// Inside of the reductions: what an axis argument means, and the gradients.
#pragma once

#include <span>

#include "caudal/autodiff/gradient.h"
#include "caudal/tensor/tensor.h"

namespace caudal::inline v0 {

// Sets reduced[axis] for every axis named. Throws INVALID_ARGUMENT for one outside [-rank, rank) or named twice.
// REQUIRES: reduced.size() >= rank, all false.
void mark_axes(const Tensor& axes, int rank, std::span<bool> reduced);

// The shape of a reduction of `input`, whose rank is known.
PartialShape reduced_shape(const PartialShape& input, const Tensor& axes, bool keep_dims);

void sum_gradient(GradientContext& c);
void mean_gradient(GradientContext& c);
void prod_gradient(GradientContext& c);
void extreme_gradient(GradientContext& c);  // of Max and Min
void euclidean_norm_gradient(GradientContext& c);
void add_n_gradient(GradientContext& c);
void l2_loss_gradient(GradientContext& c);

}  // namespace caudal::inline v0
