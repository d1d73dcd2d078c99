# smg_add_plugin(NAME SOURCE...): a plugin library NAME.so in C or C++, ready to be loaded by the gateway.
#
# The target is NAME; add include directories and libraries to it as to any other. The library exports
# smg_plugin_entry and nothing else, needs no symbol that its own libraries do not provide, and has no
# GNU-unique symbol, so that it can be unloaded. `cmake --install` puts it into lib/smg/plugins.
function(smg_add_plugin name)
  set(map ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/smg-plugin.map)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE smg::sdk)
  set_target_properties(
    ${name}
    PROPERTIES PREFIX ""
               SUFFIX ".so"
               C_VISIBILITY_PRESET hidden
               CXX_VISIBILITY_PRESET hidden
               VISIBILITY_INLINES_HIDDEN ON
               LINK_DEPENDS ${map})
  target_compile_options(
    ${name} PRIVATE $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CXX_COMPILER_ID:GNU>>:-fno-gnu-unique>)
  target_link_options(${name} PRIVATE -Wl,--version-script=${map})
  # Instrumented code of clang takes the sanitizer's functions from the program that loads it.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" OR CMAKE_C_COMPILER_ID STREQUAL "GNU" OR NOT SMG_SANITIZE)
    target_link_options(${name} PRIVATE -Wl,--no-undefined)
  endif()
  install(TARGETS ${name} LIBRARY DESTINATION lib/smg/plugins COMPONENT plugins)
endfunction()
