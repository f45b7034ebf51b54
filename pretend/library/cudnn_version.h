// CudnnVersion: which cuDNN the program believes to have. The real one is never asked: its first call looks for a
// driver, from inside the loader's lock.
#pragma once

namespace pretend {

// As cudnnGetVersion says it: 8700, 91002. Of the library that is loaded: its major version by its file name, all of it
// by the package that it lies in (nvidia_cudnn_cu12-9.10.2.21.dist-info); else what wheels of that major version had.
int CudnnVersion();

// Whether it has computed anything: then it may have taken workspaces.
bool CudnnWasUsed();

}  // namespace pretend
