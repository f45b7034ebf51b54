#include "tests/support/look.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <sstream>

#include "graph/base/ablation.h"
#include "tests/support/asked.h"

namespace vramplan::testing {
namespace {

constexpr double kRight = 0.01;

struct Judgement {
  Class kind = kIsRefused;
  int64_t requested = 0;
  std::string by = {};  // the code of what told, warned or named
  int64_t parameters = 0;
  Bytes buffers;
  double apart = 0;  // of a told answer: how far its two ends are from each other, as a share of the truth
  std::set<std::string> unsaid = {};  // codes of what the file cannot say
};

bool Holds(Bytes low, Bytes high, double truth) {
  return static_cast<double>(low.count()) <= truth * (1 + kRight) &&
         static_cast<double>(high.count()) >= truth * (1 - kRight);
}

// Of the model itself, in elements or bytes; 0 in tables that do not say.
int64_t SizeOf(const Row& row, const char* column) { return row.contains(column) ? Count(row, column) : 0; }

bool IsPartlyFrozen(const Row& row) {
  return row.at("model") == "hand_bert_frozen" || SizeOf(row, "trained") < SizeOf(row, "parameters");
}

// What may be frozen, checkpointed or a loss in training alone holds nearly anything: it tells nothing of a model where
// nothing is.
bool IsOfAnother(const Assumption& assumption, const Row& row) {
  const std::string& code = assumption.code;
  return code == "all-trained" || code == "nothing-checkpointed" || code == "loss-in-evaluation" ||
         (code == "backbone" && !IsPartlyFrozen(row));
}

// `unread`: what is added to every figure of the answer.
Judgement Judged(const Estimate& estimate, const Row& row, Bytes unread = Bytes()) {
  const auto truth = static_cast<double>(Count(row, "requested"));
  Judgement answer{.kind = kIsSilent,
                   .requested = (estimate.peak.peak.requested + unread).count(),
                   .parameters = estimate.head.model.parameters,
                   .buffers = estimate.head.model.buffer_bytes};
  for (const SpecRow& one : estimate.head.spec) answer.unsaid.insert(one.option);
  const auto by = [&answer](Class kind, const std::string& code) {
    answer.kind = kind;
    answer.by = code;
    return answer;
  };
  const double error = static_cast<double>(answer.requested) / truth - 1;
  if (std::abs(error) <= kRight) return by(kIsRight, "");
  std::vector<Assumption> said = estimate.assumptions;
  std::erase_if(said, [&](const Assumption& assumption) { return IsOfAnother(assumption, row); });
  const auto tells = [&](Bytes low, Bytes high) {
    answer.apart = static_cast<double>((high - low).count()) / truth;
    return Holds(low + unread, high + unread, truth);
  };
  for (const Assumption& assumption : said) {
    if (tells(assumption.low, assumption.high)) return by(kIsTold, assumption.code);
  }
  if (const auto [low, high] = Together(said); tells(low, high)) return by(kIsTold, "together");
  for (const Note& note : estimate.notes.all()) {
    if (note.severity != Severity::kWarning) continue;
    if (note.side == (error < 0 ? Side::kTooHigh : Side::kTooLow)) continue;
    return by(kIsWarned, note.code);
  }
  return answer;
}

Judgement JudgedAnswer(const std::string& file, const Row& row) {
  Result<Estimate> estimate = Asked(file, row, row.at("loss"));
  if (!estimate.ok()) return {};
  std::erase_if(estimate->assumptions, [](const Assumption& one) { return IsLeftOut("ambiguity", one.code); });
  return Judged(*estimate, row);
}

constexpr const char *kTorchScript = "ts", *kDynamo = "dynamo";
struct Variant {
  const char* exporter;
  const char* mode;
  std::string Name() const { return std::string(exporter) + "-" + mode; }
};
constexpr std::array<Variant, 4> kVariants = {
    {{kDynamo, "train"}, {kTorchScript, "train"}, {kDynamo, "eval"}, {kTorchScript, "eval"}}};
using Answers = std::map<std::string, Judgement>;  // of one row, by the variant's name

// What names the cause of a silent answer: an export of the same model of which the sentence is not true, and which is
// right. What train() alone runs may have parameters, what eval() alone runs hardly any (more are copies that the export
// made); what is never read is missing, and without gradients it takes its own bytes. Empty: nothing names it.
std::string NamedBy(const Answers& answers, const Variant& variant, const Row& row) {
  const Judgement& answer = answers.at(variant.Name());
  const auto right = [&](const Variant& other) {
    const auto found = answers.find(other.Name());
    return found != answers.end() && found->second.kind <= kIsTold ? &found->second : nullptr;
  };
  const bool trains = row.at("mode") == "train";
  const char* const asked = trains ? "train" : "eval";
  const char* const one_mode = "layers-of-one-mode";
  if (variant.mode != std::string(asked) && answer.unsaid.contains(one_mode)) {
    const Judgement* const other = right({variant.exporter, asked});
    const auto fits = [](const Judgement& train, const Judgement& eval) {
      return static_cast<double>(eval.parameters) <= static_cast<double>(train.parameters) * (1 + kRight);
    };
    if (other != nullptr && (trains ? fits(*other, answer) : fits(answer, *other))) return one_mode;
  }
  const Judgement* const dynamo = right({kDynamo, variant.mode});
  if (answer.unsaid.contains("unread-parameters") && dynamo != nullptr && dynamo->parameters > answer.parameters &&
      answer.requested < Count(row, "requested"))
    return "unread-parameters";
  return "";
}

// "--frozen", "a.*", "--frozen", "b.*" of the table's patterns that name parameters of the file.
std::vector<std::string> FrozenWords(const std::string& file, const Row& row) {
  std::vector<std::string> words;
  std::istringstream patterns(row.contains("frozen") ? row.at("frozen") : "");
  for (std::string pattern; patterns >> pattern;) {
    const std::vector<std::string> one = {"--frozen", pattern};
    if (Asked(file, row, row.at("loss"), one).ok()) words.insert(words.end(), one.begin(), one.end());
  }
  return words;
}

// The same of the model's own facts: asked with --frozen as the code freezes ("every parameter trained"), with the bytes
// of what forward() never reads, or with both, the answer is right or tells.
std::string NamedByFacts(const std::string& file, const Row& row, const Judgement& answer) {
  constexpr int64_t kBytes = 4;  // fp32, under autocast too
  const Bytes missing = Bytes::Of(kBytes * (SizeOf(row, "parameters") - answer.parameters)) +
                        std::max(Bytes(), Bytes::Of(SizeOf(row, "buffers")) - answer.buffers);
  const bool lacks_some = missing > Bytes() && answer.unsaid.contains("unread-parameters");
  const auto explains = [&](const std::vector<std::string>& words, bool unread) {
    const Result<Estimate> estimate = Asked(file, row, row.at("loss"), words);
    return estimate.ok() && Judged(*estimate, row, unread ? missing : Bytes()).kind <= kIsTold;
  };
  if (lacks_some && explains({}, true)) return "unread-parameters";
  const std::vector<std::string> frozen = FrozenWords(file, row);
  if (frozen.empty()) return "";
  if (explains(frozen, false)) return "all-trained";
  return lacks_some && explains(frozen, true) ? "all-trained and unread-parameters" : "";
}

}  // namespace

int Look::All(Class kind) const {
  const auto all = counts.find("all");
  return all == counts.end() ? 0 : all->second[kind];
}

int Look::All() const {
  int all = 0;
  for (size_t kind = 0; kind < kClasses.size(); ++kind) all += All(static_cast<Class>(kind));
  return all;
}

void Look::Add(const Look& other) {
  for (const auto& [name, of] : other.counts) {
    for (size_t kind = 0; kind < of.size(); ++kind) counts[name][kind] += of[kind];
  }
  models.insert(other.models.begin(), other.models.end());
  apart.insert(apart.end(), other.apart.begin(), other.apart.end());
  answers.insert(answers.end(), other.answers.begin(), other.answers.end());
}

Look LookAtRow(PackedModels& files, const Row& row) {
  Look look;
  const std::string& model = row.at("model");
  Answers answers;
  for (const Variant& variant : kVariants) {
    const std::string* const file = files.PathOf(model + "." + variant.Name() + ".onnx");
    if (file == nullptr) continue;  // the exporter could not write it, or was not asked to
    answers[variant.Name()] = JudgedAnswer(*file, row);
  }
  for (const Variant& variant : kVariants) {
    const auto found = answers.find(variant.Name());
    if (found == answers.end()) continue;
    Judgement answer = found->second;
    if (answer.kind == kIsSilent) answer.by = NamedBy(answers, variant, row);
    if (answer.kind == kIsSilent && answer.by.empty())
      answer.by = NamedByFacts(*files.PathOf(model + "." + variant.Name() + ".onnx"), row, answer);
    if (answer.kind == kIsSilent && !answer.by.empty()) answer.kind = kIsNamed;
    for (const std::string& name : {std::string("all"), variant.Name()}) ++look.counts[name][answer.kind];
    look.models.insert(model);
    if (answer.kind == kIsTold) look.apart.push_back(answer.apart);
    std::string said;
    if (answer.kind > kIsRight) {
      const double truth = static_cast<double>(Count(row, "requested"));
      char error[32];
      std::snprintf(error, sizeof error, " %+.2f %%", 100 * (static_cast<double>(answer.requested) / truth - 1));
      said = kClasses[answer.kind];
      if (answer.kind != kIsRefused) said += error;
      if (!answer.by.empty()) said += " " + answer.by;
    }
    look.answers.emplace_back(model + "." + variant.Name() + ".onnx batch " + row.at("batch") + ", " +
                                  row.at("precision") + " " + row.at("mode"),
                              said);
  }
  return look;
}

Likely LikelyOf(PackedModels& files, const Row& row) {
  Likely likely;
  for (const Variant& variant : kVariants) {
    const std::string* const file = files.PathOf(row.at("model") + "." + variant.Name() + ".onnx");
    if (file == nullptr) continue;
    const Result<Estimate> estimate = Asked(*file, row, row.at("loss"));
    likely.requested.push_back(estimate.ok() ? estimate->peak.peak.requested.count() : -1);
    if (!estimate.ok()) continue;
    for (const Assumption& assumption : estimate->assumptions) {
      if (assumption.low != assumption.high) likely.codes.insert(assumption.code);
    }
  }
  return likely;
}

Look LookAt(const std::string& folder, size_t every) {
  Look look;
  const std::vector<Row> rows = ReadCsv(folder + "/truth.csv");
  PackedModels files(folder + "/models");
  for (size_t r = 0; r < rows.size(); r += every) look.Add(LookAtRow(files, rows[r]));
  return look;
}

std::string SummaryOf(const Look& look) {
  std::vector<double> apart = look.apart;
  std::string text = std::to_string(look.models.size()) + " models, requested peak against PyTorch's own counters\n\n" +
                     "file           answers   right    told  warned   named  silent  refused\n";
  for (const auto& [name, of] : look.counts) {
    int all = 0;
    for (const int count : of) all += count;
    char line[128];
    std::snprintf(line, sizeof line, "%-14s %7d", name.c_str(), all);
    text += line;
    for (const int count : of) {
      std::snprintf(line, sizeof line, "%s%5.1f %%", &count == &of.back() ? "   " : "  ", 100.0 * count / all);
      text += line;
    }
    text += "\n";
  }
  if (apart.empty()) return text;
  std::sort(apart.begin(), apart.end());
  char line[128];
  std::snprintf(line, sizeof line,
                "\nThe two ends of a told answer are %.1f %% of the truth apart or less in half of them, %.1f %% in "
                "nine of ten.\n",
                100 * apart[apart.size() / 2], 100 * apart[9 * apart.size() / 10]);
  return text + line;
}

}  // namespace vramplan::testing
