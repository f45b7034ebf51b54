#include "graph/base/ref.h"

#include <doctest/doctest.h>

#include <vector>

namespace vramplan {
namespace {

struct Counted : RefCounted<Counted> {
  explicit Counted(int* living) : living_(living) { ++*living_; }
  ~Counted() { --*living_; }
  int* living_;
};

TEST_CASE("the object lives as long as its last reference") {
  int living = 0;
  {
    Ref<Counted> a = MakeRef<Counted>(&living);
    CHECK(a->use_count() == 1);
    Ref<Counted> b = a;
    CHECK(a->use_count() == 2);
    CHECK(a == b);
    const Ref<Counted> c = std::move(b);
    CHECK(a->use_count() == 2);
    CHECK(!b);
    CHECK(c.get() == a.get());
    Ref<Counted>& same = a;
    a = same;  // to itself
    CHECK(a->use_count() == 2);
    std::vector<Ref<Counted>> many(10, a);
    CHECK(a->use_count() == 12);
    many.clear();
    a = MakeRef<Counted>(&living);
    CHECK(living == 2);
    CHECK(c->use_count() == 1);
    a = nullptr;
    CHECK(!a);
    CHECK(living == 1);
  }
  CHECK(living == 0);
}

}  // namespace
}  // namespace vramplan
