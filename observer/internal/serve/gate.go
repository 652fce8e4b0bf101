// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

const (
	// concurrentRenders bounds the answers with a render, or with the values for one, that
	// are in work at a time. Each holds what is rendered, and the answer as far as it is made.
	concurrentRenders = 8
	// concurrentTrees bounds those with what objects own. Each holds an object of a list, and
	// the answer as far as it is made.
	concurrentTrees = 8
	// concurrentReports bounds those that read objects one by one and keep none.
	concurrentReports = 32
	// maxWaiting is how many different questions wait for their turn.
	maxWaiting = 512
	// unreadRenders and unreadReports are how many bytes of answers are kept for clients that
	// have yet to read them.
	unreadRenders, unreadReports = 128 << 20, 64 << 20
	// smallAnswer is how many bytes an answer may have that counts for none of that.
	smallAnswer = 64 << 10
	// retrySeconds is after how long to ask again what was refused.
	retrySeconds = 2
)

// errBusy says that an answer did not come to be worked on while it was waited for.
var errBusy = errors.New("waited for other requests to be answered")

// gate lets a bounded number of answers be worked on at a time, and be kept for those who have
// yet to read them; the others wait as long as their requests do. What waits to be worked on is
// bounded too, and is refused beyond that.
type gate struct {
	places, unread *room
}

func newGate(places int64, unread *room) *gate {
	return &gate{places: newRoom(places, maxWaiting), unread: unread}
}

// keep claims room for an answer that was made, for those whom it was made for; nil when it is
// too small to count.
func (g *gate) keep(turn *claim, size int) *claim {
	if size <= smallAnswer {
		return nil
	}
	return turn.like(g.unread, min(int64(size), g.unread.size/2))
}

// tooMany refuses what asks for too much.
func tooMany(format string, args ...any) error {
	return apierrors.NewTooManyRequests(fmt.Sprintf(format, args...)+"; ask again later", retrySeconds)
}
