// Run: the command line from argv to exit code (0 done / fits, 1 bad input, 2 usage, 3 does not fit, 4 no card, 70
// internal). stdout is the result; stderr is notes and errors.
#pragma once

namespace vramplan {

class Probe;

// `machine`: null: this one.
int Run(int argc, const char* const* argv, Probe* machine = nullptr);

}  // namespace vramplan
