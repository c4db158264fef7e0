#pragma once

#include <string_view>

namespace muster::detail {

/// Whether MUSTER_RECORDS names a file for records. Read once.
bool records_on() noexcept;

/// Appends one line to the file of records, in one write, so that ranks may share the file. The first line that cannot be
/// written is reported in the log, with the reason, and ends the recording of this process. Thread safe.
void append_record(std::string_view json_line) noexcept;

}  // namespace muster::detail
