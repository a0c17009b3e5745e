// Prints tiled MMAs and tiled copies as CuTe does, and after each its own layouts from (thread, value).

#include <cute/tensor.hpp>  // first: the others count on it

#include <cute/atom/copy_atom.hpp>
#include <cute/atom/mma_atom.hpp>

using namespace cute;

template <class L>
void said(char const *part, L const &layout) {
  printf("# %s ", part);
  print(layout);
  printf("\n");
}

template <class Mma>
void mma(Mma const &tiled) {
  print(tiled);
  said("A", tiled.get_layoutA_TV());
  said("B", tiled.get_layoutB_TV());
  if (size<3>(tiled.get_thr_layout_vmnk()) == 1) said("C", tiled.get_layoutC_TV());
  printf("\n");
}

template <class Copy>
void copied(Copy const &tiled) {
  print(tiled);
  said("source", tiled.get_layoutS_TV());
  said("destination", tiled.get_layoutD_TV());
  printf("\n");
}

int main() {
  using Warp = SM80_16x8x16_F32F16F16F32_TN;
  using Permutation = Layout<Shape<_8, _2, _2>, Stride<_1, _16, _8>>;
  auto permuted = make_tiled_mma(Warp{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, Permutation, _16>{});
  mma(permuted);
  mma(make_tiled_mma(Warp{}, Layout<Shape<_1, _2, _2>>{}));
  mma(make_tiled_mma(Warp{}, Layout<Shape<_2, _2, _1>, Stride<_2, _1, _0>>{}, Tile<_64, _32, _32>{}));
  mma(make_tiled_mma(UniversalFMA<float>{}, Layout<Shape<_16, _16, _1>>{}));
  mma(make_tiled_mma(SM90_64x64x16_F32F16F16_RS<GMMA::Major::K, GMMA::Major::K>{}, Layout<Shape<_2, _1, _1>>{}));
  mma(make_tiled_mma(SM70_8x8x4_F32F16F16F32_TN{}, Layout<Shape<_2, _2, _1>>{}, Tile<_32, _32, _4>{}));
  copied(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                         Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));
  copied(make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, permuted));
  copied(make_tiled_copy_B(Copy_Atom<SM75_U16x4_LDSM_T, half_t>{}, permuted));
  copied(make_tiled_copy_B(Copy_Atom<SM75_U32x1_LDSM_N, half_t>{}, permuted));
  copied(make_tiled_copy_C(Copy_Atom<SM90_U32x2_STSM_N, half_t>{}, permuted));
}
