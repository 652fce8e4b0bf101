// SPDX-License-Identifier: Apache-2.0

package poll

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
)

var errNotYet = errors.New("not yet")

func TestUntilReturnsWhenTheCheckPasses(t *testing.T) {
	g := NewWithT(t)
	calls := 0
	err := Until(t.Context(), time.Millisecond, func(context.Context) error {
		calls++
		if calls < 3 {
			return errNotYet
		}
		return nil
	})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(calls).To(Equal(3))
}

func TestUntilTellsWhatItWaitedFor(t *testing.T) {
	g := NewWithT(t)
	ctx, cancel := context.WithCancel(t.Context())
	calls := 0
	err := Until(ctx, time.Millisecond, func(ctx context.Context) error {
		calls++
		if calls == 1 {
			return errNotYet
		}
		cancel()
		return ctx.Err()
	})
	g.Expect(err).To(MatchError(context.Canceled))
	g.Expect(err).To(MatchError(errNotYet))
}
