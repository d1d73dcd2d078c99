#include "host/auth/base64url.hpp"

#include <doctest/doctest.h>

#include "signer.hpp"

using namespace smg;

TEST_CASE("base64url is read back as it was written, whatever the bytes are") {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    CHECK(decode_base64url(test::base64url(bytes)) == bytes);
    bytes += static_cast<char>(i * 151);
  }
}

TEST_CASE("base64url has one text for each value: no padding, no blanks, no stray bits") {
  CHECK(decode_base64url("") == "");
  CHECK(decode_base64url("QQ") == "A");
  for (const char* wrong : {"Q", "QQ==", "QR", "Q Q", "QQ\n", "QQ+/", "QUI=", "QUJ", "QUFBQ"}) {
    CAPTURE(wrong);
    CHECK_FALSE(decode_base64url(wrong));
  }
}
