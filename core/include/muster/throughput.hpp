#pragma once

#include "muster/client.hpp"
#include "muster/dtype.hpp"

/// How fast a device is. Each is measured once per hardware and kept (Client::measure_throughput): the first call blocks
/// for up to a second, with the device to itself.
namespace muster::throughput {

/// Bytes per second that a copy inside the device moves: those read and those written.
double memory_copy(const Client& client);
/// Bytes per second that kernels read.
double memory_read(const Client& client);
/// Bytes per second that kernels write.
double memory_write(const Client& client);
/// Multiplications and additions per second of f32, f64, i32, u32, i64 or u64. Throws UsageError for another dtype, for
/// which the kernel language has no arithmetic.
double fma(const Client& client, Dtype dtype);

}  // namespace muster::throughput
