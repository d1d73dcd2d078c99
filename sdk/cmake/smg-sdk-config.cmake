# find_package(smg-sdk) gives smg::sdk (headers), smg::http1 (an HTTP/1.1 client codec) and smg_add_plugin().
include(${CMAKE_CURRENT_LIST_DIR}/smg-sdk-targets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/SmgPlugin.cmake)
