#include "planner/report/json/places.h"

namespace vramplan {

Fields<LineOf> Described<LineOf>::Make() {
  return Fields<LineOf>()
      .Has("file", "", &LineOf::place, &CodePlace::file)
      .Has("line", "", &LineOf::place, &CodePlace::line);
}

Fields<CodePlace> Described<CodePlace>::Make() {
  return Fields<CodePlace>().All<LineOf>(As<LineOf>).Has("function", "", &CodePlace::function);
}

Fields<HeldRow> Described<HeldRow>::Make() {
  return Fields<HeldRow>()
      .All<CodePlace>(&HeldRow::place)
      .Has("caller", "the script's own line behind a library's",
           [](const HeldRow& row) {
             return row.caller.file.empty() ? std::nullopt : std::optional<LineOf>(LineOf{&row.caller});
           })
      .Has("module", "", &HeldRow::module)
      .Has("kind",
           "frozen_weights, trained_weights, weights, buffers, gradients, optimizer_state, inputs, activations, "
           "outputs, "
           "temporaries, workspaces; untold: nobody said",
           &HeldRow::kind)
      .Has("phase", "in which it was made", &HeldRow::phase)
      .Has("blocks", "", &HeldRow::blocks)
      .Has("bytes", "", &HeldRow::bytes);
}

}  // namespace vramplan
