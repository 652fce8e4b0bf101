// SPDX-License-Identifier: Apache-2.0

package definition

import (
	"regexp"
	"regexp/syntax"
	"sync"
)

const (
	// maxPattern is how many bytes a pattern has that is looked at, and maxSteps how large its
	// program is. A few bytes can be a program of many megabytes.
	maxPattern, maxSteps = 4 << 10, 20_000
	// stepsAtOnce is how many steps of programs count as one value that is looked at, and
	// effortOfStep what it counts to keep one.
	stepsAtOnce, effortOfStep = 32, 10
)

// patterns are those of a definition, each compiled once.
type patterns struct {
	mu    sync.Mutex
	known map[string]pattern
}

// pattern is a compiled one; without an expression it holds nothing against a text.
type pattern struct {
	expression *regexp.Regexp
	size       int
}

// of compiles a pattern, if it is one, is not too large, and there is effort left to spend.
func (p *patterns) of(text string, spend func(int) bool) pattern {
	p.mu.Lock()
	defer p.mu.Unlock()
	if found, ok := p.known[text]; ok {
		return found
	}
	found := pattern{}
	if size := sizeOf(text); size <= maxSteps && spend(len(text)+effortOfStep*size) {
		if compiled, err := regexp.Compile(text); err == nil {
			found = pattern{compiled, size}
		}
	}
	if p.known == nil {
		p.known = map[string]pattern{}
	}
	p.known[text] = found
	return found
}

// sizeOf is about how many steps the program of a pattern has; more than maxSteps for one that
// is none.
func sizeOf(text string) int {
	if len(text) > maxPattern {
		return maxSteps + 1
	}
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return maxSteps + 1
	}
	return steps(parsed)
}

func steps(of *syntax.Regexp) int {
	n := 2 + len(of.Rune)/8
	if of.Op == syntax.OpLiteral {
		n = 1 + len(of.Rune)
	}
	for _, inner := range of.Sub {
		n += steps(inner)
	}
	if of.Op == syntax.OpRepeat {
		n *= max(1, of.Min, of.Max)
	}
	return min(n, maxSteps+1)
}
