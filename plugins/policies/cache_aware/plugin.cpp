#include "cache_aware.hpp"

SMG_EXPORT_PLUGINS(smg::policy<cache_aware::CacheAware>(
    {.name = "cache_aware",
     .version = "1.0",
     .vendor = "smg",
     .summary = "a worker that should hold the prompt's beginning, unless it is too busy",
     .options = cache_aware::kOptions}));
