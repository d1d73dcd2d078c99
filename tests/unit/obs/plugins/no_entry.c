// A shared library that is no plugin.
int smg_test_answer(void);
int smg_test_answer(void) {
  return 42;
}
