// What `gpus` and `models` list.
#include "planner/report/gpus_report.h"
#include "planner/report/json/schemas.h"
#include "planner/report/models_report.h"
#include "planner/report/writing/fields.h"

namespace vramplan {

template <>
struct Described<Card> {
  static constexpr const char* kName = "";
  static Fields<Card> Make() {
    return Fields<Card>()
        .Has("id", "what --gpu takes", &Card::id)
        .Has("name", "", &Card::name)
        .Has("aliases", "that --gpu takes, too", &Card::aliases)
        .Has("vendor", "nvidia or amd",
             [](const Card& card) { return std::string_view(card.nvidia ? "nvidia" : "amd"); })
        .Has("marketed_gb", "on the box", &Card::marketed_gb)
        .Has("usable_bytes", "that a program can get", &Card::usable)
        .Has("capability", "compute capability", [](const Card& card) { return ToString(card.capability); })
        .Has("multiprocessors", "", &Card::multiprocessors)
        .Has("bandwidth_gb_s", "", &Card::bandwidth_gb_s)
        .Has("fp32_tflops", "", &Card::fp32_tflops)
        .Has("half_tflops", "", &Card::half_tflops)
        .Has("source", "of what is usable", &Card::source);
  }
};

template <>
struct Described<KnownModel> {
  static constexpr const char* kName = "";
  static Fields<KnownModel> Make() {
    return Fields<KnownModel>()
        .Has("name", "", &KnownModel::name)
        .Has("source", "on the Hub", &KnownModel::source)
        .Has("class", "", &KnownModel::of_class)
        .Has("parameters", "numbers", &KnownModel::parameters);
  }
};

namespace {

struct CardList {
  const std::vector<Card>& cards;
};
struct ModelList {
  const std::vector<KnownModel>& models;
};

}  // namespace

template <>
struct Described<CardList> {
  static constexpr const char *kName = "", *kAnswer = "gpus", *kTitle = "the cards that are known";
  static Fields<CardList> Make() {
    return Fields<CardList>().Has("cards", "", [](const CardList& of) { return of.cards; });
  }
};
template <>
struct Described<ModelList> {
  static constexpr const char *kName = "", *kAnswer = "models", *kTitle = "the models that are known by their names";
  static Fields<ModelList> Make() {
    return Fields<ModelList>().Has("models", "", [](const ModelList& of) { return of.models; });
  }
};

Json CardsJson(const std::vector<Card>& cards) { return AnswerJson(CardList{cards}); }
Json ModelsJson(const std::vector<KnownModel>& models) { return AnswerJson(ModelList{models}); }
Json GpusSchema() { return AnswerSchema<CardList>(); }
Json ModelsSchema() { return AnswerSchema<ModelList>(); }

}  // namespace vramplan
