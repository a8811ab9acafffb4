// Products of bfloat16 matrices in the matrix tiles (AMX) of Intel's processors since Sapphire Rapids, summed in
// float32. A tile has 16 rows of 64 bytes (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1,
// chapter 18). Linux has to be asked for them first: trainer/model/tiles.py.
#pragma once

#if defined(__AMX_TILE__) && defined(__AMX_BF16__) && defined(__AVX512BF16__)
#define CENTAVO_TILES

#include <immintrin.h>

#include <cstdint>
#include <cstring>

namespace centavo {

typedef uint16_t Bfloat16;

constexpr int kTile = 16;              // rows of a tile, and its float32 columns
constexpr int kPaired = 32;            // its bfloat16 columns
constexpr int kPanel = kTile * kPaired;  // its bfloat16 numbers

// The tiles of the calling thread, all of full size, for as long as this lives.
class Tiles {
 public:
  Tiles() {
    struct alignas(64) {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } config;
    for (int tile = 0; tile < 8; ++tile) {
      config.row_bytes[tile] = 64;
      config.rows[tile] = kTile;
    }
    _tile_loadconfig(&config);
  }
  ~Tiles() { _tile_release(); }
  Tiles(const Tiles&) = delete;
  Tiles& operator=(const Tiles&) = delete;
};

// The right factor of a product, (depth, columns), as the tiles take it: in panels of 32 x 16 numbers, in which two
// numbers of a column lie side by side.
struct Panels {
  const Bfloat16* data;
  int64_t next_columns;  // numbers from a panel to the one of the next 16 columns
  int64_t next_depth;    // and to the one of the next 32 of the depth
};

inline __m256i Lower(__m512 values) { return (__m256i)_mm512_cvtneps_pbh(values); }

inline void LowerRow(const float* from, int count, Bfloat16* to) {  // count is a multiple of 16
  for (int j = 0; j < count; j += kTile) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to + j), Lower(_mm512_loadu_ps(from + j)));
  }
}

// Two rows of 16 numbers with the numbers of a column side by side: a row of a panel.
inline __m512i Paired(__m256i even, __m256i odd) {
  return _mm512_or_si512(_mm512_cvtepu16_epi32(even), _mm512_slli_epi32(_mm512_cvtepu16_epi32(odd), 16));
}

// c (rows, columns) = a (rows, depth) * b, or added to c. Rows and columns are multiples of 32, as is the depth.
template <bool kAdd>
inline void MultiplyTiles(const Bfloat16* a, int64_t a_stride, const Panels& b, float* c, int64_t c_stride, int rows,
                          int columns, int depth) {
  const size_t a_bytes = a_stride * sizeof(Bfloat16), c_bytes = c_stride * sizeof(float);
  for (int j = 0; j < columns; j += 2 * kTile) {
    for (int i = 0; i < rows; i += 2 * kTile) {
      float* const upper = c + i * c_stride + j;
      float* const lower = upper + kTile * c_stride;
      if (kAdd) {
        _tile_loadd(0, upper, c_bytes);
        _tile_loadd(1, upper + kTile, c_bytes);
        _tile_loadd(2, lower, c_bytes);
        _tile_loadd(3, lower + kTile, c_bytes);
      } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
      }
      const Bfloat16* left = a + i * a_stride;
      const Bfloat16* right = b.data + j / kTile * b.next_columns;
      for (int k = 0; k < depth; k += kPaired, left += kPaired, right += b.next_depth) {
        _tile_loadd(4, left, a_bytes);
        _tile_loadd(5, left + kTile * a_stride, a_bytes);
        _tile_loadd(6, right, 64);
        _tile_loadd(7, right + b.next_columns, 64);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
      }
      _tile_stored(0, upper, c_bytes);
      _tile_stored(1, upper + kTile, c_bytes);
      _tile_stored(2, lower, c_bytes);
      _tile_stored(3, lower + kTile, c_bytes);
    }
  }
}

}  // namespace centavo

#endif
