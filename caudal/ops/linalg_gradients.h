// Gradients of the decompositions, as TensorFlow has them. Internal to linalg_decompositions.
#pragma once

namespace caudal::inline v0 {

class GradientContext;

void qr_gradient(GradientContext& context);
void eigh_gradient(GradientContext& context);
void svd_gradient(GradientContext& context);
void eig_gradient(GradientContext& context);

}  // namespace caudal::inline v0
