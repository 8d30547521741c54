#include "caudal/formats/object_graph.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "caudal/base/error.h"
#include "caudal/formats/wire.h"

namespace caudal::inline v0 {
namespace {

constexpr std::string_view kMessage = "object graph";
constexpr std::string_view kValueName = "VARIABLE_VALUE";

int index_of(const WireReader& reader) { return static_cast<int>(reader.varint()); }

ObjectGraph::Child decode_child(std::string_view bytes) {
  ObjectGraph::Child child;
  for (WireReader reader(bytes, kMessage); reader.next();) {
    if (reader.field() == 1) child.object = index_of(reader);
    if (reader.field() == 2) child.name = reader.bytes();
  }
  return child;
}

ObjectGraph::Attribute decode_attribute(std::string_view bytes) {
  ObjectGraph::Attribute attribute;
  for (WireReader reader(bytes, kMessage); reader.next();) {
    if (reader.field() == 1) attribute.name = reader.bytes();
    if (reader.field() == 2) attribute.full_name = reader.bytes();
    if (reader.field() == 3) attribute.key = reader.bytes();
  }
  return attribute;
}

ObjectGraph::Slot decode_slot(std::string_view bytes) {
  ObjectGraph::Slot slot;
  for (WireReader reader(bytes, kMessage); reader.next();) {
    if (reader.field() == 1) slot.variable = index_of(reader);
    if (reader.field() == 2) slot.name = reader.bytes();
    if (reader.field() == 3) slot.slot = index_of(reader);
  }
  return slot;
}

ObjectGraph::Object decode_object(std::string_view bytes) {
  ObjectGraph::Object object;
  for (WireReader reader(bytes, kMessage); reader.next();) {
    if (reader.field() == 1) object.children.push_back(decode_child(reader.bytes()));
    if (reader.field() == 2) object.attributes.push_back(decode_attribute(reader.bytes()));
    if (reader.field() == 3) object.slots.push_back(decode_slot(reader.bytes()));
  }
  return object;
}

WireWriter encode_object(const ObjectGraph::Object& object, bool has_values) {
  WireWriter out;
  for (const auto& child : object.children) {
    WireWriter message;
    message.varint_unless_default(1, static_cast<uint64_t>(child.object));
    message.bytes(2, child.name);
    out.message(1, message);
  }
  for (const auto& attribute : object.attributes) {
    WireWriter message;
    message.bytes(1, attribute.name);
    message.bytes_unless_default(2, attribute.full_name);
    message.bytes(3, attribute.key);
    out.message(2, message);
  }
  for (const auto& slot : object.slots) {
    WireWriter message;
    message.varint_unless_default(1, static_cast<uint64_t>(slot.variable));
    message.bytes(2, slot.name);
    message.varint_unless_default(3, static_cast<uint64_t>(slot.slot));
    out.message(3, message);
  }
  WireWriter flag;
  flag.varint_unless_default(1, has_values ? 1 : 0);
  out.message(5, flag);
  return out;
}

// Whether there is a value in each object or below it.
std::vector<bool> with_values(const ObjectGraph& graph) {
  std::vector<std::vector<int>> parents(graph.objects.size());
  std::vector<bool> has(graph.objects.size());
  std::deque<int> waiting;
  const auto mark = [&](int object) {
    if (has[object]) return;
    has[object] = true;
    waiting.push_back(object);
  };
  for (int i = 0; i < static_cast<int>(graph.objects.size()); ++i) {
    for (const auto& child : graph.objects[i].children) parents[child.object].push_back(i);
    if (!graph.objects[i].attributes.empty() || !graph.objects[i].slots.empty()) mark(i);
  }
  for (; !waiting.empty(); waiting.pop_front()) {
    for (const int parent : parents[waiting.front()]) mark(parent);
  }
  return has;
}

std::string escaped_name(std::string_view name) {
  std::string out;
  for (const char c : name) out += c == '.' ? ".." : c == '/' ? ".S" : std::string(1, c);
  return out;
}

std::string unescaped_name(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    const bool escape = name[i] == '.' && i + 1 < name.size() && (name[i + 1] == '.' || name[i + 1] == 'S');
    out += escape && name[i + 1] == 'S' ? '/' : name[i];
    i += escape ? 1 : 0;
  }
  return out;
}

std::string joined(const std::string& path, std::string_view name) {
  return path.empty() ? escaped_name(name) : path + "/" + escaped_name(name);
}

// Takes the first name off a path.
std::string take_name(std::string_view* path) {
  const size_t end = std::min(path->find('/'), path->size());
  std::string name = unescaped_name(path->substr(0, end));
  path->remove_prefix(std::min(end + 1, path->size()));
  return name;
}

struct SlotPath {
  std::string_view variable, optimizer;
  std::string name;
};

// The parts of "w/.OPTIMIZER_SLOT/optimizer/m"; false for a path of another kind.
bool split_slot(std::string_view path, SlotPath* slot) {
  const size_t at = path.find(kSlotInfix);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = path.substr(at + kSlotInfix.size());
  const size_t last = rest.rfind('/');
  if (last == std::string_view::npos) return false;
  *slot = {path.substr(0, at), rest.substr(0, last), unescaped_name(rest.substr(last + 1))};
  return true;
}

int child_named(const ObjectGraph::Object& object, std::string_view name) {
  for (const auto& child : object.children)
    if (child.name == name) return child.object;
  return -1;
}

int walk(const ObjectGraph& graph, std::string_view path) {
  int at = graph.objects.empty() ? -1 : 0;
  while (at >= 0 && !path.empty()) at = child_named(graph.objects[at], take_name(&path));
  return at;
}

// The object of a path, made if need be.
int reach(ObjectGraph* graph, std::string_view path) {
  const std::string_view whole = path;
  int at = 0;
  do {
    const std::string name = take_name(&path);
    if (name.empty()) throw invalid_argument("'", whole, "' is no path of names of attributes");
    int next = child_named(graph->objects[at], name);
    if (next < 0) {
      next = static_cast<int>(graph->objects.size());
      graph->objects.emplace_back();
      graph->objects[at].children.push_back({next, name});
    }
    at = next;
  } while (!path.empty());
  return at;
}

}  // namespace

std::string ObjectGraph::encode() const {
  const std::vector<bool> has_values = with_values(*this);
  WireWriter out;
  for (size_t i = 0; i < objects.size(); ++i) out.message(1, encode_object(objects[i], has_values[i]));
  return std::move(out).str();
}

ObjectGraph ObjectGraph::decode(std::string_view bytes) {
  ObjectGraph graph;
  for (WireReader reader(bytes, kMessage); reader.next();)
    if (reader.field() == 1) graph.objects.push_back(decode_object(reader.bytes()));
  const auto check = [&](int object) {
    if (object < 0 || object >= static_cast<int>(graph.objects.size()))
      throw data_loss("the object graph names object ", object, " of ", graph.objects.size());
  };
  for (const Object& object : graph.objects) {
    for (const Child& child : object.children) check(child.object);
    for (const Slot& slot : object.slots) {
      check(slot.variable);
      check(slot.slot);
    }
  }
  return graph;
}

ObjectGraph ObjectGraph::of(const std::map<std::string, std::string>& full_names) {
  ObjectGraph graph;
  graph.objects.emplace_back();
  SlotPath slot;
  const auto add_value = [&](int object, const std::string& path, const std::string& full_name) {
    graph.objects[object].attributes.push_back(
        {std::string(kValueName), full_name, internal::concat(path, kValueSuffix)});
  };
  for (const auto& [path, full_name] : full_names)
    if (!split_slot(path, &slot)) add_value(reach(&graph, path), path, full_name);
  for (const auto& [path, full_name] : full_names) {
    if (!split_slot(path, &slot)) continue;
    const int variable = walk(graph, slot.variable);
    if (variable <= 0 || graph.objects[variable].attributes.empty())
      throw invalid_argument("'", path, "' is a slot of '", slot.variable, "', which is not among the variables");
    const int optimizer = reach(&graph, slot.optimizer);
    const int object = static_cast<int>(graph.objects.size());
    graph.objects.emplace_back();
    graph.objects[optimizer].slots.push_back({variable, slot.name, object});
    add_value(object, path, full_name);
  }
  return graph;
}

std::vector<std::string> ObjectGraph::paths() const {
  std::vector<std::string> out(objects.size());
  std::vector<bool> seen(objects.size());
  if (objects.empty()) return out;
  seen[0] = true;
  std::deque<int> order{0};
  for (size_t i = 0; i < order.size(); ++i) {
    for (const Child& child : objects[order[i]].children) {
      if (seen[child.object]) continue;
      seen[child.object] = true;
      out[child.object] = joined(out[order[i]], child.name);
      order.push_back(child.object);
    }
  }
  for (const int optimizer : order) {
    for (const Slot& slot : objects[optimizer].slots) {
      if (seen[slot.slot]) continue;
      seen[slot.slot] = true;
      out[slot.slot] = internal::concat(out[slot.variable], kSlotInfix, joined(out[optimizer], slot.name));
    }
  }
  return out;
}

int ObjectGraph::find(std::string_view path) const {
  SlotPath wanted;
  if (!split_slot(path, &wanted)) return walk(*this, path);
  const int variable = walk(*this, wanted.variable), optimizer = walk(*this, wanted.optimizer);
  if (variable < 0 || optimizer < 0) return -1;
  for (const Slot& slot : objects[optimizer].slots)
    if (slot.variable == variable && slot.name == wanted.name) return slot.slot;
  return -1;
}

}  // namespace caudal::inline v0
