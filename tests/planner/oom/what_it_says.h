// What was read of a message, in one line: only what it says.
#pragma once

#include <string>

#include "planner/oom/message.h"

namespace vramplan::testing {

inline std::string WhatItSays(const std::string& text) {
  const Result<OutOfMemory> read = ReadOutOfMemory("pasted", text);
  if (!read.ok()) return ToString(read.error());
  std::string line(read->kind);
  if (read->place != MemoryPlace::kCard) line += " (" + std::string(Name(read->place)) + ")";
  if (!read->backend.empty()) line += " " + std::string(read->backend);
  if (read->gpu) line += " gpu " + std::to_string(*read->gpu);
  if (read->before_2) line += " before 2.0";
  const auto add = [&](const std::string& name, const std::optional<Bytes>& bytes) {
    if (bytes) line += ", " + name + " " + ToString(*bytes);
  };
  add("tried", read->tried);
  add(read->pool.empty() ? "capacity" : std::string(read->pool), read->capacity);
  add("free", read->free);
  add("allowed", read->allowed);
  add("allocated", read->allocated);
  add("pools", read->private_pools);
  add("unallocated", read->unallocated);
  add("reserved", read->reserved);
  add("in use", read->in_use);
  add("outside", read->outside);
  add("total", read->total);
  for (const OutOfMemoryPart& part : read->parts) add(std::string(part.name), part.bytes);
  if (read->tokens) line += ", tokens " + std::to_string(*read->tokens);
  if (read->tokens_fit) line += ", fit " + std::to_string(*read->tokens_fit);
  for (const OutOfMemoryProcess& process : read->processes)
    add(std::to_string(process.pid) + (process.own ? " (own)" : ""), process.in_use);
  if (!read->shape.empty()) line += ", " + read->shape;
  if (!read->op.empty()) line += ", op " + read->op;
  if (!read->node.empty()) line += ", node " + read->node;
  return line;
}

}  // namespace vramplan::testing
