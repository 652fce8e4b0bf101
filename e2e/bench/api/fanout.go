// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"time"
)

const (
	// eventBytes is more than an event is long.
	eventBytes = 64 << 10
	// arrivalTimeout is far more than an event takes to all watchers.
	arrivalTimeout = 30 * time.Second
)

var bookmark = []byte(`"type":"BOOKMARK"`)

// watches are the operations that watch.
func watches(z sizes) []operation {
	watchers := &fanOut{watchers: z.watchers, audiences: map[*subject]*audience{}}
	return []operation{
		{name: "watch-list", about: "a watch that begins with all objects: the start of an informer", measures: untilAll, full: 2, quick: 2, do: watchList},
		{name: "watch", about: fmt.Sprintf("a change that %d watchers see", z.watchers), full: 20, quick: 5,
			// Watchers may see a change before who made it gets the answer: no ratio then.
			measures: []measure{{"answer to median", 0}, {"answer to last", 0}, {"request to median", target}, {"request to last", target}},
			setUp:    watchers.setUp,
			do: func(ctx context.Context, s *subject, answer *bytes.Buffer, n int) ([]time.Duration, error) {
				return watchers.change(ctx, s, patch(s, n%z.objects, -wave(n)), answer)
			}},
	}
}

// watchList times a watch until the bookmark that ends the objects that were there. The
// objects come compressed, as informers get them, and are unpacked to find it.
func watchList(ctx context.Context, s *subject, _ *bytes.Buffer, _ int) ([]time.Duration, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	start := time.Now()
	response, err := s.open(ctx, s.client, request{path: s.path(namespace),
		query: "watch=true&allowWatchBookmarks=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan"})
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	unpacked := io.Reader(response.Body)
	if response.Header.Get("Content-Encoding") == "gzip" {
		if unpacked, err = gzip.NewReader(response.Body); err != nil {
			return nil, fmt.Errorf("%s: watch-list: %w", s.name, err)
		}
	}
	events := bufio.NewReaderSize(unpacked, eventBytes)
	for {
		event, err := events.ReadSlice('\n')
		if err != nil {
			return nil, fmt.Errorf("%s: watch-list: %w", s.name, err)
		}
		if bytes.Contains(event[:min(len(event), 64)], bookmark) {
			return []time.Duration{time.Since(start)}, nil
		}
	}
}

// fanOut are watchers of both subjects.
type fanOut struct {
	watchers  int
	audiences map[*subject]*audience
}

// audience are the watchers of one subject.
type audience struct {
	arrivals chan arrival
	failed   chan error
}

// arrival is an event that a watcher saw.
type arrival struct {
	version string
	at      time.Time
}

// setUp opens the watches, each over a connection of its own, as from programs of their own.
func (f *fanOut) setUp(ctx context.Context, s *subject) (func(), error) {
	var list bytes.Buffer
	if err := s.send(ctx, request{path: s.path(namespace), query: "limit=1"}, &list); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	a := &audience{arrivals: make(chan arrival, 2*f.watchers), failed: make(chan error, f.watchers)}
	var group sync.WaitGroup
	end := func() { cancel(); group.Wait() }
	for range f.watchers {
		client, err := s.newClient()
		if err != nil {
			end()
			return nil, err
		}
		response, err := s.open(ctx, client, request{path: s.path(namespace),
			query: "watch=true&allowWatchBookmarks=true&resourceVersion=" + versionOf(list.Bytes())})
		if err != nil {
			end()
			return nil, err
		}
		group.Go(func() {
			defer client.CloseIdleConnections()
			defer response.Body.Close()
			a.listen(ctx, response.Body)
		})
	}
	f.audiences[s] = a
	return end, nil
}

// listen notes the events of a watch until it ends.
func (a *audience) listen(ctx context.Context, body io.Reader) {
	events := bufio.NewReaderSize(body, eventBytes)
	for {
		event, err := events.ReadSlice('\n')
		at := time.Now()
		if err != nil {
			a.failed <- err
			return
		}
		if bytes.Contains(event[:min(len(event), 64)], bookmark) {
			continue
		}
		select {
		case a.arrivals <- arrival{version: versionOf(event), at: at}:
		case <-ctx.Done():
			return
		}
	}
}

// change makes a change and waits until every watcher saw it.
func (f *fanOut) change(ctx context.Context, s *subject, r request, answer *bytes.Buffer) ([]time.Duration, error) {
	start := time.Now()
	if err := s.send(ctx, r, answer); err != nil {
		return nil, err
	}
	answered := time.Now()
	seen, err := f.audiences[s].await(ctx, versionOf(answer.Bytes()), f.watchers)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", s.name, err)
	}
	slices.SortFunc(seen, time.Time.Compare)
	median, last := seen[len(seen)/2], seen[len(seen)-1]
	return []time.Duration{median.Sub(answered), last.Sub(answered), median.Sub(start), last.Sub(start)}, nil
}

// await gives when each watcher saw the change.
func (a *audience) await(ctx context.Context, version string, watchers int) ([]time.Time, error) {
	timeout := time.NewTimer(arrivalTimeout)
	defer timeout.Stop()
	var seen []time.Time
	for len(seen) < watchers {
		select {
		case one := <-a.arrivals:
			if one.version == version {
				seen = append(seen, one.at)
			}
		case err := <-a.failed:
			return nil, fmt.Errorf("a watch ended: %w", err)
		case <-timeout.C:
			return nil, fmt.Errorf("after %s only %d of %d watchers saw the change", arrivalTimeout, len(seen), watchers)
		case <-ctx.Done():
			return nil, errors.Join(ctx.Err(), errors.New("waiting for the watchers"))
		}
	}
	return seen, nil
}
