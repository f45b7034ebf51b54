#include "planner/report/json/parts.h"
#include "planner/report/json/profile_json.h"
#include "planner/report/json/schemas.h"

namespace vramplan {

template <>
struct Described<Rates> {
  static constexpr const char* kName = "";
  static Fields<Rates> Make() {
    return Fields<Rates>()
        .Has("bandwidth", "bytes a second", &Rates::bandwidth)
        .Has("fp32", "FLOP a second", &Rates::fp32)
        .Has("half", "FLOP a second", &Rates::half);
  }
};

template <>
struct Described<MeasuredLoads> {
  static constexpr const char* kName = "";
  static Fields<MeasuredLoads> Make() {
    using L = MeasuredLoads;
    return Fields<L>()
        .Has("context", "with nothing loaded", &L::context)
        .Has("kernel", "what its first use added", &L::kernel)
        .Has("cublas", "", &L::cublas)
        .Has("cudnn", "", &L::cudnn);
  }
};

template <>
struct Described<MeasuredMemory> {
  static constexpr const char* kName = "";
  static Fields<MeasuredMemory> Make() {
    using M = MeasuredMemory;
    return Fields<M>()
        .Has("granularity", "what every allocation was rounded to", &M::granularity)
        .Has("largest", "one block", &M::largest)
        .Has("reachable", "in pieces, with the margin", &M::reachable)
        .Has("margin", "that was left alone", &M::margin);
  }
};

template <>
struct Described<FittedRate> {
  static constexpr const char* kName = "";
  static Fields<FittedRate> Make() {
    using F = FittedRate;
    return Fields<F>()
        .Has("what", "copy, fp32, tf32, fp16, bf16", &F::what)
        .Has("rate", "bytes (copy) or FLOP a second", &F::rate)
        .Has("launch", "seconds", &F::launch)
        .Has("residual", "root of the mean square of (said - measured) / measured", &F::residual)
        .Has("samples", "", &F::samples);
  }
};

template <>
struct Described<MeasuredConvolution> {
  static constexpr const char* kName = "";
  static Fields<MeasuredConvolution> Make() {
    using C = MeasuredConvolution;
    return Fields<C>()
        .Has("pass", "", &C::shape, &ConvolutionShape::pass)
        .Has("type", "", &C::shape, &ConvolutionShape::type)
        .Has("channels_last", "", &C::shape, &ConvolutionShape::channels_last)
        .Has("input", "", &C::shape, &ConvolutionShape::input)
        .Has("filter", "", &C::shape, &ConvolutionShape::filter)
        .Has("output", "", &C::shape, &ConvolutionShape::output)
        .Has("workspace", "", &C::workspace);
  }
};

namespace {

template <typename T>
std::optional<std::vector<T>> AnyOf(const std::vector<T>& rows) {
  return rows.empty() ? std::nullopt : std::optional(rows);
}

}  // namespace

template <>
struct Described<Profile> {
  static constexpr const char *kName = "", *kAnswer = "profile", *kTitle = "what was measured of a card";
  static Fields<Profile> Make() {
    using P = Profile;
    return Fields<P>()
        .May("date", "", &P::date, OrNone)
        .May("driver", "", &P::driver, OrNone)
        .Group("card", "",
               Fields<P>()
                   .Has("name", "", &P::name)
                   .May("uuid", "", &P::uuid, OrNone)
                   .Has("capability", "", [](const P& of) { return ToString(of.capability); })
                   .Has("multiprocessors", "", &P::multiprocessors)
                   .Has("usable", "", &P::usable))
        .May("context", "of CUDA",
             [](const P& of) { return of.context ? std::optional(EndsOf(*of.context)) : std::nullopt; })
        .May("rates", "", &P::rates)
        .May("loads", "what a process takes beside its tensors; null: could not be measured", &P::loads)
        .May("memory", "what could be allocated", &P::memory)
        .May("fits", "seconds = launch + work / rate, by least squares", &P::fits, AnyOf<FittedRate>)
        .May("convolutions", "the workspaces that cuDNN picked", &P::convolutions, AnyOf<MeasuredConvolution>);
  }
};

Json ToJson(const Profile& profile) { return AnswerJson(profile); }
Json ProfileSchema() { return AnswerSchema<Profile>(); }

}  // namespace vramplan
