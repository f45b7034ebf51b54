// The Hub: a model's config.json of its cache ($HF_HUB_CACHE, $HF_HOME/hub, ~/.cache/huggingface/hub), or by one request, as
// huggingface_hub makes it ($HF_ENDPOINT, $HF_TOKEN or the token that `hf auth login` left, $HF_HUB_OFFLINE). The program
// `curl` makes it; nothing is written.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "graph/base/result.h"

namespace vramplan {

// A name ends as those of models, weights and texts do: ".onnx", ".safetensors".
bool EndsAsFile(const std::string& path);
// "Qwen/Qwen3-8B": two names, which are no path of this machine.
bool IsHubName(const std::string& name);

// Its config.json, or that of the unet or the transformer of a pipeline of diffusers; the first where it has none.
std::filesystem::path ConfigIn(const std::filesystem::path& folder);

// The newest that the cache has of a repository.
std::optional<std::filesystem::path> ConfigInCache(const std::string& repository);

// The text of its config.json, asked for once in a process. Nothing: the Hub may not be asked, or there is no curl.
// Errors: there is no such model, it is gated, the Hub does not answer.
Result<std::optional<std::string>> ConfigFromHub(const std::string& repository);

}  // namespace vramplan
