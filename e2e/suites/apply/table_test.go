// SPDX-License-Identifier: Apache-2.0

package apply

import (
	"context"
	"fmt"
	"regexp"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
)

const (
	// atOnce is how many cases play at the same time.
	atOnce = 10
	// caseTimeout is far more than a case takes when the machine is not busy.
	caseTimeout = 2 * time.Minute
)

// entry is a case.
type entry struct {
	name string
	play func(ctx context.Context, c *scene)

	text    string // of all that it is in, for the focus
	took    time.Duration
	done    chan struct{} // closed when it has played
	failure string        // set before
}

// entries are those of all tables that play at the same time; filled while the tree of specs
// is built, and only read afterwards.
var entries []*entry

// table makes a spec of each case.
func table(title string, cases ...entry) bool {
	return Describe(title, func() {
		for i := range cases {
			e := &cases[i]
			e.done, e.text = make(chan struct{}), "Apply "+title+" "+e.name
			entries = append(entries, e)
			It(e.name, func(ctx SpecContext) {
				select {
				case <-e.done:
				case <-ctx.Done():
					Fail("did not come to its end")
				}
				e.report()
			}, NodeTimeout(10*time.Minute))
		}
	})
}

// alone makes specs of cases that stop parts of convoy: they play one after another, when all
// others have.
func alone(title string, cases ...entry) bool {
	return Describe(title, Serial, func() {
		for i := range cases {
			e := &cases[i]
			It(e.name, func(ctx SpecContext) {
				for _, other := range entries {
					if wanted(other) {
						<-other.done
					}
				}
				e.run(ctx, suite, fmt.Sprintf("alone-%d", i))
				e.report()
			}, NodeTimeout(5*time.Minute))
		}
	})
}

// playAll plays the cases that are in focus, in the order of the tables.
func playAll(r *rig) {
	queue := make(chan int)
	var players sync.WaitGroup
	for range atOnce {
		players.Go(func() {
			for i := range queue {
				entries[i].run(context.Background(), r, fmt.Sprintf("case-%03d", i))
				close(entries[i].done)
			}
		})
	}
	for i, e := range entries {
		if wanted(e) {
			queue <- i
		}
	}
	close(queue)
	players.Wait()
}

func wanted(e *entry) bool {
	config, _ := GinkgoConfiguration()
	for _, focus := range config.FocusStrings {
		if regexp.MustCompile(focus).MatchString(e.text) {
			return true
		}
	}
	return len(config.FocusStrings) == 0
}

// run plays a case in a namespace of that name. What fails ends it by a panic.
func (e *entry) run(ctx context.Context, r *rig, namespace string) {
	ctx, cancel := context.WithTimeout(ctx, caseTimeout)
	defer cancel()
	var c *scene
	began := time.Now()
	defer func() {
		e.took = time.Since(began)
		p := recover()
		if p == nil {
			return
		}
		if _, ok := p.(failure); ok {
			e.failure = fmt.Sprint(p)
		} else {
			e.failure = fmt.Sprintf("panic: %v\n%s", p, debug.Stack())
		}
		if c != nil {
			e.failure += "\n" + c.describe()
		}
	}()
	c = newScene(ctx, r, namespace)
	e.play(ctx, c)
	c.leave(ctx)
}

// report gives the outcome of a case to its spec.
func (e *entry) report() {
	GinkgoWriter.Printf("played for %.1f s\n", e.took.Seconds())
	if e.failure != "" {
		Fail(e.failure)
	}
}

// failure is what an assertion of a case panics with.
type failure string

// fail is the fail handler of the cases' Gomega.
func fail(message string, _ ...int) { panic(failure(place() + ": " + message)) }

// helpers are the files that have no cases.
var helpers = map[string]bool{
	"table_test.go": true, "scene_test.go": true, "release_test.go": true, "audit_test.go": true, "manifests_test.go": true, "rig_test.go": true,
}

// place finds the line of the case that an assertion was made in or for.
func place() string {
	callers := make([]uintptr, 64)
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers)])
	for {
		frame, more := frames.Next()
		file := frame.File[strings.LastIndex(frame.File, "/")+1:]
		if strings.Contains(frame.File, "/suites/apply/") && !helpers[file] {
			return fmt.Sprintf("%s:%d", file, frame.Line)
		}
		if !more {
			return "scene"
		}
	}
}
