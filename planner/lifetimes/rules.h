// The rules of which a name keeps a value longer than its readers do. Each only lengthens lives. lifetimes.cc has all.
#pragma once

#include <cstdint>
#include <vector>

#include "planner/lifetimes/frames.h"

namespace vramplan {

// --- joins.cc ---

// By layer: whether it joins a list that has a name, which lives to the end of the frame. `from_input`: by value.
std::vector<bool> JoinsOfLists(const Layers& layers, const std::vector<bool>& from_input);

// Where what several readers made of one value comes together again, the name of the value goes:
//
//   a = f(x); b = g(x); x = cat([a, b])      x lives until the cat, which writes its name anew
void HoldJoined(const Frames& frames, const std::vector<bool>& joins_list, Holds& holds);

// --- known_names.cc ---

// What the code of well-known libraries gives a name, which a graph cannot show:
//
//   normed_hidden_states = self.layer_norm(hidden_states)      T5's sublayers: held until they return
void HoldKnownNames(const Frames& frames, Holds& holds);

// --- bound_names.cc ---

// Which values must have had a name of their own, told by how they are used. A value without a name waits on Python's
// stack and dies with its consumer; a name keeps it until the frame ends or binds it anew:
//
//   x1, x2 = f(x), g(x); y = act(x1) * x2      act ran behind g: x1 waited beside x2, so it was a name
//   q, k, v = ...; attn = q @ k; attn @ v      what a product of two activations reads is written out in names
void HoldBoundNames(const Frames& frames, Holds& holds);

// --- known_frames.cc ---

// What forward functions of well-known modules call their values. A frame is known by what it calls its children, which
// both exporters write; a name lives until it is written anew, or as long as the frame:
//
//   children W_g W_x relu psi         g1 = W_g(g); x1 = W_x(x); psi = relu(g1 + x1); psi = psi(psi); return x * psi
//   names    "W_g", "W_x", "relu psi" g1 and x1 live to the end, relu's result until psi is called
void HoldKnownFrames(const Frames& frames, Holds& holds);

// --- traced_names.cc ---

// Where the file says in which line of Python each operator ran (graph/lift/source_lines/read_source.cc), names are
// read instead of guessed. What a statement makes and a later one reads has the name that the line writes, until a
// later line of the same frame writes it anew or the frame ends; what is read in the same statement has none:
//
//   d4 = self.up4(x4)                   d4: to the third line, which writes it anew
//   x3 = self.att4(g=d4, x=x3)
//   d4 = torch.cat((x3, d4), dim=1)     x3: to the frame's end, nobody writes it again
//
// `read`: when each value would go that had no name. Replaces the guesses of `holds` where lines say it. Gives, by
// value, what they say: of the variables of a function that a line calls only that they die with it. And until when a
// value lasts if the code names it again in a line that makes nothing, which no file has:
//
//   216 skip = conv(x)
//   217 x = pool(skip)
//                               line 218 is not in the file: skips.append(skip), a comment, or nothing
//   219 x = self.bottom(x)
enum class Told : uint8_t { kNothing, kLatest, kEnd };
struct Traced {
  explicit Traced(size_t values) : told(values, Told::kNothing), again(values) {}
  std::vector<Told> told;
  std::vector<Release> again;  // after -1: no line may be missing
};
Traced FollowTracedNames(const Frames& frames, const Holds& read, Holds& holds);

// --- most_names.cc ---

// The variables that a forward may have at most, where the file names none: one for every result outside a chain, until
// its frame ends.
//
//   a = self.a(x); b = self.b(a); for block in self.blocks: b = block(b); return self.head(b)
//   a        held to the end: it may have a name of its own
//   blocks   hand on one name, unless a later turn looks up what an earlier one made: then there is a list of all
//
// `read`: when a value goes if it has no name; `told`: by source lines, so that nothing longer is assumed.
void HoldMostNames(const Frames& frames, const Holds& read, const std::vector<Told>& told, Holds& holds);

}  // namespace vramplan
