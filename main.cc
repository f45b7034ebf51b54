#include "planner/cli/run.h"

int main(int argc, char** argv) { return vramplan::Run(argc, argv); }
