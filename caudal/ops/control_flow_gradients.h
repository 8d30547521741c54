// Gradients of Switch, Merge, Enter, Exit and NextIteration: the same nodes mirrored.
//
// Thread safety: as building a graph.
#pragma once

#include "caudal/autodiff/gradient.h"

namespace caudal::inline v0 {

void switch_gradient(GradientContext& c);
void merge_gradient(GradientContext& c);
void enter_gradient(GradientContext& c);
void exit_gradient(GradientContext& c);
void next_iteration_gradient(GradientContext& c);

}  // namespace caudal::inline v0
