// What HIP's compiler wants before the text it shares with CUDA, dialect_cuda.h.
#pragma clang fp contract(off)
