// SPDX-License-Identifier: Apache-2.0

package observer

import "hash/maphash"

// seed of this process.
var seed = maphash.MakeSeed()

// fingerprint is what is remembered of a value that takes much memory, or has others kept that do,
// to tell whether a later one is the same. Nobody can make two values on purpose that have the same
// one: it differs in each process.
func fingerprint[T comparable](value T) uint64 { return maphash.Comparable(seed, value) }
