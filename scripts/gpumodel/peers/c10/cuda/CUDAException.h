// The macros of PyTorch that FlashAttention-2 uses at launches.
#define C10_CUDA_CHECK(x) (void)(x)
#define C10_CUDA_KERNEL_LAUNCH_CHECK()
