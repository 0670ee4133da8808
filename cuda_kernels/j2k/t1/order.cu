// The order of whole blocks. SPDX-License-Identifier: LGPL-2.1-or-later
#include "order.cuh"

namespace cudaenc::j2k {

KERNEL(kOrderThreads, j2k_t1_order, OrderParams)
{
    order_by_work(p.symbols, *p.work, p.count, [&](uint32_t place, uint32_t block) { p.order[place] = block; });
}

}  // namespace cudaenc::j2k
