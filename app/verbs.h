#pragma once
// One function per verb; each returns the exit code. Results go to stdout, everything else to
// stderr.

#include "app/options.h"

namespace hearth {

int verb_run(const Options& options);     ///< one-shot, or the terminal chat
int verb_window(const Options& options);  ///< the chat in a window
int verb_ls(const Options& options);
int verb_show(const Options& options);
int verb_history(const Options& options);
int verb_rm(const Options& options);
int verb_cache(const Options& options);
int verb_export(const Options& options);
int verb_import(const Options& options);
int verb_backup(const Options& options);
int verb_paths(const Options& options);
int verb_inspect(const Options& options);
int verb_bench(const Options& options);
int bench_drafts(const Options& options, const std::string& model_path);
int verb_doctor(const Options& options);

/// `hearth: WHAT` on stderr; returns the exit code of the error's kind.
int tell_error(const Error& error);

}  // namespace hearth
