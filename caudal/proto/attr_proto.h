// AttrValue and op definitions <-> their messages.
#pragma once

#include <string_view>

#include "caudal/core/attr.h"
#include "caudal/core/op_def.h"
#include "caudal/graph/function.h"
#include "caudal/proto/graph.pb.h"

namespace caudal::inline v0 {

pb::AttrValue to_proto(const AttrValue& value);
// A list of no kind becomes list(int); complete_attrs() gives it the kind that the op wants.
// Throws INVALID_ARGUMENT, also for functions nested deeper than 64.
AttrValue from_proto(const pb::AttrValue& proto);

using AttrProtoMap = google::protobuf::Map<std::string, pb::AttrValue>;
AttrMap from_proto(const AttrProtoMap& proto, int depth = 0);
void to_proto(const AttrMap& attrs, AttrProtoMap* proto);

pb::OpDef to_proto(const OpDef& def);
OpDef from_proto(const pb::OpDef& proto);

pb::FunctionDef to_proto(const Function& function);
Function from_proto(const pb::FunctionDef& proto);
pb::NodeDef to_proto(const NodeRecord& record);
NodeRecord from_proto(const pb::NodeDef& proto);

}  // namespace caudal::inline v0
