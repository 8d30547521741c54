#include "caudal/formats/example.h"

#include "caudal/base/error.h"
#include "caudal/formats/wire.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kExample = "Example";

// Calls `use` with the value of each field 1 of `bytes`: what the repeated messages and the maps here are made of.
template <class Use>
void each_first(std::string_view bytes, Use&& use) {
  for (WireReader reader(bytes, kExample); reader.next();) {
    if (reader.field() == 1) use(reader);
  }
}

// Appends the entries of a map<string, message>.
void append_entries(std::string_view map, std::vector<NamedField>* fields) {
  each_first(map, [&](const WireReader& entry) {
    NamedField field;
    for (WireReader reader(entry.bytes(), kExample); reader.next();) {
      if (reader.field() == 1) field.name = reader.bytes();
      if (reader.field() == 2) field.bytes = reader.bytes();
    }
    fields->push_back(field);
  });
}

Feature parse_feature(std::string_view bytes) {
  const FeatureField field(bytes);
  const auto values = [&](auto list) -> Feature {
    field.append_to(&list);
    return list;
  };
  switch (field.kind()) {
    case FeatureKind::kBytes:
      return values(std::vector<std::string>{});
    case FeatureKind::kFloat:
      return values(std::vector<float>{});
    case FeatureKind::kInt64:
      return values(std::vector<std::int64_t>{});
    default:
      return {};
  }
}

Features parse_features(const std::vector<NamedField>& fields) {
  Features features;
  for (const NamedField& field : fields) features.insert_or_assign(std::string(field.name), parse_feature(field.bytes));
  return features;
}

std::string feature_bytes(const Feature& feature) {
  WireWriter list, out;
  if (const auto* texts = std::get_if<std::vector<std::string>>(&feature)) {
    for (const std::string& text : *texts) list.bytes(1, text);
    out.message(1, list);
  } else if (const auto* reals = std::get_if<std::vector<float>>(&feature)) {
    if (!reals->empty()) list.packed(1, *reals);
    out.message(2, list);
  } else if (const auto* numbers = std::get_if<std::vector<std::int64_t>>(&feature)) {
    std::string packed;
    for (const std::int64_t number : *numbers) put_varint(&packed, static_cast<std::uint64_t>(number));
    list.bytes_unless_default(1, packed);
    out.message(3, list);
  }
  return std::move(out).str();
}

WireWriter entry(const std::string& name, std::string_view value) {
  WireWriter out;
  out.bytes(1, name);
  out.bytes(2, value);
  return out;
}

WireWriter map_of(const Features& features) {
  WireWriter map;
  for (const auto& [name, feature] : features) map.message(1, entry(name, feature_bytes(feature)));
  return map;
}

}  // namespace

FeatureField::FeatureField(std::string_view bytes) : bytes_(bytes) {
  for (WireReader reader(bytes, kExample); reader.next();) {
    if (reader.field() > 3) continue;
    const auto kind = static_cast<FeatureKind>(reader.field());
    if (kind != kind_) start_ = reader.bytes().data();
    kind_ = kind;
  }
}

template <class Use>
void FeatureField::each_value(Use&& use) const {
  for (WireReader reader(bytes_, kExample); reader.next();) {
    if (reader.field() == static_cast<int>(kind_) && reader.bytes().data() >= start_) each_first(reader.bytes(), use);
  }
}

void FeatureField::append_to(std::vector<std::string>* values) const {
  each_value([&](const WireReader& value) { values->emplace_back(value.bytes()); });
}

void FeatureField::append_to(std::vector<float>* values) const {
  each_value([&](const WireReader& value) { value.append_reals(values); });
}

void FeatureField::append_to(std::vector<std::int64_t>* values) const {
  each_value([&](const WireReader& value) {
    if (value.type() != WireType::kBytes) {
      values->push_back(value.int64());
      return;
    }
    ByteReader packed(value.bytes());
    for (std::uint64_t number; !packed.empty(); values->push_back(static_cast<std::int64_t>(number))) {
      if (!packed.varint(&number)) throw data_loss("malformed Example: a packed field has a partial number");
    }
  });
}

std::vector<NamedField> example_fields(std::string_view example) {
  std::vector<NamedField> fields;
  each_first(example, [&](const WireReader& features) { append_entries(features.bytes(), &fields); });
  return fields;
}

SequenceFields sequence_example_fields(std::string_view example) {
  SequenceFields fields;
  for (WireReader reader(example, "SequenceExample"); reader.next();) {
    if (reader.field() == 1) append_entries(reader.bytes(), &fields.context);
    if (reader.field() == 2) append_entries(reader.bytes(), &fields.feature_lists);
  }
  return fields;
}

std::vector<std::string_view> feature_list_fields(std::string_view feature_list) {
  std::vector<std::string_view> steps;
  each_first(feature_list, [&](const WireReader& step) { steps.push_back(step.bytes()); });
  return steps;
}

Example parse_example(std::string_view bytes) { return {parse_features(example_fields(bytes))}; }

SequenceExample parse_sequence_example(std::string_view bytes) {
  const SequenceFields fields = sequence_example_fields(bytes);
  SequenceExample example{.context = parse_features(fields.context), .feature_lists = {}};
  for (const NamedField& list : fields.feature_lists) {
    std::vector<Feature> steps;
    for (const std::string_view step : feature_list_fields(list.bytes)) steps.push_back(parse_feature(step));
    example.feature_lists.insert_or_assign(std::string(list.name), std::move(steps));
  }
  return example;
}

std::string example_bytes(const Example& example) {
  WireWriter out;
  out.message(1, map_of(example.features));
  return std::move(out).str();
}

std::string sequence_example_bytes(const SequenceExample& example) {
  WireWriter lists;
  for (const auto& [name, steps] : example.feature_lists) {
    WireWriter list;
    for (const Feature& step : steps) list.bytes(1, feature_bytes(step));
    lists.message(1, entry(name, list.str()));
  }
  WireWriter out;
  out.message(1, map_of(example.context));
  out.message(2, lists);
  return std::move(out).str();
}

}  // namespace caudal::inline v0
