#include "graph/onnx/messages.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/message_lite.h>

#include "graph/onnx/compact.h"
#include "graph/onnx/wire.h"

namespace vramplan {
namespace {

// Calls visit(number, payload) for each field that holds bytes.
template <typename Visit>
void ForEachPayload(std::string_view message, const Visit& visit) {
  wire::Reader reader(message);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.kind == wire::Kind::kBytes) visit(field.number, field.payload);
  }
}

}  // namespace

std::vector<std::string_view> Payloads(std::string_view message, uint32_t number) {
  std::vector<std::string_view> found;
  ForEachPayload(message, [&](uint32_t at, std::string_view payload) {
    if (at == number) found.push_back(payload);
  });
  return found;
}

std::string_view Payload(std::string_view message, uint32_t number) {
  std::string_view found;
  ForEachPayload(message, [&](uint32_t at, std::string_view payload) {
    if (at == number) found = payload;
  });
  return found;
}

void NodeView::Read(std::string_view message) {
  name = op = domain = overload = {};
  for (auto* list : {&inputs, &outputs, &attributes, &metadata}) list->clear();
  ForEachPayload(message, [&](uint32_t number, std::string_view payload) {
    switch (number) {
      case 1:
        return inputs.push_back(payload);
      case 2:
        return outputs.push_back(payload);
      case 3:
        name = payload;
        return;
      case 4:
        op = payload;
        return;
      case 5:
        return attributes.push_back(payload);
      case 7:
        domain = payload;
        return;
      case 8:
        overload = payload;
        return;
      case 9:
        return metadata.push_back(payload);
      default:
        return;
    }
  });
}

AttributeView::AttributeView(std::string_view bytes) : message(bytes) {
  ForEachPayload(bytes, [&](uint32_t number, std::string_view payload) {
    if (number == 1) name = payload;
    if (number == 6) graph = payload;
    if (number == 11) graphs.push_back(payload);
    if (number == 21) reference = payload;
  });
}

Status Parse(std::string_view bytes, google::protobuf::MessageLite* message) {
  google::protobuf::io::CodedInputStream stream(reinterpret_cast<const uint8_t*>(bytes.data()),
                                                static_cast<int>(bytes.size()));
  stream.SetRecursionLimit(kMaxMessageDepth + 32);  // types within types, which Compact does not look into
  if (message->ParsePartialFromCodedStream(&stream) && stream.ConsumedEntireMessage()) return Done{};
  return Error{ErrorCode::kBadInput, "", "damaged: protobuf cannot read its structure",
               "copy, download or export it again"};
}

Status ParseHeader(std::string_view model, google::protobuf::MessageLite* header) {
  std::string bytes;
  wire::Reader reader(model);
  wire::Field field;
  while (reader.Next(&field)) {
    if (field.number != field::kModelGraph && field.number != field::kModelFunction) bytes.append(field.whole);
  }
  return Parse(bytes, header);
}

}  // namespace vramplan
