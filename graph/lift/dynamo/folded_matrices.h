// Matrices that the exporter computed from several parameters, or from those of a module around the call that uses
// them. Of what made such a constant the file has the name of the last operator alone; that parameters are behind it,
// it shows by listing those that nothing names.
//
//   conv2d(%x, %unsqueeze_1)         in flow.invconv, which lists w_l, w_s, w_u   ->  reshape(mm(mm(w_l, w_s), w_u))
//   einsum('ncvl,vw->ncwl', [%x, %softmax])   in gconv.0.nconv; nodevec1, nodevec2 in the root
//                                                                                 ->  softmax(mm(nodevec1, nodevec2))
//   einsum(.., [%x, %mul_78])        in gcn.1; edge_importance.0 and .1 in the root
//                                                                                 ->  mul(edge_importance.1, number)
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>

#include "graph/lift/builder.h"
#include "graph/lift/dynamo/fx_groups.h"
#include "graph/lift/dynamo/signature.h"

namespace vramplan {

// The result of the layers that made `constant`, called `name` by `user`, from two or more parameters of the innermost
// module; they are added in front of `user`. Parameters of unknown shape are taken to be as large as the constant.
// Invalid: it is no matrix, or there are fewer.
ValueId LiftFoldedProduct(TensorId constant, const std::string& name, const FxGroup& user, LayerBuilder& builder,
                          Signature& signature);

// The same from parameters of the modules around `groups.groups[user]`, the innermost that has any; also from one of
// them. The layers stand in front of the call that the module makes, once for all that name it: `names` learns it.
ValueId LiftFoldedOutside(TensorId constant, const std::string& name, const FxGroups& groups, int32_t user,
                          LayerBuilder& builder, Signature& signature, std::unordered_map<std::string, ValueId>* names);

}  // namespace vramplan
