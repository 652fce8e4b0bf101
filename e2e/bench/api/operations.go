// SPDX-License-Identifier: Apache-2.0

package api

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"time"
)

// operation is something that is done to both subjects and timed.
type operation struct {
	name, about string
	// measures are what each time of a sample means.
	measures []measure
	// full and quick are how often it is done in a round.
	full, quick int
	// parallel is how many do it at once; 0 is one.
	parallel int
	// setUp makes ready for all rounds and gives what ends that; nil when there is nothing.
	setUp func(context.Context, *subject) (func(), error)
	// do is one operation, the n-th of the subject. The times of it are in the order of
	// measures.
	do func(ctx context.Context, s *subject, answer *bytes.Buffer, n int) ([]time.Duration, error)
	// after undoes a round; nil when there is nothing to undo.
	after func(context.Context, *subject) error
}

// measure is a time that is taken of an operation, and the ratio to reach; 0 when there is
// none.
type measure struct {
	name   string
	target float64
}

// target is the ratio to reach.
const target = 1.0

var (
	untilAnswer = []measure{{"answer", target}}
	untilAll    = []measure{{"last byte", target}}
)

// operations are all operations on so many objects.
func operations(z sizes) []operation {
	return append(append(reads(z), writes(z)...), watches(z)...)
}

func reads(z sizes) []operation {
	get := func(number func(n int) int) func(context.Context, *subject, *bytes.Buffer, int) ([]time.Duration, error) {
		return func(ctx context.Context, s *subject, answer *bytes.Buffer, n int) ([]time.Duration, error) {
			return timed(ctx, s, request{path: s.path(namespace, objectName(number(n)))}, answer)
		}
	}
	another := func(n int) int { return n % z.objects }
	list := func(pageSize int, accept string) func(context.Context, *subject, *bytes.Buffer, int) ([]time.Duration, error) {
		return func(ctx context.Context, s *subject, answer *bytes.Buffer, _ int) ([]time.Duration, error) {
			return walk(ctx, s, pageSize, accept, answer)
		}
	}
	return []operation{
		{name: "get", about: "another object each time", measures: untilAnswer, full: 300, quick: 50, do: get(another)},
		{name: "get-same", about: "the same object again and again", measures: untilAnswer, full: 300, quick: 50,
			do: get(func(int) int { return 0 })},
		{name: "get-busy", about: "16 at a time, another object each time", measures: untilAnswer, full: 600, quick: 100, parallel: 16, do: get(another)},
		{name: "list", about: "all objects in one answer", measures: untilAll, full: 2, quick: 2, do: list(0, "")},
		{name: "list-paged", about: "all objects in pages of 500", measures: untilAll, full: 2, quick: 2, do: list(z.page, "")},
		{name: "list-table", about: "all objects as a table in pages of 500: kubectl get", measures: untilAll, full: 2, quick: 2,
			do: list(z.page, tableType)},
	}
}

func writes(z sizes) []operation {
	write := func(make func(s *subject, n int) (request, error)) func(context.Context, *subject, *bytes.Buffer, int) ([]time.Duration, error) {
		return func(ctx context.Context, s *subject, answer *bytes.Buffer, n int) ([]time.Duration, error) {
			r, err := make(s, n)
			if err != nil {
				return nil, err
			}
			return timed(ctx, s, r, answer)
		}
	}
	return []operation{
		{name: "create", measures: untilAnswer, full: 100, quick: 20, after: deleteCreated, do: write(create)},
		{name: "patch", about: "merge patch of a field of the spec", measures: untilAnswer, full: 100, quick: 20,
			do: write(func(s *subject, n int) (request, error) { return patch(s, n%z.objects, wave(n)), nil })},
		{name: "patch-status", about: "merge patch of the status", measures: untilAnswer, full: 100, quick: 20,
			do: write(func(s *subject, n int) (request, error) { return patchStatus(s, n%z.objects, n+2), nil })},
		{name: "apply", about: "server-side apply of the whole object, a field changed", measures: untilAnswer, full: 100, quick: 20,
			do: write(func(s *subject, n int) (request, error) { return apply(s, n%z.applied, wave(n)) })},
		{name: "apply-same", about: "server-side apply that changes nothing", measures: untilAnswer, full: 100, quick: 20,
			do: write(func(s *subject, n int) (request, error) { return apply(s, z.objects-1-n%z.applied, 7) })},
	}
}

// timed times a request until its answer is read.
func timed(ctx context.Context, s *subject, r request, answer *bytes.Buffer) ([]time.Duration, error) {
	start := time.Now()
	if err := s.send(ctx, r, answer); err != nil {
		return nil, err
	}
	return []time.Duration{time.Since(start)}, nil
}

// walk reads all objects, in pages unless the size of a page is 0. The time is that of the
// requests alone.
func walk(ctx context.Context, s *subject, pageSize int, accept string, answer *bytes.Buffer) ([]time.Duration, error) {
	query := url.Values{}
	if pageSize > 0 {
		query.Set("limit", strconv.Itoa(pageSize))
	}
	var sum time.Duration
	for {
		took, err := timed(ctx, s, request{path: s.path(namespace), query: query.Encode(), accept: accept}, answer)
		if err != nil {
			return nil, err
		}
		sum += took[0]
		if pageSize == 0 {
			return []time.Duration{sum}, nil
		}
		next, err := continuation(answer.Bytes())
		if err != nil {
			return nil, fmt.Errorf("%s: read a page: %w", s.name, err)
		}
		if next == "" {
			return []time.Duration{sum}, nil
		}
		query.Set("continue", next)
	}
}

var continueToken = regexp.MustCompile(`"continue":"([^"]+)"`)

// continuation gives the token of the next page, or nothing when there is none. It stands
// before the items or after them; in the items there is no field of that name.
func continuation(list []byte) (string, error) {
	if bytes.HasPrefix(list, []byte{0x1f, 0x8b}) {
		unpacked, err := gzip.NewReader(bytes.NewReader(list))
		if err != nil {
			return "", err
		}
		if list, err = io.ReadAll(unpacked); err != nil {
			return "", err
		}
	}
	if match := continueToken.FindSubmatch(list); match != nil {
		return string(match[1]), nil
	}
	return "", nil
}

// wave differs between any two operations on the same object that follow each other.
func wave(n int) int { return n%997 + 1 }

func create(s *subject, n int) (request, error) {
	body, err := release(s.group, objectName(n), n)
	return request{method: http.MethodPost, path: s.path(createdNamespace), query: "fieldManager=" + manager, contentType: jsonType, body: body}, err
}

// deleteCreated deletes what was created.
func deleteCreated(ctx context.Context, s *subject) error {
	return s.send(ctx, request{method: http.MethodDelete, path: s.path(createdNamespace)}, &bytes.Buffer{})
}

func patch(s *subject, object, wave int) request {
	return request{method: http.MethodPatch, path: s.path(namespace, objectName(object)), query: "fieldManager=" + manager,
		contentType: mergeType, body: fmt.Appendf(nil, `{"spec":{"wave":%d}}`, wave)}
}

func patchStatus(s *subject, object, generation int) request {
	return request{method: http.MethodPatch, path: s.path(namespace, objectName(object), "status"), query: "fieldManager=" + manager + "-status",
		contentType: mergeType, body: fmt.Appendf(nil, `{"status":{"observedGeneration":%d}}`, generation)}
}

func apply(s *subject, object, wave int) (request, error) {
	body, err := waved(s.group, objectName(object), object, wave)
	return request{method: http.MethodPatch, path: s.path(namespace, objectName(object)), query: "force=true&fieldManager=" + manager + "-apply",
		contentType: applyType, body: body}, err
}
