// SPDX-License-Identifier: Apache-2.0

package isolated

import (
	"runtime/metrics"
	"time"
)

// exitMemory is how a worker ends that has taken too much memory.
const exitMemory = 77

// watch ends the process when it takes too much memory.
type watch struct {
	most uint64
	exit func(code int)
}

// every is how often a watch looks. What is taken in between meets the limit that the
// operating system has.
const every = 5 * time.Millisecond

// start watches until stop is called.
func (w watch) start() (stop func()) {
	done := make(chan struct{})
	go func() {
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				if taken() > w.most {
					w.exit(exitMemory)
				}
			}
		}
	}()
	return func() { close(done) }
}

// taken is how much memory the process has of the operating system.
func taken() uint64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return samples[0].Value.Uint64() - samples[1].Value.Uint64()
}
