// Names from files in texts for people: nothing in them may pass for a line of ours, or steer a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace assay {

// `text` as printable ASCII: other bytes as \xNN, cut after `limit` characters.
[[nodiscard]] std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace assay
