// What the fused kernels share: 16-lane vectors, a vectorisable exponential, and dropout masks that need no memory.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace centavo {

constexpr int kLanes = 16;
typedef float Vec __attribute__((vector_size(kLanes * sizeof(float)), aligned(4)));

inline int RoundUp(int number) { return (number + kLanes - 1) / kLanes * kLanes; }
inline Vec Load(const float* from) { return *reinterpret_cast<const Vec*>(from); }
inline void Store(float* to, Vec value) { *reinterpret_cast<Vec*>(to) = value; }

// exp(x) to 2 units in the last place (the polynomial of Cephes' expf), written so that a compiler turns loops over it
// into vector code. NaN stays NaN: a diverging training has to be seen.
inline float Exp(float x) {
  x = x < -87.0f ? -87.0f : x;
  x = x > 88.0f ? 88.0f : x;
  const float power = std::nearbyintf(x * 1.44269504088896341f);
  const float r = x - power * 0.693359375f + power * 2.12194440e-4f;
  float poly = 1.9875691500e-4f;
  poly = poly * r + 1.3981999507e-3f;
  poly = poly * r + 8.3334519073e-3f;
  poly = poly * r + 4.1665795894e-2f;
  poly = poly * r + 1.6666665459e-1f;
  poly = poly * r + 5.0000001201e-1f;
  poly = poly * r * r + r + 1.0f;
  const int32_t bits = (static_cast<int32_t>(power) + 127) << 23;
  float scale;
  std::memcpy(&scale, &bits, sizeof(scale));
  return poly * scale;
}

inline float Max(const float* values, int count) {  // by lanes: a plain loop with NaN allowed stays scalar
  float top = values[0];
  int j = 0;
  if (count >= kLanes) {
    Vec tops = Load(values);
    for (j = kLanes; j + kLanes <= count; j += kLanes) {
      const Vec next = Load(values + j);
      tops = next > tops ? next : tops;
    }
    for (int n = 0; n < kLanes; ++n) top = tops[n] > top ? tops[n] : top;
  }
  for (; j < count; ++j) top = values[j] > top ? values[j] : top;
  return top;
}

inline uint32_t Mix(uint32_t h) {  // the finalizer of MurmurHash3
  h ^= h >> 16;
  h *= 0x85ebca6bu;
  h ^= h >> 13;
  h *= 0xc2b2ae35u;
  return h ^ (h >> 16);
}

// Which elements a dropout keeps, as a function of (seed, salt, element): forward and backward work it out alike, and
// nothing is stored. A negative seed means no dropout.
struct Dropout {
  uint32_t key;
  uint32_t threshold;
  float scale;

  Dropout(float rate, int32_t seed, int32_t salt) {
    const bool active = rate > 0.0f && seed >= 0;
    key = Mix(static_cast<uint32_t>(seed) ^ Mix(static_cast<uint32_t>(salt) + 0x9e3779b9u));
    threshold = active ? static_cast<uint32_t>(rate * 4294967296.0) : 0;
    scale = active ? 1.0f / (1.0f - rate) : 1.0f;
  }

  // 1 / (1 - rate) for an element that is kept, 0 for one that is dropped.
  float operator()(uint32_t element) const { return Mix(element * 0x9e3779b1u + key) >= threshold ? scale : 0.0f; }
};

}  // namespace centavo
