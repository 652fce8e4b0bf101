// SPDX-License-Identifier: Apache-2.0

package execute

import (
	"context"
	"strings"

	"kumodo.io/convoy/render/internal/limit"
)

// Limits bound what templates may use. None of them may be zero.
type Limits struct {
	// Steps: iterations, calls of templates and functions.
	Steps int64
	// Made: bytes of all texts and lists that are made on the way, kept or not.
	Made int64
	// Value: bytes that one text or list may have, and one value when it is printed or
	// copied as a whole.
	Value int64
}

const (
	// maxDepth is how deep templates may call each other.
	maxDepth = 2000
	// maxNested is how often a template may be included within itself. It is Helm's number.
	maxNested = 1000
	// maxTpl is how deep texts may be run as templates within each other. Each level has
	// all templates of the chart once more.
	maxTpl = 100
	// maxNesting is how deep values may lie in each other when all of one is read. What
	// contains itself has no end.
	maxNesting = 1000
	// maxActions is how many actions a template may have: they nest, and parsing and
	// running them does too.
	maxActions = 100_000
	// slow is how many steps a function counts that takes a while by nature.
	slow = 20_000
)

// budget is what a run may still use. It is for one goroutine.
type budget struct {
	ctx    context.Context
	limits Limits
	// steps and bytes that are left, depth of calls.
	steps, bytes int64
	depth        int
}

func newBudget(ctx context.Context, l Limits) *budget {
	return &budget{ctx: ctx, limits: l, steps: l.Steps, bytes: l.Made}
}

// step takes n steps.
func (b *budget) step(n int64) error {
	// One look at the clock in 64 steps is often enough.
	if before := b.steps >> 6; before != (b.steps-n)>>6 {
		if err := b.ctx.Err(); err != nil {
			return limit.Time()
		}
	}
	if b.steps -= n; b.steps < 0 {
		return limit.New("templates need more than %d iterations and calls", b.limits.Steps)
	}
	return nil
}

// made takes bytes that were made.
func (b *budget) made(n int64) error {
	if n > b.limits.Value {
		return b.tooLarge()
	}
	if b.bytes -= n; b.bytes < 0 {
		return limit.Of(limit.FlagBytes, "templates make more than %s of text", limit.Size(b.limits.Made))
	}
	return nil
}

// may tells whether n bytes could be made, before they are.
func (b *budget) may(n int64) error {
	if n > b.limits.Value || n < 0 {
		return b.tooLarge()
	}
	if n > b.bytes {
		return limit.Of(limit.FlagBytes, "templates make more than %s of text", limit.Size(b.limits.Made))
	}
	return nil
}

func (b *budget) tooLarge() error {
	return limit.Of(limit.FlagBytes, "a text or list would have more than %s", limit.Size(b.limits.Value))
}

// enter begins a call of a template, which leave ends.
func (b *budget) enter() error {
	if b.depth++; b.depth > maxDepth {
		return limit.New("templates call each other more than %d deep", maxDepth)
	}
	return b.step(1)
}

func (b *budget) leave() { b.depth-- }

// checkText refuses a text with more actions than any chart has.
func checkText(text string) error {
	if strings.Count(text, "{{") > maxActions {
		return limit.New("a template has more than %d actions", maxActions)
	}
	return nil
}
