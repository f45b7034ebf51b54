#include "planner/report/request.h"

#include "planner/report/writing/quoting.h"

namespace vramplan {
namespace {

// Rounded up: a request that is a byte too small is refused.
std::string MiB(Bytes bytes) { return std::to_string((bytes.count() + (int64_t{1} << 20) - 1) >> 20); }

}  // namespace

std::string PrintRequest(const Request& request) {
  const std::string memory = MiB(request.device.high), gpus = std::to_string(request.gpus);
  std::string text = "# " + InComment(request.verdict) + "\n# on each card: likely " + ToString(request.device.likely) +
                     ", at most " + ToString(request.device.high) +
                     "\nGPU_MEMORY_BYTES=" + std::to_string(request.device.high.count()) +
                     "\nGPU_MEMORY_MIB=" + memory + "\n";
  if (request.host) text += "HOST_MEMORY_MIB=" + MiB(request.host->high) + "\n";
  text += "\n# Slurm gives whole cards; gpu:TYPE:" + gpus +
          " names one as `sinfo -o %G` lists it\n#SBATCH --gres=gpu:" + gpus + "\n";
  text += request.host ? "#SBATCH --mem=" + MiB(request.host->high) + "M\n"
                       : "# --mem: the host's RAM is not known; `vramplan fit --host` tells that of a model\n";
  // The device class and its capacity: NVIDIA's DRA driver. The API: resource.k8s.io/v1, Kubernetes 1.34.
  text +=
      "\n# Kubernetes 1.34, with NVIDIA's DRA driver\n"
      "apiVersion: resource.k8s.io/v1\nkind: ResourceClaimTemplate\nmetadata:\n  name: vramplan\nspec:\n  spec:\n"
      "    devices:\n      requests:\n      - name: gpu\n        exactly:\n          deviceClassName: gpu.nvidia.com\n"
      "          count: " +
      gpus +
      "\n          selectors:\n          - cel:\n"
      "              expression: \"device.capacity['gpu.nvidia.com'].memory.compareTo(quantity('" +
      memory +
      "Mi')) >= 0\"\n"
      "# without DRA, of the container:\n#   resources: {limits: {nvidia.com/gpu: " +
      gpus + (request.host ? ", memory: " + MiB(request.host->high) + "Mi" : "") + "}}\n";
  return text;
}

}  // namespace vramplan
