// SPDX-License-Identifier: Apache-2.0

package process

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
)

func TestRunAllReports(t *testing.T) {
	boom := errors.New("boom")
	waits := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	stuck := func(context.Context) error { time.Sleep(time.Hour); return nil }
	tests := []struct {
		name  string
		given []Runnable
		want  []string // parts of the error; none: no error
	}{
		{"nothing when the parts end because they are told to", []Runnable{{"a", waits}, {"b", waits}}, nil},
		{
			"a failure and what did not end after it",
			[]Runnable{{"broken", func(context.Context) error { return boom }}, {"stuck", stuck}, {"waits", waits}},
			[]string{"broken: boom", "did not end within 10s: stuck"},
		},
		{
			"a cancellation that is the part's own",
			[]Runnable{{"broken", func(context.Context) error { return fmt.Errorf("request: %w", context.Canceled) }}, {"waits", waits}},
			[]string{"broken: request: context canceled"},
		},
		{
			"a failure at the end",
			[]Runnable{{"broken", func(ctx context.Context) error { <-ctx.Done(); return boom }}, {"waits", waits}},
			[]string{"broken: boom"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				g := NewWithT(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				defer cancel()
				told, tell := context.WithCancel(t.Context())
				defer context.AfterFunc(ctx, tell)()
				err := RunAll(told, 10*time.Second, test.given...)
				if test.want == nil {
					g.Expect(err).NotTo(HaveOccurred())
				}
				for _, want := range test.want {
					g.Expect(err).To(MatchError(ContainSubstring(want)))
				}
				tell()
				time.Sleep(2 * time.Hour) // what is stuck ends with the test
			})
		})
	}
}
