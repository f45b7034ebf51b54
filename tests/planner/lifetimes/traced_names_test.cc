
#include <doctest/doctest.h>

#include <string>

#include "tests/support/forward.h"

namespace vramplan {
namespace {

using testing::Forward;

TEST_CASE("a name lives until its frame writes it anew, or ends") {
  const Forward f(R"(
a - abs x   | 3 d = self.up(x)
b - neg a   | 4 y = self.gate(d)
c - cat b a | 5 d = torch.cat((y, d), 1)
e - exp c   | 6 z = self.conv(d)
g - abs e   | 7 return self.head(z))");
  CHECK(f.DiesBehind("a") == "c");
  CHECK(f.DiesBehind("b") == "g");
  CHECK(f.DiesBehind("c") == "g");
  CHECK(f.DiesBehind("e") == "g");
}

TEST_CASE("what is read in its own statement has no name, be it a sum of several lines") {
  const Forward f(R"(
a - abs x   | 4 [self.f(x),
b - neg x   | 5 self.g(x)], dim=1)
c - cat a b | 3 y = torch.cat(
e - exp c   | 6 y = self.h(self.k(y))
g - abs e   | 6 y = self.h(self.k(y))
i - abs g   | 7 return self.head(y))");
  CHECK(f.DiesBehind("a") == "c");
  CHECK(f.DiesBehind("b") == "c");
  CHECK(f.DiesBehind("c") == "g");  // y, until the whole statement is done
  CHECK(f.DiesBehind("e") == "g");
}

TEST_CASE("a loop binds its name anew at each turn; what was put into a list stays") {
  const Forward f(R"(
a blocks.0 abs x | 4 x = block(x)         | 1 return f(x)
b blocks.1 neg a | 4 x = block(x)         | 1 return f(x)
c side abs b     | 5 feats.append(self.side(x)) | 1 return f(x)
e blocks.2 abs b | 4 x = block(x)         | 1 return f(x)
g - cat c e      | 6 x = torch.cat(feats + [x], 1)
i - abs g        | 7 return self.head(x))");
  CHECK(f.DiesBehind("a") == "b");
  CHECK(f.DiesBehind("b") == "e");
  CHECK(f.DiesBehind("c") == "i");
  CHECK(f.DiesBehind("e") == "g");
}

TEST_CASE("a line that is missing may have named what stands before it once more") {
  // skips.append(skip), pointfeat = x, a comment or nothing
  const auto at_most = [](const std::string& pool, const std::string& bottom) {
    const Forward f("a - abs x | 4 x = conv(x)\nb - neg a | " + pool + " x = pool(x)\nc - exp b | " + bottom +
                    " x = self.bottom(x)\nd - abs c | 9 return self.head(x)");
    CHECK(f.DiesBehind("b") == "c");
    return f.DiesBehind("b", Naming::kMost);
  };
  CHECK(at_most("5", "6") == "c");
  CHECK(at_most("5", "7") == "d");
}

TEST_CASE("a method that runs again and again: turns of a loop, or one call with a loop inside") {
  const std::string turn = " | 5 x = self.block(x)";
  const auto ends = [&](const std::string& second, Naming naming) {
    const Forward f("a - abs x | 4 x = self.conv(x)\nb - neg a" + turn + "\nc - exp b" + turn + "\nd - " + second +
                    " c" + turn + "\ne - exp d" + turn + "\ng - abs e | 6 return self.head(x)");
    return f.DiesBehind("a", naming);
  };
  CHECK(ends("neg", Naming::kLikely) == "e");  // when the last turn is done, as if the loop stood in the method
  CHECK(ends("neg", Naming::kFewest) == "b");  // read for the last time: the first turn writes x anew
  CHECK(ends("sin", Naming::kFewest) == "e");  // one call, nothing in it runs twice
}

TEST_CASE("a list whose name is written anew with what was made of it") {
  const Forward f(R"(
a - abs x    | 4 outs.append(self.f(x))
b - neg x    | 4 outs.append(self.f(x))
c - cat a b  | 5 outs = torch.stack(outs, 2)
e - exp c    | 6 y = self.h(outs)
g - abs e    | 7 return self.head(y))");
  CHECK(f.DiesBehind("a") == "c");
  CHECK(f.DiesBehind("b") == "c");
  CHECK(f.DiesBehind("c") == "g");  // outs
}

TEST_CASE("a list that is begun anew in each turn, by a line that makes nothing") {
  // 3 outs = []
  const Forward f(R"(
a - abs x    | 5 outs.append(abs(x))
b - neg x    | 5 outs.append(neg(x))
c - cat a b  | 6 out = torch.cat(outs, 1)
d - exp c    | 7 x = out.exp()
e - abs d    | 5 outs.append(abs(x))
g - neg d    | 5 outs.append(neg(x))
h - cat e g  | 6 out = torch.cat(outs, 1)
i - exp h    | 7 x = out.exp()
j - abs i    | 8 return self.head(x))");
  CHECK(f.DiesBehind("a") == "g");
  CHECK(f.DiesBehind("b") == "g");
  CHECK(f.DiesBehind("c") == "h");
  CHECK(f.DiesBehind("e") == "j");
}

TEST_CASE("outs = cat(outs) is a list again where something is appended to it") {
  const Forward f(R"(
a - abs x    | 5 outs.append(abs(x))
b - neg x    | 5 outs.append(neg(x))
c - cat a b  | 6 outs = torch.cat(outs, 1)
d - exp c    | 7 x = outs.exp()
e - abs d    | 5 outs.append(abs(x))
g - neg d    | 5 outs.append(neg(x))
h - cat e g  | 6 outs = torch.cat(outs, 1)
i - exp h    | 7 x = outs.exp()
j - abs i    | 8 return self.head(x))");
  CHECK(f.DiesBehind("a") == "c");
  CHECK(f.DiesBehind("c") == "g");
  CHECK(f.DiesBehind("h") == "j");
}

TEST_CASE("the last of a list that is read under the list's name") {
  // output.append(x), whose lines make nothing
  const Forward f(R"(
a blocks.0 abs x | 5 x = layer(x) | 1 return f(x)
b blocks.1 neg a | 5 x = layer(x) | 1 return f(x)
c - cat x a b    | 7 x = torch.cat(output, dim=1)
e - exp c        | 8 x = self.aggregation(x)
g - abs e        | 9 return self.head(x))");
  CHECK(f.DiesBehind("a") == "g");
  CHECK(f.DiesBehind("b") == "g");
  CHECK(f.DiesBehind("c") == "e");
}

TEST_CASE("a list that the caller gave to the call lives as long as the caller's frame") {
  const auto mid = [](const std::string& call) {
    const std::string frame = " | 3 " + call + " | 6 outs.append(module(x)) | 1 return f(x)\n";
    return Forward("a mid.f abs x" + frame + "b mid.g neg a" + frame + "c mid cat a b | 3 " + call +
                   " | 7 x = torch.cat(outs, 1)\ne - exp c | 4 x = self.conv(x)\ng - abs e | 5 return self.head(x)");
  };
  CHECK(mid("x = self.mid(x, output)").DiesBehind("a") == "g");
  CHECK(mid("x = self.mid(x, outs=output)").DiesBehind("a") == "g");
  CHECK(mid("x = self.mid(x)").DiesBehind("a") == "c");        // its own
  CHECK(mid("x = self.mid(x, None)").DiesBehind("a") == "c");  // no list
}

TEST_CASE("a second name: by a line that makes nothing") {
  // residual = x; x = self.norm(x); x = self.attn(x); x = residual + x; residual = x; ...
  const Forward f(R"(
a - abs x   | 3 x = self.embed(x)
b - neg a   | 5 x = self.norm(x)
c - add a b | 6 x = residual + x
e - neg c   | 8 x = self.norm2(x)
g - add c e | 9 x = residual + x
i - exp g   | 10 x = self.f(x)
j - neg i   | 11 return self.head(x))");
  CHECK(f.DiesBehind("a") == "c");
  CHECK(f.DiesBehind("b") == "c");
  CHECK(f.DiesBehind("c") == "j");
  // skips.append(x) ... torch.cat([x, skips.pop()], 1)
  const Forward skips(R"(
a - abs x   | 3 x = self.down(x)
b - neg a   | 5 x = self.mid(x)
c - cat b a | 6 x = torch.cat([x, skips.pop()], 1)
e - neg c   | 7 x = self.out(x)
g - abs e   | 8 return self.head(x))");
  CHECK(skips.DiesBehind("a") == "c");
  const Forward list(R"(
a - abs x   | 3 skips = [self.stem(x)]
b - neg a   | 4 skips.append(self.down(skips[-1]))
c - neg b   | 5 x = self.mid(x)
e - cat b c | 6 x = torch.cat([skips.pop(), x], 1)
g - cat a e | 7 x = torch.cat([skips.pop(), x], 1)
i - abs g   | 8 x = self.out(x)
j - abs i   | 9 return self.head(x))");
  CHECK(list.DiesBehind("b") == "e");
  CHECK(list.DiesBehind("a") == "g");
}

TEST_CASE("what a line does not write was done by a function that it calls: its names die with it") {
  const std::string forward = R"(
a - abs x     | 3 y = self.turn(x)
b - neg a     | 3 y = self.turn(x)
c - matmul a b | 3 y = self.turn(x)
e - exp c     | 3 y = self.turn(x)
g - abs e     | 4 return self.head(y))";
  CHECK(Forward(forward).DiesBehind("b") == "e");  // factors of a product are names (bound_names.h), of the function
  std::string written = forward;
  for (size_t at = written.find("self.turn(x)"); at != std::string::npos; at = written.find("self.turn(x)"))
    written.replace(at, 12, "exp(abs(x) @ neg(abs(x)))");
  CHECK(Forward(written).DiesBehind("b") == "c");
}

TEST_CASE("a loop inside of a function is not one of the line that calls it") {
  const auto with = [](const std::string& line) {
    return Forward("a - abs x | 2 y = self.stem(x)\nb up.0 neg a | " + line + " | 1 return f(x)\nc - abs b | " + line +
                   "\nd up.1 neg c | " + line + " | 1 return f(x)\ne - abs d | " + line +
                   "\ng - exp e | 9 return self.head(y)");
  };
  CHECK(with("4 y = self.f(up(y).abs())").DiesBehind("c") == "e");  // y, until the next turn writes it
  CHECK(with("4 y = self.decode(y)").DiesBehind("c") == "d");
}

TEST_CASE("a checkpoint in a loop calls what the loop names") {
  const auto with = [](const std::string& line) {
    return Forward("a - abs x | 2 x = self.stem(x)\nb blocks.0 neg a | " + line +
                   " | 1 return f(x)\nc blocks.1 neg b | " + line +
                   " | 1 return f(x)\ne - exp c | 9 return self.head(x)");
  };
  for (const char* line : {"4 x = block(x)", "4 x = checkpoint(block, x)", "4 x = cp.checkpoint(block, x)",
                           "4 x = torch.utils.checkpoint.checkpoint(self.blocks[i], x, use_reentrant=False)"}) {
    CHECK(with(line).DiesBehind("a") == "b");
  }
  CHECK(with("4 x = self.decode(x)").DiesBehind("a") == "c");
}

TEST_CASE("a line that makes nothing wrote the name: the next turn reads another value under it") {
  // for block in self.blocks: y = block(x); x = y[0]
  const auto with = [](const std::string& last) {
    return Forward(
        "a stem abs x | 3 x = self.stem(x) | 1 return f(x)\nb blocks.0 neg a | 5 y = block(x) | 1 return f(x)\n" +
        ("c blocks.1 neg b | 5 y = block(x) | 1 return f(x)\ne - " + last + " | 8 return self.head(x, y)"));
  };
  CHECK(with("exp c").DiesBehind("a") == "b");
  CHECK(with("add a c").DiesBehind("a") == "e");  // it has a second name
}

TEST_CASE("a loop through modules that the line does not name") {
  // for block in (self.b, self.c): x = x + block(x)
  const Forward loop(R"(
a a abs x   | 3 x = self.a(x)    | 1 return f(x)
b b neg a   | 5 x = x + block(x) | 1 return f(x)
c - add a b | 5 x = x + block(x)
e c neg c   | 5 x = x + block(x) | 1 return f(x)
g - add c e | 5 x = x + block(x)
i - exp g   | 7 return self.head(x))");
  CHECK(loop.DiesBehind("a") == "c");
  CHECK(loop.DiesBehind("c") == "g");
  // def both(x): return self.c(self.b(x))
  const Forward function(R"(
a a abs x   | 3 x = self.a(x)   | 1 return f(x)
b b neg a   | 5 x = x + both(x) | 1 return f(x)
e c neg b   | 5 x = x + both(x) | 1 return f(x)
g - add a e | 5 x = x + both(x)
i - exp g   | 7 return self.head(x))");
  CHECK(function.DiesBehind("a") == "g");
}

TEST_CASE("of fewer values than names the last are numbers") {
  const Forward f(R"(
a enc abs x  | 3 x, height, width = self.enc(x) | 1 return f(x)
b - neg a    | 4 x = self.block(x, height, width)
c - abs b    | 5 y = self.f(x)
d - exp c    | 6 return self.head(y))");
  CHECK(f.DiesBehind("a") == "b");
  CHECK(f.DiesBehind("b") == "d");
}

TEST_CASE("of two names that a call binds, that which the next turn reads") {
  const Forward f(R"(
a blocks.0 abs x   | 4 x, skip = block(x) | 1 return f(x)
b blocks.0 neg a   | 4 x, skip = block(x) | 1 return f(x)
c blocks.1 neg b   | 4 x, skip = block(x) | 1 return f(x)
e blocks.1 exp c   | 4 x, skip = block(x) | 1 return f(x)
g - cat a c        | 6 x = torch.cat(skips, 1)
i - add e g        | 7 x = x + self.y
j - abs i          | 8 return self.head(x))");
  CHECK(f.DiesBehind("b") == "e");  // x
  CHECK(f.DiesBehind("a") == "j");  // skip, and an element of skips
}

TEST_CASE("a name that was written anew in between is not what a later line reads under it") {
  // normed, shift, scale = self.norm(x); line 4 goes on in lines that are not there: self.attn(hidden=normed)
  const Forward f(R"(
a norm abs x   | 3 normed, shift, scale = self.norm(x) | 1 return f(x)
b norm exp x   | 3 normed, shift, scale = self.norm(x) | 1 return f(x)
c norm neg x   | 3 normed, shift, scale = self.norm(x) | 1 return f(x)
d attn abs c   | 4 h = self.attn( | 1 return f(x)
e norm2 neg d  | 6 normed = self.norm2(h) | 1 return f(x)
g - mul e b    | 7 normed = normed * scale + shift
i - add g a    | 7 normed = normed * scale + shift
j - abs i      | 9 return self.head(normed))");
  CHECK(f.DiesBehind("c") == "e");  // normed
  CHECK(f.DiesBehind("a") == "j");  // shift, scale
  CHECK(f.DiesBehind("b") == "j");
}

TEST_CASE("parts that have lost their line are names in front of the first that reads one") {
  const auto with = [](const std::string& line) {
    return Forward("a - abs x | 2 y = self.stem(x)\np - split a\nb - abs p | " + line +
                   "\nc - neg b | 5 z = self.f(b)\nd - exp c | 9 return self.head(z)");
  };
  CHECK(with("4 b = abs(q)").DiesBehind("p") == "d");
  CHECK(with("4 q = abs(q)").DiesBehind("p") == "b");
}

TEST_CASE("a convolution that a norm was folded into is of the norm's line where that calls it") {
  const auto with = [](const std::string& line) {
    Forward f("a - abs x | 2 y = self.stem(x)\nb conv conv2d a | " + line + " | 1 return n(x)\n" +
              "c bn batch_norm b | " + line + " | 1 return n(x)\nd - exp c | 9 return self.head(y)");
    return f;
  };
  CHECK(with("3 y = self.bn(self.conv(y))").DiesBehind("a") == "c");
  CHECK(with("3 y = self.bn(y)").DiesBehind("a") == "b");
}

TEST_CASE("in a loop over convolutions and norms the norm's line says what the convolution was called") {
  const auto with = [](const std::string& line) {
    return Forward("a - abs x | 2 x = self.stem(x)\nb convs.1 conv2d a | " + line + " | 1 return n(x)\n" +
                   "c norms.1 batch_norm b | " + line + " | 1 return n(x)\nd - exp c | 9 return self.head(x)");
  };
  CHECK(with("3 x = norm(x)").DiesBehind("a") == "b");
  CHECK(with("3 x = norm(conv(x))").DiesBehind("a") == "c");
}

TEST_CASE("two statements on one line, and files without lines, are guessed as ever") {
  const std::string plain = "a - abs x\nb - neg a\nc - exp b\nd - abs c";
  CHECK(Forward(plain).DiesBehind("b") == "c");
  CHECK(Forward("a - abs x | 1 a = f(x); b = g(a)\nb - neg a | 1 a = f(x); b = g(a)\nc - exp b | 2 c = h(b)\n"
                "d - abs c | 3 return k(c)")
            .DiesBehind("b") == "c");
  CHECK(Forward("a - abs x | 1 a = f(x)\nb - neg a | 2 b = g(a)\nc - exp b | 3 c = h(b)\nd - abs c | 4 return k(c)")
            .DiesBehind("b") == "d");
}

}  // namespace
}  // namespace vramplan
