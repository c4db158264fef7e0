#include <fmt/format.h>

#include <algorithm>

#include "muster/error.hpp"
#include "muster/kernel_language_host.hpp"
#include "muster/kernels.hpp"
#include "muster/throughput.hpp"

#include "probes.kernel.hpp"

namespace muster::throughput {

namespace {

constexpr Dim3 block{64, 1, 1};
constexpr int repeats = 5;

const bool registered = register_kernel_source("probes.kernel.hpp",
#include "probes.kernel.inc"
);

/// Bytes of one buffer: more than caches hold, and what the device can spare.
std::size_t buffer_bytes(const Client& client) {
  const auto& properties = client.properties();
  std::size_t size = std::max<std::size_t>(std::size_t{64} << 20U, 2 * properties.l3_cache_bytes);
  const std::size_t limit = properties.memory_limit_bytes;
  if (limit != 0) size = std::min(size, limit / 4);
  return std::max<std::size_t>(size / 4096 * 4096, 4096);
}

/// The best of a few runs of `work`, in units per second.
template <class F>
double best_rate(const Client& client, double units, F&& work) {
  double best = 0;
  for (int i = 0; i < repeats; ++i) {
    const ProfileDuration duration = client.profile(work);
    if (!duration || duration->count() == 0) throw Error(ErrorCode::internal, "a throughput probe had nothing to measure");
    best = std::max(best, units / std::chrono::duration<double>(*duration).count());
  }
  return best;
}

Argument number(std::uint64_t value) { return Argument::scalar(static_cast<std::int64_t>(value)); }

/// Threads of a probe of memory, and the u64 elements of each.
struct Stretches {
  std::uint64_t threads, stretch;
  explicit Stretches(std::size_t size_bytes)
      : threads(std::max<std::uint64_t>(size_bytes / 4096, 1)), stretch(size_bytes / 8 / threads) {}
};

}  // namespace

double memory_copy(const Client& client) {
  return client.measure_throughput("memory_copy", [](const Client& device) {
    const std::size_t size = buffer_bytes(device);
    const Handle from = device.create(Bytes(size)), to = device.create(Bytes(size));
    return best_rate(device, 2.0 * static_cast<double>(size), [&] { device.copy(from, to); });
  });
}

double memory_read(const Client& client) {
  return client.measure_throughput("memory_read", [](const Client& device) {
    const std::size_t size = buffer_bytes(device);
    const Stretches stretches(size);
    const Handle in = device.create(Bytes(size)), out = device.empty(stretches.threads * sizeof(std::uint64_t));
    const Kernel kernel(probe_read, block);
    return best_rate(device, static_cast<double>(size), [&] {
      device.launch(kernel, kernels::blocks_for(kernel, stretches.threads),
                    {Argument::in(in), Argument::out(out), number(stretches.stretch), number(stretches.threads)});
    });
  });
}

double memory_write(const Client& client) {
  return client.measure_throughput("memory_write", [](const Client& device) {
    const std::size_t size = buffer_bytes(device);
    const Stretches stretches(size);
    const Handle out = device.create(Bytes(size));
    const Kernel kernel(probe_write, block);
    return best_rate(device, static_cast<double>(size), [&] {
      device.launch(kernel, kernels::blocks_for(kernel, stretches.threads),
                    {Argument::out(out), number(7), number(stretches.stretch), number(stretches.threads)});
    });
  });
}

double fma(const Client& client, Dtype dtype) {
  const KernelDefinition* definition = nullptr;
  switch (dtype) {
    case Dtype::f32:
      definition = &probe_fma_f32;
      break;
    case Dtype::f64:
      definition = &probe_fma_f64;
      break;
    case Dtype::i32:
    case Dtype::u32:
      definition = &probe_fma_u32;
      break;
    case Dtype::i64:
    case Dtype::u64:
      definition = &probe_fma_u64;
      break;
    default:
      throw UsageError(
          fmt::format("kernels have no arithmetic of {}; ask for f32, f64, i32, u32, i64 or u64", name(dtype)));
  }
  return client.measure_throughput(fmt::format("fma/{}", name(dtype)), [&](const Client& device) {
    constexpr std::uint64_t rounds = 2000, lanes = 64;
    const std::uint64_t threads = std::uint64_t{block.x} * 16;
    const Handle out = device.empty(threads * sizeof(double));
    const Kernel kernel(*definition, block);
    const auto scalar = [&](double value) {
      return is_float(dtype) ? Argument::scalar(value) : number(static_cast<std::uint64_t>(value));
    };
    return best_rate(device, 2.0 * static_cast<double>(threads * rounds * lanes), [&] {
      device.launch(kernel, kernels::blocks_for(kernel, threads),
                    {Argument::out(out), scalar(is_float(dtype) ? 0.999 : 3), scalar(1), number(rounds)});
    });
  });
}

}  // namespace muster::throughput
