// Names from a file inside a message: 'conv1', with bytes that a terminal would obey made visible and long ones cut.
#pragma once

#include <string>
#include <string_view>

namespace vramplan {

std::string Quoted(std::string_view name);

}  // namespace vramplan
