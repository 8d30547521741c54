#include "caudal/ops/map_fn.h"

#include "caudal/base/error.h"
#include "caudal/graph/scope.h"
#include "caudal/ops/constant.h"
#include "caudal/ops/elementwise_binary.h"
#include "caudal/ops/slicing.h"
#include "caudal/ops/tensor_array.h"
#include "caudal/ops/tensor_list_ops.h"

namespace caudal::inline v0 {
namespace {

PartialShape row_shape(const PartialShape& shape) {
  if (!shape.has_rank() || shape.rank() == 0) return PartialShape::unknown();
  return PartialShape(std::vector<std::int64_t>(shape.dims().begin() + 1, shape.dims().end()));
}

// The element_shape argument of list ops.
Operand shape_operand(const PartialShape& shape) {
  if (!shape.has_rank()) return Tensor(std::int32_t{-1});
  std::vector<int> sizes;
  for (const std::int64_t size : shape.dims()) sizes.push_back(static_cast<int>(size));
  return sizes;
}

// Rows that a loop reads or writes: a TensorArray in v1 loops, a TensorList in v2 loops. A value: a write gives new
// Rows.
class Rows {
 public:
  // So many rows to be written.
  Rows(bool v2, DType dtype, const Operand& count, const PartialShape& shape, bool infer_shape)
      : dtype_(dtype), shape_(shape) {
    if (v2) {
      list_ = raw_ops::tensor_list_reserve(shape_operand(shape), count, dtype, {.name = "TensorArrayV2"});
    } else {
      array_.emplace(dtype, count, TensorArrayOptions{.infer_shape = infer_shape, .element_shape = shape});
    }
  }
  // The rows of a tensor.
  Rows(bool v2, const Output& tensor, const Operand& count, bool known_shape)
      : dtype_(tensor.dtype()), shape_(row_shape(tensor.shape())) {
    if (v2) {
      list_ = raw_ops::tensor_list_from_tensor(tensor, shape_operand(shape_));
    } else {
      const PartialShape shape = known_shape ? shape_ : PartialShape::unknown();
      array_ = TensorArray(dtype_, count, {.element_shape = shape}).unstack(tensor);
    }
  }

  // What loops carry from turn to turn.
  const Output& state() const { return array_ ? array_->flow() : list_; }
  Rows with_state(const Output& state) const {
    Rows rows = *this;
    if (array_) {
      rows.array_ = array_->with_flow(state);
    } else {
      rows.list_ = state;
    }
    return rows;
  }
  Output read(const Operand& i) const {
    return array_ ? array_->read(i) : raw_ops::tensor_list_get_item(list_, i, shape_operand(shape_), dtype_);
  }
  Rows write(const Operand& i, const Output& row) const {
    return with_state(array_ ? array_->write(i, row).flow() : raw_ops::tensor_list_set_item(list_, i, row));
  }
  // `written` is what is known of the rows' shape where that was not known from the start.
  Output stack(const PartialShape& written) const {
    if (array_) return array_->stack();
    const PartialShape& shape = shape_.has_rank() ? shape_ : written;
    return raw_ops::tensor_list_stack(list_, shape_operand(shape), dtype_);
  }

 private:
  DType dtype_;
  PartialShape shape_;
  std::optional<TensorArray> array_;
  Output list_;
};

// Elements to go over, and how many rows they have: a number if it is known.
struct Elements {
  std::vector<Rows> rows;
  Operand count = 0;
  std::int64_t known_count = -1;

  Outputs read(const Operand& i) const {
    Outputs values;
    for (const Rows& each : rows) values.push_back(each.read(i));
    return values;
  }
};

Elements unstacked(const Outputs& elems, bool v2, bool known_shape) {
  if (elems.empty()) throw invalid_argument("there are no elements to go over");
  Elements result;
  for (const Output& elem : elems) {
    if (!elem.shape().has_rank()) continue;
    if (elem.shape().rank() == 0) {
      throw invalid_argument("elements are the rows of tensors, and ", elem.describe(), " is a scalar");
    }
    const std::int64_t rows = elem.shape().dim(0);
    if (rows >= 0 && result.known_count >= 0 && rows != result.known_count) {
      throw invalid_argument("'", elem.name(), "' has ", rows, " rows, another tensor ", result.known_count);
    }
    if (rows >= 0) result.known_count = rows;
  }
  const bool first_known = elems[0].shape().has_rank() && elems[0].shape().dim(0) > 0;
  if (first_known) {
    result.count = static_cast<std::int32_t>(elems[0].shape().dim(0));
  } else {
    const Output sizes = OpBuilder("Shape", {}).input(elems[0]).build();
    result.count =
        OpBuilder("StridedSlice", {}).input(sizes).input({0}).input({1}).input({1}).attr("shrink_axis_mask", 1).build();
  }
  for (const Output& elem : elems) result.rows.emplace_back(v2, elem, result.count, known_shape);
  return result;
}

template <class Options>
WhileOptions loop_options(const Options& options, const Operand& count, bool v2) {
  return {.shape_invariants = {},
          .parallel_iterations = options.parallel_iterations,
          .back_prop = options.back_prop,
          .swap_memory = options.swap_memory,
          .maximum_iterations = count,
          .v2 = v2};
}

void set_row_count(const Output& stacked, std::int64_t count) {
  if (!stacked.shape().has_rank() || stacked.shape().rank() == 0) return;
  stacked.set_shape(PartialShape::unknown_of_rank(stacked.shape().rank()).with_dim(0, count));
}

void check_count(const Outputs& results, std::size_t wanted) {
  if (results.size() == wanted) return;
  throw invalid_argument("the function returns ", results.size(), " tensors; ", wanted, " are wanted");
}

// The states of all, behind what the loop carries otherwise.
void append_states(const std::vector<Rows>& rows, Outputs& variables) {
  for (const Rows& each : rows) variables.push_back(each.state());
}

Outputs map_rows(const MapManyFn& fn, const Outputs& elems, const MapOptions& options, bool v2) {
  const Elements elements = unstacked(elems, v2, /*known_shape=*/false);
  const Output start = constant(0);
  std::vector<Rows> results;
  std::vector<DType> dtypes = options.dtypes;
  if (dtypes.empty()) {
    for (const Output& elem : elems) dtypes.push_back(elem.dtype());
  }
  for (const DType dtype : dtypes) {
    results.emplace_back(v2, dtype, elements.count, PartialShape::unknown(), options.infer_shape);
  }
  Outputs variables = {start};
  append_states(results, variables);
  std::vector<PartialShape> row_shapes;
  const LoopBody body = [&](const Outputs& now) {
    const Outputs made = fn(elements.read(now[0]));
    check_count(made, results.size());
    Outputs next;
    std::vector<Output> states;
    for (std::size_t k = 0; k < results.size(); ++k) {
      row_shapes.push_back(made[k].shape());
      states.push_back(results[k].with_state(now[k + 1]).write(now[0], made[k]).state());
    }
    next.push_back(add(now[0], 1));
    next.insert(next.end(), states.begin(), states.end());
    return next;
  };
  const Outputs done = while_loop([&](const Outputs& now) { return less(now[0], elements.count); }, body, variables,
                                  loop_options(options, elements.count, v2));
  Outputs stacked;
  for (std::size_t k = 0; k < results.size(); ++k) {
    stacked.push_back(results[k].with_state(done[k + 1]).stack(row_shapes[k]));
    set_row_count(stacked.back(), elements.known_count);
  }
  return stacked;
}

Outputs initial_values(const FoldOptions& options) {
  Outputs values;
  for (const Operand& value : options.initializer) values.push_back(value.to_output());
  return values;
}

LoopBody fold_body(const FoldManyFn& fn, const Elements& elements, std::size_t size, bool backwards) {
  return [&fn, &elements, size, backwards](const Outputs& now) {
    const Output i = backwards ? subtract(now[0], 1) : now[0];
    const Outputs so_far(now.begin() + 1, now.end());
    const Outputs results = fn(so_far, elements.read(i));
    check_count(results, size);
    Outputs next = {backwards ? i : add(i, 1)};
    next.insert(next.end(), results.begin(), results.end());
    return next;
  };
}

Output last_index(const Operand& count) { return subtract(count, 1); }

Outputs fold_rows(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options, bool backwards, bool v2) {
  const Elements elements = unstacked(elems, v2, /*known_shape=*/false);
  Outputs variables = initial_values(options);
  Output start;
  if (variables.empty()) {
    start = backwards ? last_index(elements.count) : constant(1);
    variables = elements.read(backwards ? Operand(start) : Operand(0));
  } else {
    start = backwards ? elements.count.to_output() : constant(0);
  }
  const std::size_t size = variables.size();
  variables.insert(variables.begin(), start);
  const LoopCondition goes_on = [&](const Outputs& now) {
    return backwards ? greater(now[0], 0) : less(now[0], elements.count);
  };
  Outputs done = while_loop(goes_on, fold_body(fn, elements, size, backwards), variables,
                            loop_options(options, elements.count, v2));
  done.erase(done.begin());
  return done;
}

Outputs scan_rows(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options, bool v2) {
  const Elements elements = unstacked(elems, v2, /*known_shape=*/true);
  Outputs so_far = initial_values(options);
  const bool from_first = so_far.empty();
  const Operand first = options.reverse ? Operand(last_index(elements.count)) : Operand(0);
  if (from_first) so_far = elements.read(first);
  const std::size_t size = so_far.size();
  std::vector<Rows> results;
  for (const Output& value : so_far) {
    const PartialShape shape = options.infer_shape ? value.shape() : PartialShape::unknown();
    results.emplace_back(v2, value.dtype(), elements.count, shape, options.infer_shape);
    if (from_first) results.back() = results.back().write(first, value);
  }
  Output start = from_first ? constant(1) : constant(0);
  if (options.reverse) start = subtract(last_index(elements.count), start);
  Outputs variables = {start};
  variables.insert(variables.end(), so_far.begin(), so_far.end());
  append_states(results, variables);
  const LoopBody body = [&](const Outputs& now) {
    const Outputs values(now.begin() + 1, now.begin() + 1 + static_cast<std::ptrdiff_t>(size));
    const Outputs next_values = fn(values, elements.read(now[0]));
    check_count(next_values, size);
    std::vector<Output> states;
    for (std::size_t k = 0; k < size; ++k) {
      states.push_back(results[k].with_state(now[1 + size + k]).write(now[0], next_values[k]).state());
    }
    Outputs next = {options.reverse ? subtract(now[0], 1) : add(now[0], 1)};
    next.insert(next.end(), next_values.begin(), next_values.end());
    next.insert(next.end(), states.begin(), states.end());
    return next;
  };
  const LoopCondition goes_on = [&](const Outputs& now) {
    return options.reverse ? greater_equal(now[0], 0) : less(now[0], elements.count);
  };
  const Outputs done = while_loop(goes_on, body, variables, loop_options(options, elements.count, v2));
  Outputs stacked;
  for (std::size_t k = 0; k < size; ++k) {
    stacked.push_back(results[k].with_state(done[1 + size + k]).stack(so_far[k].shape()));
    set_row_count(stacked.back(), elements.known_count);
  }
  return stacked;
}

// Runs `build` in the scope of a call.
template <class Options, class Build>
Outputs called(const Options& options, std::string_view name, const Build& build) {
  const LocationScope where(options.where);
  const NameScope scope(options.name.empty() ? name : std::string_view(options.name));
  try {
    return build(options.v2.value_or(control_flow_v2_enabled()));
  } catch (const Error& error) {
    throw error.made_at(short_location(options.where));
  }
}

FoldManyFn many(const FoldFn& fn) {
  return [&fn](const Outputs& so_far, const Outputs& rows) { return Outputs{fn(so_far[0], rows[0])}; };
}

}  // namespace

Outputs map_fn(const MapManyFn& fn, const Outputs& elems, const MapOptions& options) {
  return called(options, "map", [&](bool v2) { return map_rows(fn, elems, options, v2); });
}

Output map_fn(const MapFn& fn, const Operand& elems, const MapOptions& options) {
  const MapManyFn many = [&fn](const Outputs& rows) { return Outputs{fn(rows[0])}; };
  return called(options, "map", [&](bool v2) { return map_rows(many, {elems.to_output()}, options, v2); })[0];
}

Outputs foldl(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options) {
  return called(options, "foldl", [&](bool v2) { return fold_rows(fn, elems, options, false, v2); });
}

Output foldl(const FoldFn& fn, const Operand& elems, const FoldOptions& options) {
  return called(options, "foldl",
                [&](bool v2) { return fold_rows(many(fn), {elems.to_output()}, options, false, v2); })[0];
}

Outputs foldr(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options) {
  return called(options, "foldr", [&](bool v2) { return fold_rows(fn, elems, options, true, v2); });
}

Output foldr(const FoldFn& fn, const Operand& elems, const FoldOptions& options) {
  return called(options, "foldr",
                [&](bool v2) { return fold_rows(many(fn), {elems.to_output()}, options, true, v2); })[0];
}

Outputs scan(const FoldManyFn& fn, const Outputs& elems, const FoldOptions& options) {
  return called(options, "scan", [&](bool v2) { return scan_rows(fn, elems, options, v2); });
}

Output scan(const FoldFn& fn, const Operand& elems, const FoldOptions& options) {
  return called(options, "scan", [&](bool v2) { return scan_rows(many(fn), {elems.to_output()}, options, v2); })[0];
}

}  // namespace caudal::inline v0
