// A library that is linked against and then not found.
extern "C" __attribute__((visibility("default"))) void sluice_absent_function() {}
