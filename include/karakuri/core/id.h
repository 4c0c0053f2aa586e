// Typed generational ids. An id outlives what it names: looking up a removed thing is an answer, not a crash.
#pragma once

#include <cassert>
#include <compare>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace karakuri {

/// Names one thing of the kind `Tag` in the container that gave it. Default: names nothing.
template <class Tag>
struct Id {
  std::uint32_t index = 0;
  std::uint32_t generation = 0;  // 0: none

  explicit operator bool() const { return generation != 0; }
  friend auto operator<=>(const Id&, const Id&) = default;
};

/// Values by id, in slots that are used again; a slot's generation tells its tenants apart.
/// Iteration is in slot order, which depends on the edits alone, not on addresses.
template <class Tag, class T>
class SlotMap {
 public:
  using Key = Id<Tag>;

  Key insert(T value) {
    if (free_.empty()) {
      slots_.push_back({std::move(value), 1, true});
      return {static_cast<std::uint32_t>(slots_.size() - 1), 1};
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    Slot& slot = slots_[index];
    slot.value = std::move(value);
    slot.used = true;
    return {index, slot.generation};
  }

  void erase(Key key) {
    assert(contains(key));
    Slot& slot = slots_[key.index];
    slot.value = T{};
    slot.used = false;
    // A slot whose generations are spent is retired rather than let an old id name a new thing.
    if (++slot.generation != 0) free_.push_back(key.index);
  }

  /// Undoes an erase: `key` names `value` again, and what took its slot since is gone.
  void put_back(Key key, T value) {
    assert(key.index < slots_.size());
    Slot& slot = slots_[key.index];
    if (!slot.used) std::erase(free_, key.index);
    slot = {std::move(value), key.generation, true};
  }

  bool contains(Key key) const {
    return key.generation != 0 && key.index < slots_.size() && slots_[key.index].used &&
           slots_[key.index].generation == key.generation;
  }
  /// nullptr where `key` names nothing here (any more).
  T* find(Key key) { return contains(key) ? &slots_[key.index].value : nullptr; }
  const T* find(Key key) const { return contains(key) ? &slots_[key.index].value : nullptr; }
  /// @pre contains(key)
  T& operator[](Key key) { return assert(contains(key)), slots_[key.index].value; }
  const T& operator[](Key key) const { return assert(contains(key)), slots_[key.index].value; }

  int size() const { return static_cast<int>(slots_.size() - free_.size()); }

  /// All keys now in use, in slot order.
  std::vector<Key> keys() const {
    std::vector<Key> all;
    for (std::uint32_t i = 0; i < slots_.size(); ++i) {
      if (slots_[i].used) all.push_back({i, slots_[i].generation});
    }
    return all;
  }

 private:
  struct Slot {
    T value;
    std::uint32_t generation;
    bool used;
  };
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
};

}  // namespace karakuri

template <class Tag>
struct std::hash<karakuri::Id<Tag>> {
  std::size_t operator()(const karakuri::Id<Tag>& id) const {
    return (static_cast<std::size_t>(id.generation) << 32) ^ id.index;
  }
};
