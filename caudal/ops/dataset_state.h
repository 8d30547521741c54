// How the position of an iterator becomes bytes and back.
//
// One function serves both ways: what an iterator passes to `number`, `text`, ... is written when the archive saves and
// set when it loads, so that the two cannot differ:
//
//   void transfer(const Iteration& c, StateArchive& a) override { a.tag("Take"); a.number(taken_); transfer_input(c,
//   a); }
//
// Format: a sequence of varints, length-prefixed texts and tensors (type, rank, sizes, elements), little-endian.
// Errors: what does not fit is DATA_LOSS; sizes are checked before memory is taken. Thread safety: none.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "caudal/tensor/tensor.h"

namespace caudal::inline v0::ops {

class StateArchive {
 public:
  // Saves.
  StateArchive() : saving_(true) {}
  // Loads from bytes that must live as long.
  explicit StateArchive(std::string_view bytes) : saving_(false), rest_(bytes) {}

  bool saving() const { return saving_; }
  // What follows belongs to a thing of that kind. Throws DATA_LOSS when it was saved by another.
  void tag(std::string_view kind);
  void number(std::int64_t& value);
  void number(std::uint64_t& value);
  void flag(bool& value);
  void text(std::string& value);
  // Throws UNIMPLEMENTED for elements that have no bytes (resources, datasets other than windows).
  void tensor(Tensor& value);
  void tensors(std::vector<Tensor>& values);
  // The number of things that follow; loads at most as many as there are bytes.
  std::size_t count(std::size_t value);
  template <class T>
  void numbers(std::vector<T>& values) {
    values.resize(count(values.size()));
    for (T& value : values) {
      std::int64_t number = static_cast<std::int64_t>(value);
      this->number(number);
      value = static_cast<T>(number);
    }
  }

  // What was saved.
  std::string take() { return std::move(out_); }
  // Throws DATA_LOSS if something is left.
  void check_end() const;

 private:
  void variant(Variant& value);
  std::uint64_t read_varint();
  std::string_view read_bytes(std::uint64_t size);

  const bool saving_;
  std::string out_;
  std::string_view rest_;
};

}  // namespace caudal::inline v0::ops
