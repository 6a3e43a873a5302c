// Instantiates one kernel of FlashAttention-2: HEADER, PARAMS and KERNEL are macros.
#include "namespace_config.h"
#include HEADER
namespace FLASH_NAMESPACE {
void launch(PARAMS &p) { KERNEL<<<1, 128>>>(p); }
} // namespace FLASH_NAMESPACE
