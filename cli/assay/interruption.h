// Ctrl-C and SIGTERM: a first signal asks the running verb to end with what it has, a second one ends the program at once.
//
// A thread waits for the signals. A verb looks at is_interrupted() between its steps; where a step takes too long, that thread says the
// verb's last words and ends the program itself, so that an answer comes within a second whatever the verb is doing.
#pragma once

#include <functional>
#include <mutex>
#include <stop_token>
#include <string>

#include "semantics/outcome.h"

namespace assay::cli {

// Once, at the start of the program and before any other thread: all threads leave the signals to the one that waits for them.
void watch_signals();

[[nodiscard]] bool is_interrupted();
[[nodiscard]] std::stop_token interruption_token();

// Sets the verb's progress, for the reason: "12 of 300 regions judged". Any thread may call it, at any time.
void set_progress(std::string text);
// Declined, with the signal, the time and the progress.
[[nodiscard]] Rejection interruption();

// Sets the output for a verb that does not end by itself; it is printed while the verb's thread still runs.
void set_last_words(std::function<void(const Rejection& why)> say);

// The right to conclude: the thread that holds it prints the verb's end, and the other one stays silent.
// The waiting thread never gives it back.
[[nodiscard]] std::unique_lock<std::recursive_mutex> conclusion();
// The verb concludes, now and for the rest of the program.
void conclude();

}  // namespace assay::cli
