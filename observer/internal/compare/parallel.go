// SPDX-License-Identifier: Apache-2.0

package compare

import "golang.org/x/sync/errgroup"

// concurrentReads bounds the requests that one Release makes to its target at a time.
const concurrentReads = 8

// Parallel calls do for 0 … n-1, a bounded number at a time, and returns when all are done.
func Parallel(n int, do func(i int)) {
	var group errgroup.Group
	group.SetLimit(concurrentReads)
	for i := range n {
		group.Go(func() error {
			do(i)
			return nil
		})
	}
	_ = group.Wait()
}
