#include "tests/support/model_walk.h"

#include <onnx/onnx-data_pb.h>
#include <onnx/onnx_pb.h>
#include <onnx/shape_inference/implementation.h>

#include <algorithm>
#include <exception>
#include <fstream>
#include <map>
#include <set>

#include "graph/onnx/load.h"
#include "graph/shapes/bounds.h"
#include "graph/shapes/infer.h"
#include "tests/support/data_decides.h"

namespace vramplan::testing {
namespace {

namespace fs = std::filesystem;

// A type and lengths as somebody else says them; -1 is a length that they leave open.
struct Known {
  std::string by;
  int32_t type = 0;
  std::vector<int64_t> dims;
};
using KnownOutputs = std::map<int, std::vector<Known>>;  // by number of the output

template <typename Proto>
bool Parse(const fs::path& path, Proto* proto) {
  std::ifstream file(path, std::ios::binary);
  return file && proto->ParseFromIstream(&file);
}

Known Of(const onnx::TensorProto& tensor, const std::string& by) {
  return {by, tensor.data_type(), {tensor.dims().begin(), tensor.dims().end()}};
}

// A stored value: a tensor, or the tensors of a sequence or an optional.
std::vector<Known> Stored(const fs::path& path, const onnx::TypeProto& type) {
  const std::string by = path.parent_path().filename().string() + "/" + path.filename().string();
  std::vector<Known> found;
  if (type.has_tensor_type()) {
    onnx::TensorProto tensor;
    if (Parse(path, &tensor) && tensor.data_type() != 0) found.push_back(Of(tensor, by));
  } else if (type.has_sequence_type()) {
    onnx::SequenceProto sequence;
    if (!Parse(path, &sequence)) return found;
    for (const auto& tensor : sequence.tensor_values()) found.push_back(Of(tensor, by));
  } else if (type.has_optional_type()) {
    onnx::OptionalProto optional;
    if (!Parse(path, &optional)) return found;
    if (optional.has_tensor_value()) found.push_back(Of(optional.tensor_value(), by));
    for (const auto& tensor : optional.sequence_value().tensor_values()) found.push_back(Of(tensor, by));
  }
  return found;
}

class OneModel {
 public:
  OneModel(const fs::path& file, Uses* uses) : file_(file), uses_(uses) {}

  WalkedModel Run() {
    WalkedModel model;
    if (!Parse(file_, &proto_)) return {"", Verdict::kWrong, "protobuf cannot read it"};
    Notes notes;
    Result<Graph> graph = Load(file_.string(), &notes);
    if (!graph.ok()) return {"", Verdict::kWrong, ToString(graph.error())};
    const BindOptions options = Options(*graph);
    const Result<Binding> binding = Bind(*graph, options, &notes);
    if (!binding.ok()) return {"", Verdict::kWrong, ToString(binding.error())};
    const KnownOutputs known = KnownAbout();
    // As the file is: its declarations must agree with the rules.
    const Result<Shapes> as_declared = Infer(*graph, *binding, &notes);
    if (!as_declared.ok()) return {"", Verdict::kWrong, ToString(as_declared.error())};
    if (std::string wrong = Contradiction(*graph, *as_declared, known); !wrong.empty())
      return {"", Verdict::kWrong, wrong};
    ForgetDeclarations(&*graph);
    const Result<Shapes> shapes = Infer(*graph, *binding, &notes);
    if (!shapes.ok()) return {"", Verdict::kPartial, ToString(shapes.error())};
    if (std::string wrong = Contradiction(*graph, *shapes, known); !wrong.empty()) return {"", Verdict::kWrong, wrong};
    const std::string open = Open(*graph, *shapes);
    if (open.empty()) return model;
    if (std::string longer = LongerThanBound(*graph, *binding, known); !longer.empty())
      return {"", Verdict::kWrong, longer};
    const std::string undecided = NotDecidedByData(*graph, *shapes);
    if (!undecided.empty()) return {"", Verdict::kPartial, open + ": " + undecided};
    return Told(known, open);
  }

 private:
  static void ForgetDeclarations(Graph* graph) {
    const std::set<TensorId> inputs(graph->inputs.begin(), graph->inputs.end());
    for (size_t i = 0; i < graph->tensors.size(); ++i) {
      if (inputs.count(TensorId{static_cast<int32_t>(i)}) == 0) graph->tensors[i].declared.reset();
    }
  }

  // The outputs that are not known, written down.
  static std::string Open(const Graph& graph, const Shapes& shapes) {
    std::string open;
    for (const TensorId id : graph.outputs) {
      if (!FullyKnown(shapes[id])) open += (open.empty() ? "" : ", ") + Shown(graph[id].name, shapes[id]);
    }
    return open;
  }

  // Once more with the small inputs of the first data set as constants: then the values are known that decide.
  WalkedModel Told(const KnownOutputs& known, const std::string& open) {
    onnx::ModelProto told = proto_;
    for (int i = 0; i < told.graph().input_size(); ++i) {
      onnx::TensorProto stored;
      if (!Parse(file_.parent_path() / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"), &stored)) continue;
      int64_t elements = 1;
      for (const int64_t d : stored.dims()) elements *= d;
      if (stored.data_type() == 0 || elements > 64) continue;
      *told.mutable_graph()->add_initializer() = stored;
      told.mutable_graph()
          ->mutable_initializer(told.graph().initializer_size() - 1)
          ->set_name(told.graph().input(i).name());
    }
    const std::string bytes = told.SerializeAsString();
    Notes notes;
    Result<Graph> graph = LoadFromBytes(file_.string(), bytes.data(), bytes.size(), &notes);
    if (!graph.ok()) return {"", Verdict::kWrong, "with its inputs told: " + ToString(graph.error())};
    BindOptions options = Options(*graph);
    const Result<Binding> binding = Bind(*graph, options, &notes);
    if (!binding.ok()) return {"", Verdict::kWrong, "with its inputs told: " + ToString(binding.error())};
    ForgetDeclarations(&*graph);
    const Result<Shapes> shapes = Infer(*graph, *binding, &notes);
    if (!shapes.ok()) return {"", Verdict::kWrong, "with its inputs told: " + ToString(shapes.error())};
    if (std::string wrong = Contradiction(*graph, *shapes, known); !wrong.empty())
      return {"", Verdict::kWrong, "with its inputs told: " + wrong};
    const std::string still = Open(*graph, *shapes);
    ++(still.empty() ? uses_->told : uses_->untold);
    return {"", Verdict::kByDesign, open + (still.empty() ? "; told" : "; told, still " + still)};
  }

  // A stored output that is longer than the bound of what data decides.
  std::string LongerThanBound(const Graph& graph, Binding binding, const KnownOutputs& known) const {
    Notes notes;
    TakeBounds(&binding);
    const Result<Shapes> most = Infer(graph, binding, &notes);
    if (!most.ok()) return "with bounds: " + ToString(most.error());
    for (const auto& [output, all] : known) {
      const TensorId id = graph.outputs[static_cast<size_t>(output)];
      const std::optional<Shape>& bound = (*most)[id].shape;
      for (const Known& one : all) {
        if (!bound || one.by == "strict inference" || bound->rank() != static_cast<int>(one.dims.size())) continue;
        for (size_t axis = 0; axis < one.dims.size(); ++axis) {
          const Dim length = (*bound)[static_cast<int>(axis)];
          if (!length.known()) continue;
          ++uses_->bounded;
          if (length.At(1) < one.dims[axis])
            return Shown(graph[id].name, (*most)[id]) + " is no bound: " + one.by + " is longer";
        }
      }
    }
    return "";
  }

  static std::string Shown(const std::string& name, const TensorFacts& facts) {
    return name + " " + std::string(Name(facts.type)) + (facts.shape ? ToString(*facts.shape) : "[...]");
  }

  // No batch: every length is the file's. What the file leaves open is as long as in the stored inputs, else 2.
  BindOptions Options(const Graph& graph) const {
    BindOptions options;
    options.batch_dim = "none";
    for (size_t i = 0; i < graph.inputs.size(); ++i) {
      const Tensor& tensor = graph[graph.inputs[i]];
      if (!tensor.declared || !tensor.declared->is_tensor) continue;
      const auto& dims = tensor.declared->dims;
      const bool open =
          !dims || std::any_of(dims->begin(), dims->end(), [](const DeclaredDim& d) { return !d.length; });
      if (!open) continue;
      onnx::TensorProto stored;
      std::vector<int64_t> lengths;
      if (Parse(file_.parent_path() / "test_data_set_0" / ("input_" + std::to_string(i) + ".pb"), &stored)) {
        lengths.assign(stored.dims().begin(), stored.dims().end());
      } else if (dims) {
        for (const DeclaredDim& d : *dims) lengths.push_back(d.length.value_or(2));
      }
      options.inputs[tensor.name] = lengths;
    }
    return options;
  }

  KnownOutputs KnownAbout() {
    KnownOutputs known;
    for (int i = 0; i < proto_.graph().output_size(); ++i) {
      for (int set = 0; set < 8; ++set) {
        const fs::path path =
            file_.parent_path() / ("test_data_set_" + std::to_string(set)) / ("output_" + std::to_string(i) + ".pb");
        if (!fs::exists(path)) continue;
        for (Known& one : Stored(path, proto_.graph().output(i).type())) known[i].push_back(std::move(one));
      }
    }
    AddStrict(&known);
    return known;
  }

  // Strict, with types checked and shapes computed through Shape, Gather, Concat ...; what it refuses says nothing.
  void AddStrict(KnownOutputs* known) {
    onnx::ModelProto inferred = proto_;
    try {
      onnx::shape_inference::InferShapes(inferred, onnx::OpSchemaRegistry::Instance(), {true, 1, true});
    } catch (const std::exception&) {
      return;
    }
    for (int i = 0; i < inferred.graph().output_size(); ++i) {
      const onnx::TypeProto& type = inferred.graph().output(i).type();
      if (!type.has_tensor_type() || !type.tensor_type().has_shape()) continue;
      Known said{"strict inference", type.tensor_type().elem_type(), {}};
      for (const auto& d : type.tensor_type().shape().dim())
        said.dims.push_back(d.has_dim_value() ? d.dim_value() : -1);
      (*known)[i].push_back(std::move(said));
    }
  }

  std::string Contradiction(const Graph& graph, const Shapes& shapes, const KnownOutputs& known) {
    for (const auto& [output, all] : known) {
      const TensorId id = graph.outputs[static_cast<size_t>(output)];
      const TensorFacts& facts = shapes[id];
      for (const Known& one : all) {
        ++(one.by == "strict inference" ? uses_->strict : uses_->stored);
        bool agree = facts.type == DType::kUndefined || static_cast<int32_t>(facts.type) == one.type;
        // ONNX 1.12 stored bfloat16 as numpy's uint16.
        agree = agree || (facts.type == DType::kBFloat16 && one.type == onnx::TensorProto::UINT16);
        agree = agree && (!facts.shape || facts.shape->rank() == static_cast<int>(one.dims.size()));
        for (size_t axis = 0; agree && facts.shape && axis < one.dims.size(); ++axis) {
          const Dim ours = (*facts.shape)[static_cast<int>(axis)];
          agree = one.dims[axis] < 0 || !ours.known() || ours.Is(one.dims[axis]);
        }
        if (agree) continue;
        std::string theirs = "type " + std::to_string(one.type) + " [";
        for (int64_t d : one.dims) theirs += (theirs.back() == '[' ? "" : ", ") + std::to_string(d);
        return Shown(graph[id].name, facts) + ", but " + one.by + " says " + theirs + "]";
      }
    }
    return "";
  }

  fs::path file_;
  Uses* uses_;
  onnx::ModelProto proto_;
};

}  // namespace

int Uses::Count(Verdict verdict) const {
  return static_cast<int>(
      std::count_if(models.begin(), models.end(), [&](const WalkedModel& m) { return m.verdict == verdict; }));
}

std::string Uses::Summary() const {
  return std::to_string(Count(Verdict::kComplete)) + " complete, " + std::to_string(Count(Verdict::kPartial)) +
         " partial, " + std::to_string(Count(Verdict::kByDesign)) + " unknown by design, " +
         std::to_string(Count(Verdict::kWrong)) + " wrong of " + std::to_string(models.size()) + "; compared " +
         std::to_string(stored) + " stored outputs and " + std::to_string(strict) +
         " of strict inference; of those unknown " + std::to_string(told) +
         " are complete once small inputs are constants, " + std::to_string(untold) + " are not; " +
         std::to_string(bounded) + " stored lengths within their bounds";
}

Uses WalkModels(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Uses uses;
  for (const fs::path& file : files) {
    WalkedModel model = OneModel(file, &uses).Run();
    const fs::path relative = file.lexically_relative(folder);
    model.name = (file.filename() == "model.onnx" ? relative.parent_path() : relative).string();
    uses.models.push_back(std::move(model));
  }
  return uses;
}

}  // namespace vramplan::testing
