// A session on one card through the driver: its primary context, which is the one that PyTorch uses too.
//
// If a call fails in a way from which a context does not recover, the card is lost: every later call returns that first
// error, and the end of the session only releases the context.
#pragma once

#include <memory>
#include <string>

#include "cuda_probe/driver_api.h"
#include "cuda_probe/probe.h"

namespace vramplan {

// `subject` names the card in errors: "card 0".
Result<std::unique_ptr<CardSession>> OpenSession(const DriverApi& api, CUdevice device, const std::string& subject);

}  // namespace vramplan
