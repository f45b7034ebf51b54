// Options about the card.
#include <algorithm>
#include <string>

#include "planner/cli/option_row.h"
#include "planner/cli/settings.h"
#include "planner/spec/catalogue.h"

namespace vramplan {
namespace {

using namespace verbs;  // NOLINT(google-build-using-namespace): the columns of the table below
using enum OptionGroup;

std::vector<std::string> CardWords() {
  std::vector<std::string> words = {"auto", "all"};
  for (const auto rows : {DataCentreCards(), GeForceCards(), WorkstationCards(), AmdCards()})
    for (const CardRow& card : rows) words.emplace_back(card.id);
  return words;
}

Result<Bytes> CardSizeOf(const Typed& typed, Notes* notes) { return ReadCardSize(typed.text(), notes); }

void ShowCard(SettingsRows* s) {
  if (s->chosen && s->chosen->facts) {
    const CardFacts& facts = *s->chosen->facts;
    const std::string& gpu = s->options.gpu;
    s->Add(gpu, gpu + " (" + facts.name + ", card " + std::to_string(facts.index) + ")");
    const Bytes held = s->chosen->device.held;
    if (held > Bytes())
      s->rows.push_back({"held", held, ToString(held) + " by others", s->spec.given.contains("held")});
  } else if (s->chosen && !s->chosen->id.empty()) {
    s->Name(s->chosen->id);
  }
}

constexpr OptionRow kCardRows[] = {
    OptionRow{"--gpu", "NAME",
              "a card that \"vramplan gpus\" lists; auto: this machine's card with the most free memory, minus what "
              "others hold now (auto:1 is card 1); fit and sweep also accept several, such as t4,a10,l4, and all",
              kAway, kCard, Text<&Options::gpu>}
        .First()
        .Words(CardWords)
        .Shown(ShowCard),
    OptionRow{"--gpu", "auto:N",
              "which card of this machine [auto: the one with the most free memory]; with --dry-run also one that "
              "\"vramplan gpus\" lists",
              Of({kValidate}), kCard, Text<&Options::gpu>}
        .First()
        .Words(CardWords),
    OptionRow{"--gpu", "auto:N",
              "which card of this machine [all of them; the report is about the one that the process uses most]",
              Of({kWatch}), kCard, Text<&Options::gpu>}
        .First()
        .Words(CardWords),
    OptionRow{"--gpu", "auto:N", "which card of this machine [auto: the one with the most free memory]",
              Of({kCalibrate}), kCard, Text<&Options::gpu>}
        .First()
        .Words(CardWords),
    OptionRow{"--gpu", "NAME",
              "a card that \"vramplan gpus\" lists; auto: a card like this machine's, minus what others hold now [a "
              "card that is never full]",
              Of({kRun}), kCard, Text<&Options::gpu>}
        .First()
        .Words(CardWords),
    OptionRow{"--gpu-memory", "SIZE", "usable memory instead of the card's, such as 14.56GiB",
              kAway | Of({kReplay, kRun}), kCard, Into<&Options::gpu_memory, CardSizeOf>}
        .Shown([](SettingsRows* s) {
          if (s->options.gpu_memory) s->Size(*s->options.gpu_memory);
        }),
    OptionRow{"--gpu-memory", "SIZE", "with --dry-run: a card of this size", Of({kValidate}), kCard,
              Into<&Options::gpu_memory, CardSizeOf>},
    OptionRow{"--capability", "X.Y", "compute capability instead of the card's [without a card: 7.5, or 8.0 in bf16]",
              kStep | Of({kRun}), kCard, Into<&Options::capability, ParseCapability>}
        .Shown([](SettingsRows* s) {
          SpecRow& row = s->Name(ToString(s->spec.capability));
          // A card that was named gives its capability.
          if (s->chosen && (s->chosen->facts || !s->chosen->id.empty())) row.given = true;
        }),
    OptionRow{"--context", "SIZE", "CUDA context and loaded kernels [by the card's generation]", kStep | Of({kRun}),
              kCard, Into<&Options::context, SizeOf>}
        .Shown([](SettingsRows* s) { s->Size(s->context.likely); }),
    OptionRow{"--reserve", "SIZE", "memory to keep free for others [0]", kAway | Of({kRun}), kCard,
              Into<&Options::reserve, SizeOf>}
        .Shown([](SettingsRows* s) {
          if (s->options.reserve > Bytes()) s->Size(s->options.reserve);
        }),
    OptionRow{"--reserve", "SIZE", "memory that is always left for others [256MiB]", Of({kValidate}), kCard,
              Into<&Options::reserve, SizeOf>},
    OptionRow{"--profile", "FILE",
              "measurements of the card (vramplan.profile/1): context, rates and cuDNN's workspaces; without --gpu the "
              "profile also names the card [with --gpu auto: the profile that calibrate stored]",
              kStep, kCard, Text<&Options::profile>}
        .Shown([](SettingsRows* s) {
          if (s->chosen && !s->chosen->profile.empty()) s->Name(s->chosen->profile);
        }),
    OptionRow{"--max-bytes", "SIZE", "the most memory to take for segments [all but the reserve]", Of({kValidate}),
              kCard, Into<&Options::max_bytes, SizeOf>},
    OptionRow{"--dry-run", "",
              "only say what would be done: no card is touched, and none is needed with --gpu NAME or --gpu-memory",
              Of({kValidate}), kCard, Flag<&Options::dry_run>},
};

}  // namespace

std::span<const OptionRow> CardOptions() { return kCardRows; }

}  // namespace vramplan
