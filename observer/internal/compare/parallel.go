// SPDX-License-Identifier: Apache-2.0

package compare

import (
	"fmt"
	"runtime/debug"
	"sync"

	"golang.org/x/sync/errgroup"
)

// concurrentReads bounds the requests that one Release makes to its target at a time.
const concurrentReads = 8

// Parallel calls do for 0 … n-1, a bounded number at a time, and returns when all are done. A panic of
// one is the caller's, who may recover from it.
func Parallel(n int, do func(i int)) {
	var group errgroup.Group
	var once sync.Once
	var panicked any
	group.SetLimit(concurrentReads)
	for i := range n {
		group.Go(func() error {
			defer func() {
				if cause := recover(); cause != nil {
					once.Do(func() { panicked = fmt.Sprintf("%v\n%s", cause, debug.Stack()) })
				}
			}()
			do(i)
			return nil
		})
	}
	_ = group.Wait()
	if panicked != nil {
		panic(panicked)
	}
}
