#include "graph/lift/patterns_modules.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

namespace vramplan {
namespace {

// "relu_12" -> "relu"; empty when there is no such ending.
std::string_view WithoutCallNumber(std::string_view segment) {
  size_t digits = 0;
  while (digits < segment.size() && std::isdigit(static_cast<unsigned char>(segment[segment.size() - 1 - digits]))) {
    ++digits;
  }
  if (digits == 0 || digits + 1 >= segment.size() || segment[segment.size() - 1 - digits] != '_') return {};
  return segment.substr(0, segment.size() - 1 - digits);
}

std::vector<std::string_view> Segments(std::string_view scope) {
  std::vector<std::string_view> segments;
  while (!scope.empty()) {
    const size_t slash = std::min(scope.find('/'), scope.size());
    if (slash > 0) segments.push_back(scope.substr(0, slash));
    scope.remove_prefix(std::min(slash + 1, scope.size()));
  }
  return segments;
}

// Every module that owns a stored tensor, and the modules around it.
std::unordered_set<std::string> OwnersOfStored(const Graph& graph) {
  std::unordered_set<std::string> owners;
  for (const Tensor& tensor : graph.tensors) {
    if (!tensor.stored.has_value() || tensor.stored->literal || !IsModulePath(tensor.name)) continue;
    for (size_t dot = tensor.name.rfind('.'); dot != std::string::npos && dot > 0;
         dot = tensor.name.rfind('.', dot - 1)) {
      if (!owners.insert(tensor.name.substr(0, dot)).second) break;
    }
  }
  return owners;
}

ModulePath PathOfScope(std::string_view scope, const std::unordered_set<std::string>& scopes,
                       const std::unordered_set<std::string>& owners, bool numbers_calls) {
  ModulePath path;
  std::string raw;                    // the scope read so far
  std::string_view previous;          // its last segment as written
  std::string previous_name, around;  // the same without its call number, and the path around it
  for (const std::string_view segment : Segments(scope)) {
    std::string name(segment);
    std::string base = path.empty() ? std::string() : path.back().path;
    if (!previous.empty() && segment.size() > previous.size() && segment.substr(0, previous.size()) == previous &&
        segment[previous.size()] == '.') {
      name = previous_name + std::string(segment.substr(previous.size()));
      base = around;
    }
    const auto under = [](const std::string& outer, const std::string& inner) {
      return outer.empty() ? inner : outer + "." + inner;
    };
    const std::string_view first_call = WithoutCallNumber(name);
    if (numbers_calls && !first_call.empty() && owners.count(under(base, name)) == 0 &&
        scopes.count(raw + "/" + std::string(WithoutCallNumber(segment))) != 0) {
      name = std::string(first_call);
    }
    raw += "/" + std::string(segment);
    previous = segment;
    previous_name = name;
    around = base;
    path.push_back({.path = under(base, name), .class_name = ""});
  }
  return path;
}

// "val_12": a value that the dynamo exporter (onnxscript's opset 18 functions) or onnxsim made up.
bool IsNumbered(std::string_view name, std::string_view prefix) {
  if (name.size() <= prefix.size() || name.substr(0, prefix.size()) != prefix) return false;
  name.remove_prefix(prefix.size());
  return std::all_of(name.begin(), name.end(), [](unsigned char c) { return std::isdigit(c); });
}

}  // namespace

bool IsModulePath(const std::string& name) {
  if (IsNumbered(name, "val_") || IsNumbered(name, "_v_")) return false;
  bool letter = false;
  for (const char c : name) {
    if (std::isalpha(static_cast<unsigned char>(c)) || c == '_') {
      letter = true;
    } else if (!std::isdigit(static_cast<unsigned char>(c)) && c != '.' && c != '-') {
      return false;
    }
  }
  return letter;
}

ModulePaths::ModulePaths(const Graph& graph) {
  std::unordered_map<std::string, int32_t> numbers;
  std::vector<std::string> texts;
  const auto number_of = [&](const std::string& scope) {
    const auto [found, fresh] = numbers.emplace(scope, static_cast<int32_t>(texts.size()));
    if (fresh) texts.push_back(scope);
    return found->second;
  };
  int32_t last = number_of("");
  scope_of_.reserve(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    // A simplifier's node has a name without a scope, its result may have kept that of the node it stands for.
    const std::string* name = &node.name;
    if (name->find('/') == std::string::npos && !node.outputs.empty() && node.outputs[0].valid()) {
      const std::string& output = graph[node.outputs[0]].name;
      if (!output.empty() && output[0] == '/') name = &output;
    }
    const size_t slash = name->rfind('/');
    if (slash != std::string::npos) {
      last = number_of((*name)[0] == '/' ? name->substr(0, slash) : "/" + name->substr(0, slash));
    }
    scope_of_.push_back(last);
  }
  std::unordered_set<std::string> scopes;
  for (const std::string& text : texts) {
    for (size_t end = text.size(); end != std::string::npos && end > 0; end = text.rfind('/', end - 1)) {
      if (!scopes.insert(text.substr(0, end)).second) break;
    }
  }
  const std::unordered_set<std::string> owners = OwnersOfStored(graph);
  paths_.reserve(texts.size());
  // Keras gives numbers to layers, not to calls: dense, dense_1.
  const bool numbers_calls = graph.producer.find("tf2onnx") == std::string::npos;
  for (const std::string& text : texts) paths_.push_back(PathOfScope(text, scopes, owners, numbers_calls));
}

}  // namespace vramplan
