// Example and SequenceExample: TensorFlow's records of named features
// (tensorflow/core/example/{feature,example}.proto).
//
//   Example { 1: Features }                   SequenceExample { 1: Features context; 2: FeatureLists }
//   Features { 1: map<string, Feature> }      FeatureLists { 1: map<string, FeatureList> }
//   Feature { 1: BytesList | 2: FloatList | 3: Int64List }, each list { 1: repeated value }
//
// Two ways to read: parse_example() makes values to keep; the *_fields() functions cut a record into pieces that refer
// to its bytes, for readers that want a few features of many records. As in protobuf, of two entries of one name the
// last counts, and so does the last kind of a feature. Errors: DATA_LOSS for malformed bytes. Thread safety: values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "caudal/base/export.h"

namespace caudal::inline v0 {

// A feature without a kind holds the monostate: it counts as missing.
using Feature = std::variant<std::monostate, std::vector<std::string>, std::vector<float>, std::vector<std::int64_t>>;
using Features = std::map<std::string, Feature>;

struct Example {
  Features features;
};

struct SequenceExample {
  Features context;                                           // of the whole sequence
  std::map<std::string, std::vector<Feature>> feature_lists;  // one feature per step
};

CAUDAL_API Example parse_example(std::string_view bytes);
CAUDAL_API SequenceExample parse_sequence_example(std::string_view bytes);

// The record as TensorFlow writes it: features in the order of their names, numbers packed.
CAUDAL_API std::string example_bytes(const Example& example);
CAUDAL_API std::string sequence_example_bytes(const SequenceExample& example);

enum class FeatureKind { kNone, kBytes, kFloat, kInt64 };

// A feature as it lies in the record.
class CAUDAL_API FeatureField {
 public:
  FeatureField() = default;
  // Takes the kind from the encoded Feature message. Throws DATA_LOSS.
  explicit FeatureField(std::string_view bytes);

  FeatureKind kind() const { return kind_; }
  // Appends the values. REQUIRES: the kind is the vector's. Throws DATA_LOSS.
  void append_to(std::vector<std::string>* values) const;
  void append_to(std::vector<float>* values) const;
  void append_to(std::vector<std::int64_t>* values) const;

 private:
  template <class Use>
  void each_value(Use&& use) const;

  std::string_view bytes_;
  const char* start_ = nullptr;  // of the first list that counts: lists of one kind join, another kind drops them
  FeatureKind kind_ = FeatureKind::kNone;
};

struct NamedField {
  std::string_view name;
  std::string_view bytes;  // a Feature, or the FeatureList of a name of `feature_lists`
};

// The features of an Example, in the record's order; of several of one name the last counts.
CAUDAL_API std::vector<NamedField> example_fields(std::string_view example);

struct SequenceFields {
  std::vector<NamedField> context;
  std::vector<NamedField> feature_lists;
};
CAUDAL_API SequenceFields sequence_example_fields(std::string_view example);

// The features of a FeatureList, one per step.
CAUDAL_API std::vector<std::string_view> feature_list_fields(std::string_view feature_list);

}  // namespace caudal::inline v0
