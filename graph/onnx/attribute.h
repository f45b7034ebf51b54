// AttributeProto becomes an AttributeValue. Subgraphs are read in build.cc, which knows the names around them.
#pragma once

#include <optional>
#include <string>

#include "graph/base/result.h"
#include "graph/ir/graph.h"
#include "graph/onnx/names.h"

namespace onnx {
class AttributeProto;
}

namespace vramplan {

// Nothing for kinds that no rule reads (types, lists of tensors). `part` names the attribute in errors, which leave the
// subject empty.
Result<std::optional<AttributeValue>> ReadAttribute(const onnx::AttributeProto& proto, const Part& part);

// What a Constant node with this attribute makes: value, sparse_value, value_float(s), value_int(s), value_string(s).
Result<StoredTensor> ReadConstant(const std::string& name, const onnx::AttributeProto& proto, const Part& part);

}  // namespace vramplan
