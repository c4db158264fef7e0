// Random programs over the operations of Client, from several threads and streams on two devices, against a model that runs
// them one after the other. A seed stands in each failure's message.

#include <gtest/gtest.h>

#include <muster/client.hpp>
#include <muster/kernel_language.hpp>

#include <algorithm>
#include <atomic>
#include <optional>
#include <random>
#include <thread>

#include "random_programs.kernel.hpp"
#include "support/fresh_device.hpp"
#include "support/instrumented.hpp"

namespace muster {
namespace {

using Word = std::uint32_t;
/// An element of the model: its value, or nothing where it carries a failure.
using Element = std::optional<Word>;
using Elements = std::vector<Element>;

constexpr int threads = 3;
constexpr std::size_t longest = 600;

/// A buffer on a device, and what it should hold.
struct Buffer {
  std::size_t device = 0;
  Handle handle;
  Elements model;
};
struct Slice {
  std::size_t buffer = 0, first = 0, count = 0;
};
/// A read that was issued and is compared later.
struct Pending {
  Bytes lazy;
  std::optional<Future<Bytes>> future;
  Elements expected;
};

/// One program: operations in one order, each issued by a thread of its own choice.
class Program {
 public:
  Program(std::uint64_t seed, const std::vector<Client>& clients) : random_(seed), clients_(clients) {
    for (int i = 0; i < 4; ++i) make_buffer();
  }

  void run(int operations) {
    operations_ = operations;
    std::vector<std::thread> running;
    for (int thread = 0; thread < threads; ++thread) running.emplace_back([&, thread] { take_turns(thread); });
    for (auto& thread : running) thread.join();
    for (Pending& pending : pending_) compare(pending);
    for (std::size_t i = 0; i < buffers_.size(); ++i) read(whole(i));
  }
  [[nodiscard]] const std::string& fault() const { return fault_; }

 private:
  std::size_t below(std::size_t bound) { return random_() % bound; }

  void take_turns(int thread) {
    for (;;) {
      const int at = turn_.load(std::memory_order_acquire);
      if (at >= operations_) return;
      if (next_thread_.load(std::memory_order_acquire) != thread) {
        std::this_thread::yield();
        continue;
      }
      if (turn_.load(std::memory_order_acquire) != at) continue;
      try {
        step();
      } catch (const std::exception& error) {
        report(std::string("an operation threw: ") + error.what());
      }
      next_thread_.store(static_cast<int>(below(threads)), std::memory_order_release);
      turn_.store(at + 1, std::memory_order_release);
    }
  }

  void report(const std::string& what) {
    if (fault_.empty()) fault_ = "operation " + std::to_string(turn_.load()) + ": " + what;
  }

  [[nodiscard]] const Client& client_of(const Slice& slice) const { return clients_[buffers_[slice.buffer].device]; }
  [[nodiscard]] Handle handle_of(const Slice& slice) const {
    return buffers_[slice.buffer].handle.slice(slice.first * sizeof(Word), slice.count * sizeof(Word));
  }
  [[nodiscard]] Elements model_of(const Slice& slice) const {
    const auto begin = buffers_[slice.buffer].model.begin() + static_cast<std::ptrdiff_t>(slice.first);
    return {begin, begin + static_cast<std::ptrdiff_t>(slice.count)};
  }
  void set_model(const Slice& slice, const Elements& elements) {
    std::copy(elements.begin(), elements.end(),
              buffers_[slice.buffer].model.begin() + static_cast<std::ptrdiff_t>(slice.first));
  }
  static bool tainted(const Elements& elements) {
    return std::any_of(elements.begin(), elements.end(), [](const Element& each) { return !each; });
  }
  static Elements failed(std::size_t count) { return Elements(count, std::nullopt); }

  [[nodiscard]] Slice whole(std::size_t buffer) const { return {buffer, 0, buffers_[buffer].model.size()}; }
  Slice any_slice(std::size_t buffer) {
    const std::size_t size = buffers_[buffer].model.size();
    if (below(3) == 0) return {buffer, 0, size};
    const std::size_t first = below(size);
    return {buffer, first, 1 + below(size - first)};
  }
  /// Another slice of as many elements on the same device: the same memory, or apart from it.
  std::optional<Slice> partner(const Slice& slice) {
    if (below(6) == 0) return slice;
    for (int attempt = 0; attempt < 8; ++attempt) {
      const std::size_t buffer = below(buffers_.size());
      const std::size_t size = buffers_[buffer].model.size();
      if (buffers_[buffer].device != buffers_[slice.buffer].device || size < slice.count) continue;
      const Slice found{buffer, below(size - slice.count + 1), slice.count};
      const bool apart =
          buffer != slice.buffer || found.first + found.count <= slice.first || slice.first + slice.count <= found.first;
      if (apart) return found;
    }
    return std::nullopt;
  }

  std::vector<Word> words(std::size_t count) {
    std::vector<Word> values(count);
    for (Word& value : values) value = static_cast<Word>(random_());
    return values;
  }
  void make_buffer() {
    const std::size_t device = below(clients_.size());
    const auto values = words(1 + below(longest));
    buffers_.push_back({device, clients_[device].create_from_slice<Word>(values), Elements(values.begin(), values.end())});
  }

  // What a graph may hold, too:
  void copy(const Slice& from, const Slice& to) {
    client_of(from).copy(handle_of(from), handle_of(to));
    effects_.push_back([this, from, to] { set_model(to, tainted(model_of(from)) ? failed(to.count) : model_of(from)); });
  }
  void add(const Slice& a, const Slice& b, const Slice& out) {
    static const Kernel kernel(add_words, {64, 1, 1});
    client_of(out).launch(kernel, static_cast<std::uint32_t>((out.count + 63) / 64),
                          {Argument::in(handle_of(a)), Argument::in(handle_of(b)), Argument::out(handle_of(out)),
                           Argument::scalar(static_cast<std::int64_t>(out.count))});
    effects_.push_back([this, a, b, out] {
      const Elements left = model_of(a), right = model_of(b);
      Elements sum = failed(out.count);
      if (!tainted(left) && !tainted(right)) {
        for (std::size_t i = 0; i < out.count; ++i) sum[i] = *left[i] + *right[i];
      }
      set_model(out, sum);
    });
  }
  void fail_into(const Slice& out) {
    static const Kernel kernel("fails", [](const KernelContext&) { throw std::runtime_error("as it should"); });
    client_of(out).launch(kernel, 1, {Argument::out(handle_of(out))});
    effects_.push_back([this, out] { set_model(out, failed(out.count)); });
  }
  void apply_effects() {
    for (const auto& effect : effects_) effect();
  }
  void compute() {
    const Slice out = any_slice(below(buffers_.size()));
    const auto a = partner(out), b = partner(out);
    switch (below(a && b ? 5 : 1)) {
      case 0:
        if (below(3) == 0) return fail_into(out);
        return copy(out, out);
      case 1:
      case 2:
        return copy(*a, out);
      default:
        // Each input is the output itself or apart from it, so that no order within the kernel matters.
        return add(*a, *b, out);
    }
  }

  void write(const Slice& slice) {
    const auto values = words(slice.count);
    client_of(slice).write(handle_of(slice), Bytes::copy_of<Word>(values));
    set_model(slice, Elements(values.begin(), values.end()));
  }
  void read(const Slice& slice) {
    Pending pending{{}, client_of(slice).read_async(handle_of(slice)), model_of(slice)};
    compare(pending);
  }
  void compare(Pending& pending) {
    try {
      const Bytes bytes = pending.future ? pending.future->get() : std::move(pending.lazy);
      const auto values = bytes.as<Word>();
      if (tainted(pending.expected)) return report("a read gave values where a failure should be");
      for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != *pending.expected[i]) return report("element " + std::to_string(i) + " is wrong");
      }
    } catch (const LaunchFailed&) {
      if (!tainted(pending.expected)) report("a read failed where values should be");
    }
  }
  void graph() {
    const Client& client = clients_[below(clients_.size())];
    effects_.clear();
    client.start_capture();
    for (std::size_t i = 0; i < 1 + below(4); ++i) {
      const std::size_t buffer = below(buffers_.size());
      if (&clients_[buffers_[buffer].device] != &client) continue;
      const Slice out = any_slice(buffer);
      const auto a = partner(out);
      if (a && below(4) != 0) {
        copy(*a, out);
      } else {
        fail_into(out);
      }
    }
    const Graph recorded = client.stop_capture();
    for (std::size_t i = 0; i < 1 + below(3); ++i) {
      if (below(2) == 0) write(any_slice(below(buffers_.size())));
      recorded.replay();
      apply_effects();
    }
  }

  /// From now on its memory must not move, whatever reads of it are outstanding.
  void keep_in_place(const Buffer& buffer) {
    try {
      static_cast<void>(clients_[buffer.device].share_with_peers(buffer.handle));
    } catch (const Error&) {
      // It tells the failures known now: also one that work still queued will overwrite.
    }
  }

  void step() {
    const std::size_t buffer = below(buffers_.size());
    switch (below(16)) {
      case 0:
        if (buffers_.size() < 8) make_buffer();
        return;
      case 1:
      case 2:
        return write(any_slice(buffer));
      case 3:
      case 4:
      case 5:
      case 6:
        effects_.clear();
        compute();
        return apply_effects();
      case 7:
        return read(any_slice(buffer));
      case 8: {
        const Slice slice = any_slice(buffer);
        pending_.push_back({client_of(slice).read_lazy(handle_of(slice)), std::nullopt, model_of(slice)});
        return;
      }
      case 9: {
        const Slice slice = any_slice(buffer);
        pending_.push_back({{}, client_of(slice).read_async(handle_of(slice)), model_of(slice)});
        return;
      }
      case 10:
        if (!pending_.empty()) {
          std::swap(pending_[below(pending_.size())], pending_.back());
          compare(pending_.back());
          pending_.pop_back();
        }
        return;
      case 11: {
        const Slice slice = any_slice(buffer);
        const std::size_t device = below(clients_.size());
        Elements model = model_of(slice);
        if (tainted(model)) model = failed(model.size());
        buffers_.push_back({device, client_of(slice).to_client(handle_of(slice), clients_[device]), std::move(model)});
        [[fallthrough]];
      }
      case 12:
        if (buffers_.size() > 3) {
          std::swap(buffers_[buffer], buffers_.back());
          buffers_.pop_back();
        }
        return;
      case 13:
        return graph();
      case 14: {
        const Client& client = clients_[below(clients_.size())];
        below(2) == 0 ? client.flush() : client.sync();
        return;
      }
      default:
        if (below(8) == 0) keep_in_place(buffers_[buffer]);
        return;
    }
  }

  std::mt19937_64 random_;
  const std::vector<Client>& clients_;
  std::vector<Buffer> buffers_;
  std::vector<Pending> pending_;
  std::vector<std::function<void()>> effects_;  // of what was issued, on the model
  int operations_ = 0;
  std::atomic<int> turn_{0}, next_thread_{0};
  std::string fault_;
};

TEST(RandomPrograms, AgreeWithRunningThemOneOperationAfterTheOther) {
  const std::vector<Client> clients{test::new_device(), test::new_device()};
  const int programs = test::instrumented ? 300 : 10'000;
  for (int seed = 0; seed < programs; ++seed) {
    Program program(static_cast<std::uint64_t>(seed), clients);
    program.run(40);
    ASSERT_EQ(program.fault(), "") << "seed " << seed;
  }
  for (const Client& client : clients) {
    client.sync();
    client.memory_cleanup();
    EXPECT_EQ(client.memory_report().in_use_bytes(), 0U) << "a program left memory behind";
  }
}

}  // namespace
}  // namespace muster
