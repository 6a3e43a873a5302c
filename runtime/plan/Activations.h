//===- Activations.h - The functions between the layers of a network ------===//
//
// The table of their names and numbers, which pe.mlp, tile.find_segments, the float64 reference
// and pe_attention share. Freestanding, because the device library includes it.
//
//===----------------------------------------------------------------------===//
#ifndef PE_RUNTIME_PLAN_ACTIVATIONS_H
#define PE_RUNTIME_PLAN_ACTIVATIONS_H

/// X(enumerator, name) for every function, in the order of their numbers.
// clang-format off
#define PE_ACTIVATIONS(X) \
  X(Identity, "identity") X(Relu, "relu") X(Gelu, "gelu") X(Tanh, "tanh") X(Silu, "silu") \
  X(Cos, "cos") X(Step, "step")
// clang-format on

namespace pe::plan {

/// The number of a function in the argument block of find_segments.
enum class Activation : long long {
#define PE_ENUMERATOR(enumerator, name) enumerator,
  PE_ACTIVATIONS(PE_ENUMERATOR)
#undef PE_ENUMERATOR
};

/// The names by number.
inline constexpr const char *kActivationNames[] = {
#define PE_NAME(enumerator, name) name,
    PE_ACTIVATIONS(PE_NAME)
#undef PE_NAME
};

} // namespace pe::plan

#endif // PE_RUNTIME_PLAN_ACTIVATIONS_H
