# What every target of the project is compiled with. Third-party headers are SYSTEM, so the warnings
# speak about our own lines only.
add_library(smg-options INTERFACE)
target_compile_options(
  smg-options
  INTERFACE -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Werror
            $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor -Woverloaded-virtual>)

if(SMG_SANITIZE)
  target_compile_options(smg-options INTERFACE -fsanitize=${SMG_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(smg-options INTERFACE -fsanitize=${SMG_SANITIZE})
endif()
if(SMG_FUZZ)
  # The libraries under test need the coverage instrumentation, the drivers add -fsanitize=fuzzer.
  target_compile_options(smg-options INTERFACE -fsanitize=fuzzer-no-link)
endif()
