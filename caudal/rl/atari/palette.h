// The colours of the TIA on an NTSC television. Thread safety: constant.
#pragma once

#include "caudal/rl/arcade_game.h"

namespace caudal::inline v0::rl::atari {

// By register value; bit 0 does not matter. Gray is the luminance of the colour, as ALE's.
const Palette& ntsc_palette();

}  // namespace caudal::inline v0::rl::atari
