// Stands for the runtime that a wheel brings, copied to the name that it has there. That of CUDA 11 must not be asked
// what it is: it would look for a driver first.
extern "C" int cudaRuntimeGetVersion(int* version) {
  *version = 12060;
  return 0;
}
