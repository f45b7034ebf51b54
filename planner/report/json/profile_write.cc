#include "planner/report/json/profile_json.h"

namespace vramplan {
namespace {

Json ValueOrNull(const std::optional<Bytes>& bytes) { return bytes ? Json(*bytes) : Json(); }

Json CardJson(const Profile& profile) {
  Json card = Json::Object();
  card.Set("name", profile.name);
  if (!profile.uuid.empty()) card.Set("uuid", profile.uuid);
  card.Set("capability", ToString(profile.capability))
      .Set("multiprocessors", profile.multiprocessors)
      .Set("usable", profile.usable);
  return card;
}

Json MeasuredRowJson(const FittedRate& fit) {
  Json object = Json::Object();
  object.Set("what", fit.what)
      .Set("rate", fit.rate)
      .Set("launch", fit.launch)
      .Set("residual", fit.residual)
      .Set("samples", fit.samples);
  return object;
}

Json LengthsJson(const std::vector<int64_t>& lengths) {
  Json array = Json::Array();
  for (const int64_t length : lengths) array.Push(length);
  return array;
}

Json MeasuredRowJson(const MeasuredConvolution& one) {
  Json object = Json::Object();
  object.Set("pass", Name(one.shape.pass))
      .Set("type", Name(one.shape.type))
      .Set("channels_last", one.shape.channels_last)
      .Set("input", LengthsJson(one.shape.input))
      .Set("filter", LengthsJson(one.shape.filter))
      .Set("output", LengthsJson(one.shape.output))
      .Set("workspace", one.workspace);
  return object;
}

template <typename T>
Json ListJson(const std::vector<T>& rows) {
  Json array = Json::Array();
  for (const T& row : rows) array.Push(MeasuredRowJson(row));
  return array;
}

}  // namespace

Json ToJson(const Profile& profile) {
  Json object = Json::Object();
  object.Set("schema", "vramplan.profile/1");
  if (!profile.date.empty()) object.Set("date", profile.date);
  if (!profile.driver.empty()) object.Set("driver", profile.driver);
  object.Set("card", CardJson(profile));
  if (profile.context) {
    Json context = Json::Object();
    context.Set("low", profile.context->low).Set("likely", profile.context->likely).Set("high", profile.context->high);
    object.Set("context", std::move(context));
  }
  if (profile.rates) {
    Json rates = Json::Object();
    rates.Set("bandwidth", profile.rates->bandwidth).Set("fp32", profile.rates->fp32).Set("half", profile.rates->half);
    object.Set("rates", std::move(rates));
  }
  if (profile.loads) {
    Json loads = Json::Object();
    loads.Set("context", ValueOrNull(profile.loads->context))
        .Set("kernel", ValueOrNull(profile.loads->kernel))
        .Set("cublas", ValueOrNull(profile.loads->cublas))
        .Set("cudnn", ValueOrNull(profile.loads->cudnn));
    object.Set("loads", std::move(loads));
  }
  if (profile.memory) {
    Json memory = Json::Object();
    memory.Set("granularity", profile.memory->granularity)
        .Set("largest", profile.memory->largest)
        .Set("reachable", profile.memory->reachable)
        .Set("margin", profile.memory->margin);
    object.Set("memory", std::move(memory));
  }
  if (!profile.fits.empty()) object.Set("fits", ListJson(profile.fits));
  if (!profile.convolutions.empty()) object.Set("convolutions", ListJson(profile.convolutions));
  return object;
}

}  // namespace vramplan
